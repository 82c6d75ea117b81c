// Package verify decides which commands prove a change to a repository, reads
// their results, and judges what before and after add up to.
//
// It is pure: [Find] reads a commit through a [Tree], [Judge] compares
// records; jobs/runner runs the commands in a sandbox, never the model.
//
// Invariants: the repository's own word (.greenwright.yml) comes before what
// its CI does, and that before what its build files suggest; a command that
// needs what the sandbox does not have is told apart from one that fails; a
// change is called verified only when every command ran and is green on it.
package verify
