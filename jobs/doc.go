// Package jobs is the vocabulary of Greenwright's work: commands that people
// give, jobs that wait in a queue, runs that attempt them, the states a job
// passes through, and the classes of error that decide what happens next.
//
// It sits between the forge's vocabulary (vcs), which it imports, and its own
// children (jobs/dispatch, jobs/runner …), which import it.
//
// Invariants: a job belongs to exactly one thread; a state changes only along
// the table of [State.To]; every job ends in a final state, and the end has
// been told in the thread.
package jobs
