package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
)

// JobRecord is what is known of a job while it waits, runs and after.
type JobRecord struct {
	Job      jobs.Job   `json:"job"`
	State    jobs.State `json:"state"`
	Cause    string     `json:"cause"` // why it is in this state
	Run      jobs.RunID `json:"run,omitempty"`
	Attempts int        `json:"attempts"`
	Branch   string     `json:"branch,omitempty"`
	Pull     int        `json:"pull,omitempty"`
	URL      string     `json:"url,omitempty"` // of what came out
	// Untold is the end's text while the thread has not been told.
	Untold    string    `json:"untold,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// recentJobs is how many are listed by Recent at most.
const recentJobs = 1000

// CreateJob records a new job as queued; one that exists is left as it is.
func (s *Store) CreateJob(ctx context.Context, job jobs.Job) error {
	now := s.now().UTC()
	b, err := json.Marshal(JobRecord{Job: job, State: jobs.Queued, Cause: "accepted", CreatedAt: now, UpdatedAt: now})
	if err != nil {
		return fmt.Errorf("encoding job %s: %w", job.ID, err)
	}
	pipe := s.redis.TxPipeline()
	pipe.SetNX(ctx, key("job", string(job.ID)), b, jobRetention)
	pipe.ZAdd(ctx, key("jobs", "recent"), redis.Z{Score: float64(now.UnixMilli()), Member: string(job.ID)})
	pipe.ZRemRangeByRank(ctx, key("jobs", "recent"), 0, -recentJobs-1)
	_, err = pipe.Exec(ctx)
	return unavailable("recording job "+string(job.ID), err)
}

// Job reads a record; ErrNotFound when there is none.
func (s *Store) Job(ctx context.Context, id jobs.JobID) (JobRecord, error) {
	var rec JobRecord
	b, err := s.redis.Get(ctx, key("job", string(id))).Bytes()
	if errors.Is(err, redis.Nil) {
		return rec, fmt.Errorf("%w: job %s", ErrNotFound, id)
	}
	if err != nil {
		return rec, unavailable("reading job "+string(id), err)
	}
	if err := json.Unmarshal(b, &rec); err != nil {
		return rec, fmt.Errorf("decoding job %s: %w", id, err)
	}
	return rec, nil
}

// maxConflicts bounds the tries of an update against others.
const maxConflicts = 20

// UpdateJob changes a record atomically: change sees the record as it is and
// may refuse with an error, which is returned as it is.
func (s *Store) UpdateJob(ctx context.Context, id jobs.JobID, change func(*JobRecord) error) (JobRecord, error) {
	var rec JobRecord
	k := key("job", string(id))
	var own error // of the update, as opposed to the connection's
	attempt := func(tx *redis.Tx) error {
		b, err := tx.Get(ctx, k).Bytes()
		if errors.Is(err, redis.Nil) {
			return fmt.Errorf("%w: job %s", ErrNotFound, id)
		}
		if err != nil {
			return unavailable("reading job "+string(id), err)
		}
		rec = JobRecord{}
		if err := json.Unmarshal(b, &rec); err != nil {
			return fmt.Errorf("decoding job %s: %w", id, err)
		}
		if err := change(&rec); err != nil {
			return err
		}
		rec.UpdatedAt = s.now().UTC()
		out, err := json.Marshal(rec)
		if err != nil {
			return fmt.Errorf("encoding job %s: %w", id, err)
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, k, out, jobRetention)
			return nil
		})
		if errors.Is(err, redis.TxFailedErr) {
			return err
		}
		return unavailable("writing job "+string(id), err)
	}
	for range maxConflicts {
		own = nil
		err := s.redis.Watch(ctx, func(tx *redis.Tx) error {
			own = attempt(tx)
			return own
		}, k)
		switch {
		case err == nil:
			return rec, nil
		case errors.Is(err, redis.TxFailedErr):
			continue
		case own != nil:
			return rec, own
		}
		return rec, unavailable("watching job "+string(id), err)
	}
	return rec, unavailable("updating job "+string(id), redis.TxFailedErr)
}

// MoveJob changes the state along the table of jobs.State.
func (s *Store) MoveJob(ctx context.Context, id jobs.JobID, to jobs.State, cause string, more func(*JobRecord)) (JobRecord, error) {
	return s.UpdateJob(ctx, id, func(r *JobRecord) error {
		if err := r.State.To(to); err != nil {
			return err
		}
		r.State, r.Cause = to, cause
		if more != nil {
			more(r)
		}
		return nil
	})
}

// Recent lists the latest n jobs, newest first.
func (s *Store) Recent(ctx context.Context, n int) ([]JobRecord, error) {
	if n <= 0 {
		return nil, nil // to Redis, a last index of -1 is all of them
	}
	ids, err := s.redis.ZRevRange(ctx, key("jobs", "recent"), 0, int64(n)-1).Result()
	if err != nil {
		return nil, unavailable("listing jobs", err)
	}
	var out []JobRecord
	for _, id := range ids {
		rec, err := s.Job(ctx, jobs.JobID(id))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
	return out, nil
}
