// Package sandbox is the seam between Greenwright and whatever isolates the
// commands that it runs: builds, tests and what a model asks for. It holds the
// vocabulary ([Spec], [Cmd], [Result]) and the contract ([Driver], [Sandbox]).
//
// It sits beside vcs and agent and imports only the standard library; drivers
// are its children.
//
// Invariants: nothing of the worker's environment, files or network is
// visible inside unless a Spec names it, and a Spec has no field for a secret;
// a command that outlives its limits is ended with all that it started; a
// driver that cannot hold this refuses to start, it never falls back.
//
// To add a driver: implement Driver and Sandbox in a package of its own and
// pass the suite of sandbox/sandboxtest.
package sandbox
