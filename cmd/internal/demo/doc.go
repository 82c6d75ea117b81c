// Package demo is the demonstration behind `make demo`: it plays a forge and
// the people on it, and watches what Greenwright does about them.
//
// It sits under cmd and is run by cmd/demo. Only the forge is simulated
// (vcs/vcstest: the REST API, signed webhooks, real git over HTTP); the program
// is the built binary, started as `greenwright serve` with its own Redis and
// sandbox.
//
// Invariants: nothing is said that was not read from the forge, the journal,
// the server's log or a command's exit code; [Run] gives no error only when
// everything that it names in its evidence really came; whatever happens, the
// server is stopped, and the directory is removed unless it is wanted for a
// look at what went wrong.
//
// To add a scene: a method of stage that lets people act and calls follow, the
// evidence for it in evidence.go, and a line in stage.play.
package demo
