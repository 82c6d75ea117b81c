package store

import (
	"context"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/jobs"
)

// Slot is a ceiling on live runs. Among those of one job the first is that of
// its own group, a repository; wider ones follow.
type Slot struct {
	Name  string
	Limit int // how many jobs may hold it; zero is no ceiling, but is counted
}

// Turn tells a job whether it may run.
type Turn struct {
	// Full is the first slot that has no place for the job; empty when the
	// job has all it asked for.
	Full string
	// Place is how many wait before it there, about.
	Place int
}

// A job that waits is looked at again after a second, and the later the more
// are before it: each look writes to Redis, and whoever frees a slot wakes the
// next in line.
const (
	firstLook    = time.Second
	lookPerPlace = 250 * time.Millisecond
	lastLook     = 30 * time.Second
)

// waiterLife is how long a job counts as waiting after its last look: well
// above the time between two looks.
const waiterLife = 2 * time.Minute

// Busy is nil when the job may run, and otherwise an error for the queue that
// wraps jobs.ErrBusy and says when to look again.
func (t Turn) Busy(now time.Time) error {
	if t.Full == "" {
		return nil
	}
	wait := min(firstLook+time.Duration(t.Place)*lookPerPlace, lastLook)
	return &jobs.ClassError{Class: jobs.Retryable, RetryAt: now.Add(wait), Err: fmt.Errorf("%w: %s is full", jobs.ErrBusy, t.Full)}
}

// TakeSlots gives the job all of the slots or none, for ttl; again, it renews
// those that it has. Whoever finds one full stands in line there and among its
// own group. A line is in order of the jobs' creation; where several groups
// share a slot, those of whom fewer run come first. A job does not pass those
// before it; one that has not looked for two minutes is not before anybody.
func (s *Store) TakeSlots(ctx context.Context, job jobs.Job, slots []Slot, ttl time.Duration) (Turn, error) {
	if len(slots) == 0 {
		return Turn{}, nil
	}
	args := []any{string(job.ID), job.CreatedAt.UnixMilli(), ttl.Milliseconds(), waiterLife.Milliseconds()}
	got, err := s.scripts.takeSlots.Run(ctx, s.redis, nil, append(args, slotArgs(slots)...)...).Int64Slice()
	if err != nil {
		return Turn{}, unavailable("taking a turn for job "+string(job.ID), err)
	}
	const answers = 2 // number of the full slot from 1, and the place
	if len(got) != answers || got[0] < 0 || got[0] > int64(len(slots)) {
		return Turn{}, fmt.Errorf("taking a turn for job %s: redis answers %v", job.ID, got)
	}
	if got[0] == 0 {
		return Turn{}, nil
	}
	return Turn{Full: slots[got[0]-1].Name, Place: int(got[1])}, nil
}

func slotArgs(slots []Slot) []any {
	var args []any
	for _, slot := range slots {
		args = append(args, slot.Name, slot.Limit)
	}
	return args
}

// KeepSlots prolongs what the job holds, and gives back what has expired
// meanwhile: a run that is live is counted, whether there is a place or not.
func (s *Store) KeepSlots(ctx context.Context, job jobs.JobID, slots []Slot, ttl time.Duration) error {
	args := []any{string(job), ttl.Milliseconds()}
	err := s.scripts.keepSlots.Run(ctx, s.redis, nil, append(args, slotArgs(slots)...)...).Err()
	return unavailable("keeping the slots of job "+string(job), err)
}

// FreeSlots gives up what the job holds and its places in line. It names those
// whose turn it is now, for whoever can wake them; otherwise they find out by
// themselves.
func (s *Store) FreeSlots(ctx context.Context, job jobs.JobID, slots []Slot) (next []jobs.JobID, err error) {
	ids, err := s.scripts.freeSlots.Run(ctx, s.redis, nil, append([]any{string(job)}, slotArgs(slots)...)...).StringSlice()
	if err != nil {
		return nil, unavailable("freeing the slots of job "+string(job), err)
	}
	for _, id := range ids {
		next = append(next, jobs.JobID(id))
	}
	return next, nil
}

// SlotHolders lists the jobs that hold a slot, those first that would expire
// first.
func (s *Store) SlotHolders(ctx context.Context, name string) ([]jobs.JobID, error) {
	ids, err := s.scripts.slotHolders.Run(ctx, s.redis, nil, name).StringSlice()
	if err != nil {
		return nil, unavailable("reading slot "+name, err)
	}
	var out []jobs.JobID
	for _, id := range ids {
		out = append(out, jobs.JobID(id))
	}
	return out, nil
}
