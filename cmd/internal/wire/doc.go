// Package wire builds the program out of its parts. It is the only place that
// knows every concrete type.
//
// Each subcommand has one function here: [Serve], [Run], [Explain], [Doctor].
// They share the small steps of parts.go. Invariant: no decision is made here
// beyond which part goes where.
package wire
