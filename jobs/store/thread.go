package store

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// claimGrace is how long a holder may take from its claim to the queue. It is
// above the time that handling an event may take.
const claimGrace = 3 * time.Minute

// ClaimThread makes the job the one of its thread, unless another is. gone
// names a holder that the caller knows to be finished or lost; empty for none.
// It returns whoever holds the thread now.
func (s *Store) ClaimThread(ctx context.Context, thread vcs.Thread, job, gone jobs.JobID) (jobs.JobID, error) {
	holder, err := s.scripts.claim.Run(ctx, s.redis, []string{key("thread", thread.Key()), key("fresh", string(job))},
		string(job), string(gone), claimGrace.Milliseconds()).Text()
	return jobs.JobID(holder), unavailable("claiming thread "+thread.Key(), err)
}

// ThreadJob is the job that holds the thread, empty for none.
func (s *Store) ThreadJob(ctx context.Context, thread vcs.Thread) (jobs.JobID, error) {
	holder, err := s.redis.Get(ctx, key("thread", thread.Key())).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return jobs.JobID(holder), unavailable("reading thread "+thread.Key(), err)
}

// ReleaseThread gives the thread up if the job holds it.
func (s *Store) ReleaseThread(ctx context.Context, thread vcs.Thread, job jobs.JobID) error {
	return unavailable("releasing thread "+thread.Key(), s.scripts.release.Run(ctx, s.redis, []string{key("thread", thread.Key())}, string(job)).Err())
}

// Fresh reports whether the job has claimed a thread in the last three minutes:
// it may be on its way into the queue.
func (s *Store) Fresh(ctx context.Context, job jobs.JobID) (bool, error) {
	n, err := s.redis.Exists(ctx, key("fresh", string(job))).Result()
	return n == 1, unavailable("reading a claim", err)
}
