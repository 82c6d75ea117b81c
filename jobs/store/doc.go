// Package store keeps what must outlive a process in Redis: job records and
// the set of those that have not ended, the claim on a thread, leases with
// fencing tokens, inboxes of live runs, requests to stop, ceilings on live
// runs with their lines, budgets, approvals, journal streams and counters.
//
// It and jobs/queue are the only users of go-redis; no SDK type leaves it.
//
// Invariants: a thread is claimed by at most one job; a write that belongs to
// a run is refused once its lease has gone to another worker; whatever must
// hold together changes in one Lua script, whose effect is the same when the
// client sends it again because its answer was lost; times that decide who
// may do something are Redis's own; every error of Redis wraps
// jobs.ErrUnavailable. All keys begin with "greenwright:". Some scripts make
// names of keys themselves: the store is for one server with its replicas,
// not for a cluster.
//
// To add a kind of record: a file named after it, with its type, its methods
// and its scripts, which are listed in newScripts; a retention for its keys;
// and its calls in the test TestRedisAway.
package store
