// Package store keeps what must outlive a process in Redis: job records, the
// claim on a thread, leases with fencing tokens, inboxes of live runs,
// requests to stop, journal streams and counters.
//
// It and jobs/queue are the only users of go-redis; no SDK type leaves it.
//
// Invariants: a thread is claimed by at most one job; a write that belongs to
// a run is refused once its lease has gone to another worker; every error of
// Redis wraps jobs.ErrUnavailable. All keys begin with "greenwright:".
package store
