package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// Sentinels of approvals.
var (
	// ErrDecided says that the approval was decided before; it is as it was.
	ErrDecided = errors.New("decided already")
	// ErrExpired says that the approval's time is over.
	ErrExpired = errors.New("approval has expired")
)

// AskApproval records what people are asked. What the job asks again, by its
// hash, is what is there, with its decision, unless it has expired: a resumed
// run gets the answer. An empty ID becomes the next number of the job.
func (s *Store) AskApproval(ctx context.Context, a jobs.Approval) (jobs.Approval, error) {
	if a.Job == "" || a.Hash == "" {
		return a, fmt.Errorf("%w: an approval needs a job and a hash", vcs.ErrInvalid)
	}
	all, err := s.Approvals(ctx, a.Job)
	if err != nil {
		return a, err
	}
	for range maxConflicts {
		if i := slices.IndexFunc(all, func(o jobs.Approval) bool { return o.Hash == a.Hash && o.Decision != jobs.Expired }); i >= 0 {
			return all[i], nil
		}
		asked, done, err := s.ask(ctx, a, len(all))
		if done || err != nil {
			return asked, err
		}
		if all, err = s.Approvals(ctx, a.Job); err != nil {
			return a, err
		}
	}
	return a, unavailable("asking for an approval", errors.New("others ask again and again"))
}

// ask enters the approval as the next after so many; false when others have
// come in between.
func (s *Store) ask(ctx context.Context, a jobs.Approval, others int) (jobs.Approval, bool, error) {
	if a.ID == "" {
		a.ID = fmt.Sprint(others + 1)
	}
	b, err := json.Marshal(a)
	if err != nil {
		return a, false, fmt.Errorf("encoding an approval: %w", err)
	}
	n, err := s.scripts.ask.Run(ctx, s.redis, []string{key("approvals", string(a.Job))}, a.ID, b, others, int(jobRetention.Seconds())).Int()
	if err != nil {
		return a, false, unavailable("asking for an approval", err)
	}
	if n < 0 {
		return a, false, fmt.Errorf("%w: job %s has another approval %s", vcs.ErrInvalid, a.Job, a.ID)
	}
	return a, n == 1, nil
}

// askLua: KEYS approvals of a job; ARGV id, approval, how many there are,
// seconds to keep. 0: there are more or less; -1: the id is another's.
const askLua = `
local there = redis.call('HGET', KEYS[1], ARGV[1])
if there == ARGV[2] then return 1 end
if redis.call('HLEN', KEYS[1]) ~= tonumber(ARGV[3]) then return 0 end
if there then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1`

// Approvals lists those of a job in the order in which they were asked.
func (s *Store) Approvals(ctx context.Context, job jobs.JobID) ([]jobs.Approval, error) {
	texts, err := s.redis.HVals(ctx, key("approvals", string(job))).Result()
	if err != nil {
		return nil, unavailable("reading approvals", err)
	}
	var out []jobs.Approval
	for _, text := range texts {
		a, err := approval(text)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b jobs.Approval) int {
		return cmp.Or(a.AskedAt.Compare(b.AskedAt), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func approval(text string) (jobs.Approval, error) {
	var a jobs.Approval
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, fmt.Errorf("decoding an approval: %w", err)
	}
	return a, nil
}

// Decide records an answer, once: the first one counts, so that a denial
// cannot be approved away. ErrDecided comes with the approval as it is; after
// its time, it is recorded as expired, and that is ErrExpired. ErrNotFound
// when the job has no such approval.
func (s *Store) Decide(ctx context.Context, job jobs.JobID, id string, decision jobs.Decision, by vcs.Actor, why string, now time.Time) (jobs.Approval, error) {
	if decision != jobs.Approved && decision != jobs.Denied {
		return jobs.Approval{}, fmt.Errorf("%w: a decision %q", vcs.ErrInvalid, decision)
	}
	return s.settleApproval(ctx, job, id, func(a *jobs.Approval) error {
		if !now.Before(a.Expires) {
			expire(a, now)
			return ErrExpired
		}
		a.Decision, a.By, a.Why, a.DecidedAt = decision, by, why, now.UTC()
		return nil
	})
}

// ExpireApprovals ends the waiting of those whose time is over, and gives
// them.
func (s *Store) ExpireApprovals(ctx context.Context, job jobs.JobID, now time.Time) ([]jobs.Approval, error) {
	all, err := s.Approvals(ctx, job)
	var out []jobs.Approval
	for _, a := range all {
		if a.Decision != jobs.Waiting || now.Before(a.Expires) {
			continue
		}
		a, err := s.settleApproval(ctx, job, a.ID, func(a *jobs.Approval) error {
			expire(a, now)
			return nil
		})
		switch {
		case errors.Is(err, ErrDecided), errors.Is(err, ErrExpired):
		case err != nil:
			return out, err
		default:
			out = append(out, a)
		}
	}
	return out, err
}

func expire(a *jobs.Approval, now time.Time) {
	a.Decision, a.DecidedAt = jobs.Expired, now.UTC()
}

// settleApproval decides what waits. What decide answers is returned once it
// is recorded.
func (s *Store) settleApproval(ctx context.Context, job jobs.JobID, id string, decide func(*jobs.Approval) error) (jobs.Approval, error) {
	k := key("approvals", string(job))
	keys, mark := []string{k, key("decided", string(job)+":"+id)}, rand.Text()
	for range maxConflicts {
		old, err := s.redis.HGet(ctx, k, id).Result()
		if errors.Is(err, redis.Nil) {
			return jobs.Approval{}, fmt.Errorf("%w: approval %s of job %s", ErrNotFound, id, job)
		}
		if err != nil {
			return jobs.Approval{}, unavailable("reading an approval", err)
		}
		a, err := approval(old)
		switch {
		case err != nil:
			return a, err
		case a.Decision == jobs.Expired:
			return a, ErrExpired
		case a.Decision != jobs.Waiting:
			return a, ErrDecided
		}
		answer := decide(&a)
		b, err := json.Marshal(a)
		if err != nil {
			return a, fmt.Errorf("encoding an approval: %w", err)
		}
		n, err := s.scripts.decide.Run(ctx, s.redis, keys, id, old, b, mark).Int()
		if err != nil {
			return a, unavailable("recording a decision", err)
		}
		if n == 1 {
			return a, answer
		}
	}
	return jobs.Approval{}, unavailable("recording a decision", errors.New("others change it again and again"))
}

// decideLua replaces an approval that is ARGV[2] still: KEYS approvals of the
// job, mark of the last decision; ARGV id, old, new, mark of this one, by which
// a client that asks again knows its own.
const decideLua = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
  if redis.call('GET', KEYS[2]) == ARGV[4] then return 1 end
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('SET', KEYS[2], ARGV[4], 'EX', 60)
return 1`
