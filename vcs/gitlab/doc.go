// Package gitlab is the vcs.Forge driver for gitlab.com and self-managed
// GitLab, over go-gitlab.
//
// It sits below jobs and is built in wire; no type of an SDK is part of its
// exported signatures. All requests go through vcs/transport, which retries and
// obeys limits; go-gitlab's own retries and limiter are off.
//
// Invariants: the credential goes to the API's own scheme and host only, and
// below its path; every name that goes into a path was validated and is escaped;
// everything read from GitLab is validated before it becomes a branch, an object
// name or a number of package vcs; own notes are told by account id, never by
// name; no text leaves with a line that GitLab would execute (body.go).
//
// A project that was renamed or moved is read through GitLab's redirect; what
// is written goes to the project's id, which outlives its path (client.go).
//
// Beyond the seam, for set-up, doctor and the check before a push, there are
// [Forge.Token], [Forge.AccessLevel], the hooks ([Forge.PutHook] and its
// neighbours), [Forge.ProtectedBranch] and [Forge.PushRules].
//
// To add a call: a method in the file of its role, through read or write, its
// route in vcs/vcstest and a case in its conformance suite.
package gitlab
