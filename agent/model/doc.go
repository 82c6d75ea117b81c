// Package model is the vendor-neutral vocabulary between the agent and the
// thing that decides its next step: messages, tool calls and results, token
// usage, error classes, and the seam ([Model]) that every driver implements.
//
// It sits at the bottom of agent: it imports only the standard library, and
// agent, agent/window and the drivers (agent/model/anthropic, …/openai,
// …/gemini, …/ollama, …/mechanic) import it. What the drivers of language
// models have in common is here too, each in a file: classes of failures
// (classify.go) and texts of overflow (overflow.go), retries, the watch over a
// stream that goes silent, repeats itself or grows too large (watchdog.go,
// repetition.go, guard.go), ids and arguments of calls (ids.go, repair.go),
// calls in the text (textcalls.go), and what servers can do (capabilities.go).
//
// Invariants: no vendor's type appears here; reasoning that a vendor wants
// back is carried as opaque bytes tagged with the driver it came from; a call
// whose arguments were cut is marked [ToolCall.Cut] and is never run; every
// error a driver returns is an [*Error] with one [Class]; broken arguments are
// mended where nothing has to be guessed, and never completed.
//
// To add a driver: implement [Model] in a package of its own, turn every wire
// failure into an [*Error], feed a [Guard] while the reply streams and [Seal]
// it at the end, give agent/model/modeltest its protocol so that the fault
// suite there covers it, and name it in wire.
package model
