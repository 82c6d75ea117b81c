package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// How many jobs the lists hold at most.
const (
	recentJobs = 1000
	threadJobs = 50
)

// The lists of all jobs: those that have not ended, and the latest.
const (
	liveKey   = "greenwright:jobs:live"
	recentKey = "greenwright:jobs:recent"
)

// Live lists the jobs that have not ended, or whose end is not told yet, oldest
// first.
func (s *Store) Live(ctx context.Context) ([]JobRecord, error) {
	ids, err := s.redis.ZRange(ctx, liveKey, 0, -1).Result()
	if err != nil {
		return nil, unavailable("listing live jobs", err)
	}
	recs, gone, err := s.readJobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	live := recs[:0]
	for _, rec := range recs {
		if rec.over() {
			gone = append(gone, string(rec.Job.ID))
			continue
		}
		live = append(live, rec)
	}
	if len(gone) > 0 { // too old to be kept, or ended by a version that did not keep the set
		err = unavailable("forgetting jobs that are gone", s.redis.ZRem(ctx, liveKey, members(gone)...).Err())
	}
	return live, err
}

// batch is how many records are read in one round trip: some 2 kB each.
const batch = 200

// readJobs reads records in order; gone are those that are not there.
func (s *Store) readJobs(ctx context.Context, ids []string) (recs []JobRecord, gone []string, err error) {
	for len(ids) > 0 {
		n := min(batch, len(ids))
		keys := make([]string, n)
		for i, id := range ids[:n] {
			keys[i] = key("job", id)
		}
		values, err := s.redis.MGet(ctx, keys...).Result()
		if err != nil {
			return nil, nil, unavailable("reading jobs", err)
		}
		for i, v := range values {
			text, ok := v.(string)
			if !ok {
				gone = append(gone, ids[i])
				continue
			}
			var rec JobRecord
			if json.Unmarshal([]byte(text), &rec) != nil {
				continue // of another version: it hides no other, and stays where it is
			}
			recs = append(recs, rec)
		}
		ids = ids[n:]
	}
	return recs, gone, nil
}

func members(ids []string) []any {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

// Reindex looks at every record and puts those that have not ended into the
// set that Live reads: records of an older version, or a set that was lost.
// It tells how many were missing there.
func (s *Store) Reindex(ctx context.Context) (int, error) {
	prefix, found := key("job", ""), 0
	var cursor uint64
	for {
		keys, next, err := s.redis.Scan(ctx, cursor, prefix+"*", batch).Result()
		if err != nil {
			return found, unavailable("looking for job records", err)
		}
		for i := range keys {
			keys[i] = keys[i][len(prefix):]
		}
		recs, _, err := s.readJobs(ctx, keys)
		if err != nil {
			return found, err
		}
		n, err := s.index(ctx, recs)
		found += n
		if err != nil || next == 0 {
			return found, err
		}
		cursor = next
	}
}

// index enters those that have not ended. One that ends at this moment is
// taken out again by Live.
func (s *Store) index(ctx context.Context, recs []JobRecord) (int, error) {
	pipe := s.redis.Pipeline()
	var added []*redis.IntCmd
	for _, rec := range recs {
		z := redis.Z{Score: float64(rec.CreatedAt.UnixMilli()), Member: string(rec.Job.ID)}
		if !rec.over() {
			added = append(added, pipe.ZAdd(ctx, liveKey, z))
		}
		pipe.ZAddNX(ctx, key("threadjobs", rec.Job.Thread.Key()), z)
		pipe.ExpireNX(ctx, key("threadjobs", rec.Job.Thread.Key()), jobRetention)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, unavailable("indexing jobs", err)
	}
	found := 0
	for _, cmd := range added {
		found += int(cmd.Val())
	}
	return found, nil
}

// LastJob is the job of the thread that ended last, other than by becoming a
// message to another; ErrNotFound for none.
func (s *Store) LastJob(ctx context.Context, thread vcs.Thread) (JobRecord, error) {
	id, err := s.redis.Get(ctx, key("ended", thread.Key())).Result()
	if errors.Is(err, redis.Nil) {
		return JobRecord{}, fmt.Errorf("%w: no job of %s has ended", ErrNotFound, thread.Key())
	}
	if err != nil {
		return JobRecord{}, unavailable("looking for the last job of "+thread.Key(), err)
	}
	return s.Job(ctx, jobs.JobID(id))
}

// Recent lists the latest n jobs, newest first.
func (s *Store) Recent(ctx context.Context, n int) ([]JobRecord, error) {
	return s.latest(ctx, recentKey, n)
}

// ThreadJobs lists the latest n jobs of a thread, newest first; more than 50
// are not known.
func (s *Store) ThreadJobs(ctx context.Context, thread vcs.Thread, n int) ([]JobRecord, error) {
	return s.latest(ctx, key("threadjobs", thread.Key()), n)
}

func (s *Store) latest(ctx context.Context, list string, n int) ([]JobRecord, error) {
	if n <= 0 {
		return nil, nil // to Redis, a last index of -1 is all of them
	}
	ids, err := s.redis.ZRevRange(ctx, list, 0, int64(n)-1).Result()
	if err != nil {
		return nil, unavailable("listing jobs", err)
	}
	recs, _, err := s.readJobs(ctx, ids)
	return recs, err
}
