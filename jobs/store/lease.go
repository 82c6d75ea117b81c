package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
)

// Lease is the right to work on a job, for one worker at a time. How long it
// lasts is measured by Redis alone: a worker's clock does not matter.
type Lease struct {
	store *Store
	key   string
	owner string
	ttl   time.Duration
	// Token grows with every owner of the job.
	Token int64
}

// Acquire takes the job's lease for ttl; jobs.ErrLeaseLost when another
// worker has it.
func (s *Store) Acquire(ctx context.Context, job jobs.JobID, owner string, ttl time.Duration) (*Lease, error) {
	k := key("lease", string(job))
	token, err := s.scripts.acquire.Run(ctx, s.redis, []string{k, key("fence", string(job)), key("taken", string(job))}, owner, ttl.Milliseconds(), int(fenceRetention.Seconds()), rand.Text()).Int64()
	if err != nil {
		return nil, unavailable("taking the lease of job "+string(job), err)
	}
	if token == 0 {
		return nil, fmt.Errorf("%w: job %s is held by another worker", jobs.ErrLeaseLost, job)
	}
	return &Lease{store: s, key: k, owner: fmt.Sprintf("%s:%d", owner, token), ttl: ttl, Token: token}, nil
}

// Held reports whether any worker has the job's lease.
func (s *Store) Held(ctx context.Context, job jobs.JobID) (bool, error) {
	n, err := s.redis.Exists(ctx, key("lease", string(job))).Result()
	return n == 1, unavailable("reading a lease", err)
}

// Owner is the worker that has the job's lease, as it was named to Acquire;
// empty for none.
func (s *Store) Owner(ctx context.Context, job jobs.JobID) (string, error) {
	owner, err := s.redis.Get(ctx, key("lease", string(job))).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	if i := strings.LastIndexByte(owner, ':'); i >= 0 {
		owner = owner[:i] // the token
	}
	return owner, unavailable("reading a lease", err)
}

// Check is asked before an outside effect: jobs.ErrLeaseLost when the lease
// is no longer ours.
func (l *Lease) Check(ctx context.Context) error {
	owner, err := l.store.redis.Get(ctx, l.key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return jobs.ErrLeaseLost
	case err != nil:
		return unavailable("checking a lease", err)
	case owner != l.owner:
		return jobs.ErrLeaseLost
	}
	return nil
}

// unlessLost is err, unless the lease is lost: then that is the reason, since
// the record is as its new holder has made it.
func (l *Lease) unlessLost(ctx context.Context, err error) error {
	if l == nil {
		return err
	}
	if lost := l.Check(ctx); errors.Is(lost, jobs.ErrLeaseLost) {
		return lost
	}
	return err
}

// UpdateJob is Store.UpdateJob, refused with jobs.ErrLeaseLost in the same
// step when the lease is no longer ours.
func (l *Lease) UpdateJob(ctx context.Context, id jobs.JobID, change func(*JobRecord) error) (JobRecord, error) {
	return l.store.update(ctx, id, l, change)
}

// MoveJob is Store.MoveJob, refused with jobs.ErrLeaseLost in the same step
// when the lease is no longer ours.
func (l *Lease) MoveJob(ctx context.Context, id jobs.JobID, to jobs.State, cause string, more func(*JobRecord)) (JobRecord, error) {
	return l.store.update(ctx, id, l, moving(to, cause, more))
}

// Renew prolongs the lease; jobs.ErrLeaseLost when it is no longer ours.
func (l *Lease) Renew(ctx context.Context) error {
	ok, err := l.store.scripts.renew.Run(ctx, l.store.redis, []string{l.key}, l.owner, l.ttl.Milliseconds()).Int()
	if err != nil {
		return unavailable("renewing a lease", err)
	}
	if ok == 0 {
		return jobs.ErrLeaseLost
	}
	return nil
}

// Release gives the lease up if it is ours.
func (l *Lease) Release(ctx context.Context) error {
	return unavailable("releasing a lease", l.store.scripts.release.Run(ctx, l.store.redis, []string{l.key}, l.owner).Err())
}
