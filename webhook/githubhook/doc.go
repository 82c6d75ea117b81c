// Package githubhook verifies and parses GitHub's webhook payloads. It
// implements webhook.Parser.
//
// It verifies by itself instead of with go-github's ValidatePayload, which
// accepts an unsigned body when the secret is empty and falls back to SHA-1;
// and it decodes by itself because a payload is 5 to 60 kB of which one or two
// are needed: package scan cuts out the members that the structs of wire.go
// name, without decoding the rest.
//
// Invariants: no name, number, object name or branch of a payload reaches a
// vcs.Event without passing its Validate; the same fact delivered twice gives
// the same vcs.Event.Key (rule L5); nothing here does any I/O.
//
// To add an event: give it a row in kinds (peek.go), a payload struct's
// members in wire.go, and a function in events.go.
package githubhook
