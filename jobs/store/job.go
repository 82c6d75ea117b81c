package store

import (
	"context"
	"crypto/rand"
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
	// Into is the live job that this one became a message to.
	Into jobs.JobID `json:"into,omitempty"`
	// Untold is the end's text while the thread has not been told.
	Untold    string    `json:"untold,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// CreateJob records a new job as queued; one that exists is left as it is.
func (s *Store) CreateJob(ctx context.Context, job jobs.Job) error {
	now := s.now().UTC()
	b, err := json.Marshal(JobRecord{Job: job, State: jobs.Queued, Cause: "accepted", CreatedAt: now, UpdatedAt: now})
	if err != nil {
		return fmt.Errorf("encoding job %s: %w", job.ID, err)
	}
	keys := []string{key("job", string(job.ID)), liveKey, recentKey, key("threadjobs", job.Thread.Key())}
	err = s.scripts.create.Run(ctx, s.redis, keys, string(job.ID), b, int(jobRetention.Seconds()), now.UnixMilli(), recentJobs, threadJobs).Err()
	return unavailable("recording job "+string(job.ID), err)
}

// createLua records a job unless it is there: KEYS record, live jobs, recent
// jobs, jobs of the thread; ARGV id, record, seconds to keep, now in
// milliseconds, how many recent jobs and jobs of a thread to list.
const createLua = `
if not redis.call('SET', KEYS[1], ARGV[2], 'NX', 'EX', ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -ARGV[5] - 1)
redis.call('ZADD', KEYS[4], ARGV[4], ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -ARGV[6] - 1)
redis.call('EXPIRE', KEYS[4], ARGV[3])
return 1`

// Job reads a record; ErrNotFound when there is none.
func (s *Store) Job(ctx context.Context, id jobs.JobID) (JobRecord, error) {
	rec, _, err := s.readJob(ctx, id)
	return rec, err
}

// readJob gives the record also as it is stored.
func (s *Store) readJob(ctx context.Context, id jobs.JobID) (JobRecord, []byte, error) {
	var rec JobRecord
	b, err := s.redis.Get(ctx, key("job", string(id))).Bytes()
	if errors.Is(err, redis.Nil) {
		return rec, nil, fmt.Errorf("%w: job %s", ErrNotFound, id)
	}
	if err != nil {
		return rec, nil, unavailable("reading job "+string(id), err)
	}
	if err := json.Unmarshal(b, &rec); err != nil {
		return rec, nil, fmt.Errorf("decoding job %s: %w", id, err)
	}
	return rec, b, nil
}

// maxConflicts bounds the tries of an update against others.
const maxConflicts = 20

// UpdateJob changes a record atomically: change sees the record as it is and
// may refuse with an error, which is returned as it is. It may be called
// several times.
func (s *Store) UpdateJob(ctx context.Context, id jobs.JobID, change func(*JobRecord) error) (JobRecord, error) {
	return s.update(ctx, id, nil, change)
}

// update is UpdateJob under a lease, if there is one.
func (s *Store) update(ctx context.Context, id jobs.JobID, lease *Lease, change func(*JobRecord) error) (JobRecord, error) {
	for range maxConflicts {
		rec, old, err := s.readJob(ctx, id)
		if err != nil {
			return rec, err
		}
		had := rec.State.Final()
		if err := change(&rec); err != nil {
			return rec, lease.unlessLost(ctx, err)
		}
		rec.UpdatedAt = s.now().UTC()
		done, err := s.swap(ctx, rec, old, had, lease)
		if done || err != nil {
			return rec, err
		}
	}
	return JobRecord{}, unavailable("updating job "+string(id), errors.New("others change it again and again"))
}

// What swapLua answers.
const (
	swapLost     = -1
	swapConflict = 0
)

// swap writes a record if it still is what was read; false when it is not. had
// is whether the job had ended before.
func (s *Store) swap(ctx context.Context, rec JobRecord, old []byte, had bool, lease *Lease) (bool, error) {
	id := string(rec.Job.ID)
	out, err := json.Marshal(rec)
	if err != nil {
		return false, fmt.Errorf("encoding job %s: %w", id, err)
	}
	thread := rec.Job.Thread.Key()
	keys := []string{key("job", id), liveKey, key("ended", thread), key("swapped", id), key("lease", id)}
	owner := ""
	if lease != nil {
		keys[4], owner = lease.key, lease.owner
	}
	live, last := bit(!rec.over()), bit(rec.State.Final() && !had && rec.Into == "")
	n, err := s.scripts.swap.Run(ctx, s.redis, keys, id, old, out, int(jobRetention.Seconds()), owner, live, rec.CreatedAt.UnixMilli(), rand.Text(), last).Int()
	switch {
	case err != nil:
		return false, unavailable("writing job "+id, err)
	case n == swapLost:
		return false, jobs.ErrLeaseLost
	}
	return n != swapConflict, nil
}

// over reports that nothing is left to do for the job: it has ended, and that
// was told.
func (r JobRecord) over() bool { return r.State.Final() && r.Untold == "" }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// swapLua replaces a record that is ARGV[2] still, if the lease is the
// writer's: KEYS record, live jobs, last job of the thread that ended, mark of
// the last write, lease; ARGV id, old, new, seconds to keep, owner of the lease
// or empty, whether something is left to do for the job, its creation in
// milliseconds, mark of this write, whether the job has just ended, other than
// as a message to another. The mark tells a write that
// the client sends again, because its answer was lost, from one of others. A
// job that ends again keeps its place as the last.
const swapLua = `
if ARGV[5] ~= '' and redis.call('GET', KEYS[5]) ~= ARGV[5] then return -1 end
if redis.call('GET', KEYS[1]) ~= ARGV[2] then
  if redis.call('GET', KEYS[4]) == ARGV[8] then return 1 end
  return 0
end
redis.call('SET', KEYS[1], ARGV[3], 'EX', ARGV[4])
redis.call('SET', KEYS[4], ARGV[8], 'EX', 60)
if ARGV[6] == '1' then
  redis.call('ZADD', KEYS[2], ARGV[7], ARGV[1])
else
  redis.call('ZREM', KEYS[2], ARGV[1])
end
if ARGV[9] == '1' then redis.call('SET', KEYS[3], ARGV[1], 'EX', ARGV[4]) end
return 1`

// MoveJob changes the state along the table of jobs.State.
func (s *Store) MoveJob(ctx context.Context, id jobs.JobID, to jobs.State, cause string, more func(*JobRecord)) (JobRecord, error) {
	return s.update(ctx, id, nil, moving(to, cause, more))
}

func moving(to jobs.State, cause string, more func(*JobRecord)) func(*JobRecord) error {
	return func(r *JobRecord) error {
		if err := r.State.To(to); err != nil {
			return err
		}
		r.State, r.Cause = to, cause
		if more != nil {
			more(r)
		}
		return nil
	}
}
