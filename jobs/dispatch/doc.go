// Package dispatch turns events into work: behind the events queue it decides
// (jobs/trigger), asks the forge who may (jobs/policy), reacts, claims the
// thread and enqueues the job, or hands a message to the run that is live.
//
// Its [Intake] is the other half: the receiver's sink, which drops with pure
// code what nothing reacts to and puts the rest into Redis.
//
// Invariants: handling an event twice does what handling it once does (job
// ids come from the event's key, claims and comments are idempotent); a
// message that its run did not live to read becomes a job; what waits stays
// where it is until it has been started; an error of the forge never grants
// anything; only an authorised person touches a lock, a queue or a run.
package dispatch
