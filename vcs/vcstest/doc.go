// Package vcstest holds simulated forges: servers with the wire format of the
// real ones, real git over smart HTTP, webhooks out, and state that tests
// assert on; and the conformance suite that every vcs.Forge driver passes.
//
// It sits beside the drivers and imports none of them, so that a driver cannot
// be tested against itself. It imports no testing package: cmd/demo runs a
// simulated forge in a binary. It needs git with git-http-backend.
//
// Invariants: the server is strict. An unknown route, an unknown or missing
// member of a request, a credential that is wrong or may not do what is asked
// is answered as the real forge does and recorded in Faults, so that a test
// which ends with no faults has exercised only what exists.
//
// To add a call: a row in routes.go (GitHub) or gitlabroutes.go (GitLab) with
// the permission of the public documentation, and a handler in the file of its
// noun. To add a forge: its files, a World for the suite, and what is the same
// everywhere from serving.go, journal.go, hooks.go, accounts.go and bare.go.
package vcstest
