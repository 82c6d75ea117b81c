// Package model is the vendor-neutral vocabulary between the agent and the
// thing that decides its next step: messages, tool calls and results, token
// usage, error classes, and the seam ([Model]) that every driver implements.
//
// It sits at the bottom of agent: it imports only the standard library, and
// agent, agent/window and the drivers (agent/model/anthropic, …/openai,
// …/mechanic) import it.
//
// Invariants: no vendor's type appears here; reasoning that a vendor wants
// back is carried as opaque bytes tagged with the driver it came from; a call
// whose arguments were cut is marked [ToolCall.Cut] and is never run; every
// error a driver returns is an [*Error] with one [Class].
//
// To add a driver: implement [Model] in a package of its own, turn every wire
// failure into an [*Error], run the tests of agent/model/modeltest against it,
// and name it in wire.
package model
