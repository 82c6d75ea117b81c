// Package github is the vcs.Forge driver for github.com and GitHub Enterprise
// Server, over go-github and ghinstallation.
//
// It sits below jobs and is built in wire; no type of an SDK is part of its
// exported signatures. All requests go through vcs/transport, which obeys
// GitHub's limits.
//
// Invariants: as an App, every call carries a token that is good for one
// repository and for the rights that the call needs, no more (auth.go); a
// credential goes to the API's own host only; every name that goes into a path
// was validated; everything read from GitHub is validated before it becomes a
// branch, an object name or a number of package vcs; own comments are told by
// account id, never by login.
//
// To add a call: a method in the file of its role, a grant for the rights it
// needs, a route in vcs/vcstest and a case in its conformance suite.
package github
