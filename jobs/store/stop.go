package store

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// stopLua asks a job to stop: KEYS request, set of requests that nobody has
// heard; ARGV job, login, seconds to keep.
const stopLua = `
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
local now = redis.call('TIME')
redis.call('ZADD', KEYS[2], 'NX', now[1] * 1000 + math.floor(now[2] / 1000), ARGV[1])
return 1`

// unheardLua lists the requests that are older than ARGV[1] milliseconds.
const unheardLua = `
local now = redis.call('TIME')
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now[1] * 1000 + math.floor(now[2] / 1000) - ARGV[1])`

// breakLua takes the lease from a worker that has not heard: KEYS requests,
// lease; ARGV job.
const breakLua = `
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('DEL', KEYS[2])
return 1`

// RequestStop asks whoever runs the job to stop.
func (s *Store) RequestStop(ctx context.Context, job jobs.JobID, by vcs.Actor) error {
	keys := []string{key("stop", string(job)), key("jobs", "stops")}
	return unavailable("asking to stop", s.scripts.stop.Run(ctx, s.redis, keys, string(job), by.Login, int(jobRetention.Seconds())).Err())
}

// StopRequested is the login of who asked for a stop, empty for nobody.
func (s *Store) StopRequested(ctx context.Context, job jobs.JobID) (string, error) {
	by, err := s.redis.Get(ctx, key("stop", string(job))).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return by, unavailable("reading a stop", err)
}

// HearStop says that somebody acts on a request to stop.
func (s *Store) HearStop(ctx context.Context, job jobs.JobID) error {
	return unavailable("hearing a stop", s.redis.ZRem(ctx, key("jobs", "stops"), string(job)).Err())
}

// UnheardStops are the jobs that were asked to stop at least so long ago, by
// Redis's clock, without anybody having heard it.
func (s *Store) UnheardStops(ctx context.Context, after time.Duration) ([]jobs.JobID, error) {
	ids, err := s.scripts.unheard.Run(ctx, s.redis, []string{key("jobs", "stops")}, after.Milliseconds()).StringSlice()
	if err != nil {
		return nil, unavailable("looking for requests to stop", err)
	}
	out := make([]jobs.JobID, len(ids))
	for i, id := range ids {
		out[i] = jobs.JobID(id)
	}
	return out, nil
}

// BreakUnheard takes the lease from a worker that does not hear a request to
// stop; not broken means that it has heard meanwhile.
func (s *Store) BreakUnheard(ctx context.Context, job jobs.JobID) (broken bool, err error) {
	n, err := s.scripts.breakLease.Run(ctx, s.redis, []string{key("jobs", "stops"), key("lease", string(job))}, string(job)).Int()
	return n == 1, unavailable("breaking a lease", err)
}
