// Package modeltest plays a language model from a script: in process
// ([Model]), or as an HTTP server ([Server]) that speaks Anthropic Messages,
// OpenAI Responses, OpenAI Chat Completions, Ollama's own API and Gemini with
// their streams, so that the real drivers and SDKs run against it, faults
// included. [Faults] is the fault suite: every fault with what must come of it
// in every protocol.
//
// It sits under agent/model and serves tests and the demonstration; it does
// not import testing. It is strict: a request that the real services would
// refuse (a call without a result, an unknown field, an empty text) is
// answered with 400 and kept in Violations.
//
// To add a fault: a [Fault], its place in server.go or in the protocols'
// writers, and a row in faults.go. To add a protocol: a reader and a writer
// like those of chat.go, an entry in protocols, and its name in [Protocols].
package modeltest
