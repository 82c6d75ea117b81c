// Package modeltest plays a language model from a script: in process
// ([Model]), or as an HTTP server ([Server]) that speaks Anthropic Messages,
// OpenAI Responses and OpenAI Chat Completions with their event streams, so
// that the real drivers and SDKs run against it, faults included.
//
// It sits under agent/model and serves tests and the demonstration; it does
// not import testing. It is strict: a request that the real services would
// refuse (a call without a result, an unknown field, an empty text) is
// answered with 400 and kept in Violations.
//
// To add a fault: a [Fault] and its place in server.go or in the protocol's
// writer. To add a protocol: a reader and a writer like those of chat.go, and
// a route in server.go.
package modeltest
