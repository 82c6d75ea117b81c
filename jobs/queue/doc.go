// Package queue is Greenwright's use of asynq: two queues in Redis (events,
// runs), the codec of their payloads, what becomes of an error, and the Redis
// that `serve` starts when none is configured.
//
// It is the only importer of asynq. Callers see domain types: vcs.Event and
// jobs.Job go in, handlers get them back.
//
// Invariants: every asynq option that has a default is set here, with its
// reason; a task's id is its dedupe key, which is remembered for three days
// after the task was handled, without its payload; nothing is dropped: a task
// that keeps failing stays in the archive, is logged and counted. A job can be
// delivered twice, also at the same time: its record and its lease guard it. A
// job has four tasks at most. The queues can be lost: whoever has the records
// puts the jobs in again (EnqueueAgain).
//
// To add a queue: a name, its poll and its handler in Worker, its sizes in
// Depth and its age in Oldest.
package queue
