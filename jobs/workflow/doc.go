// Package workflow reads the CI files of GitHub Actions and GitLab: which steps
// run which command, in which directory, with which environment and shell,
// matrix values put in.
//
// It is pure and reads hostile files: text in, steps out. jobs/verify takes
// from it which commands prove a change, jobs/checks which one has failed.
//
// Invariants: an expression whose value is not known here is never guessed;
// the step says that it cannot be run ([Step.Unresolved]).
package workflow
