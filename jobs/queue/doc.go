// Package queue is Greenwright's use of asynq: two queues in Redis (events,
// runs), the codec of their payloads, what becomes of an error, and the Redis
// that `serve` starts when none is configured.
//
// It is the only importer of asynq. Callers see domain types: vcs.Event and
// jobs.Job go in, handlers get them back.
//
// Invariants: every asynq option that has a default is set here, with its
// reason; a task's id is its dedupe key, so claiming and enqueuing are one
// round trip; nothing is dropped: a task that keeps failing stays in the
// archive, is logged and counted.
package queue
