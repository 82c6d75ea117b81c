// Program attack tries one thing that a sandbox must refuse, by the calls that
// no shell can make: `attack NAME ARGS…`. The suite of sandbox/sandboxtest runs
// it inside a sandbox and, as a control, without one.
//
// Its last line says what came of it: "GOT …" when it got what it tried,
// "MISSING …" when this kernel has no such thing, else "REFUSED …". What it
// does is harmless where it succeeds: it reads, changes a thing to what it is,
// or asks with arguments that are refused only after the permission.
//
// To add an attack: a function in the file of its subject and a line in that
// file's table.
package main
