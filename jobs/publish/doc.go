// Package publish is the gate between a changed tree and the forge: it checks
// the change, chooses the target, commits, pushes, reads the remote back, and
// opens or updates the pull request.
//
// [Inspect] is the pure part. A [Publisher] acts, through jobs/actions.
//
// Invariants: a default or protected branch is never a target, nothing is ever
// forced; a change that holds a secret, touches a protected path or is beyond
// the limits is not pushed; "done" is said only after the remote's head was
// read back.
package publish
