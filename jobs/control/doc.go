// Package control does what people ask about jobs that are there: stop, retry,
// continue, status, approve, deny, budget, unlock. It is the one function
// behind comments in a thread (jobs/dispatch), the command line, and the
// console.
//
// Callers have settled who may: a [Request] is carried out. It joins the
// records (jobs/store) with whoever ends and starts jobs, which it knows by
// small interfaces.
//
// Invariants: a request that is carried out twice with the same key has the
// effect of one; what acts on a job says who asked for it, in the job's
// journal; an answer is Markdown in which nothing can be read as a command.
package control
