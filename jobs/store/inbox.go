package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// Message is what an entitled person says to a live run.
type Message struct {
	// ID is that of the job which the message would have been. One is taken
	// once.
	ID     string    `json:"id"`
	Author vcs.Actor `json:"author"`
	Text   string    `json:"text"`
}

// PushMessage puts a message into the inbox of the job that holds the thread,
// once however often it is called. It is not taken when the job does not hold
// the thread any more: it would not be read.
func (s *Store) PushMessage(ctx context.Context, thread vcs.Thread, holder jobs.JobID, m Message) (taken bool, err error) {
	b, err := json.Marshal(m)
	if err != nil {
		return false, fmt.Errorf("encoding a message: %w", err)
	}
	keys := []string{key("thread", thread.Key()), key("inbox", string(holder)), key("message", string(holder)+":"+m.ID), key("mailed", thread.Key())}
	ok, err := s.scripts.message.Run(ctx, s.redis, keys, string(holder), b, int(inboxRetention.Seconds())).Int()
	return ok == 1, unavailable("writing to the inbox", err)
}

// Messages reads the job's inbox, in order, and leaves it as it is.
func (s *Store) Messages(ctx context.Context, job jobs.JobID) ([]Message, error) {
	items, err := s.redis.LRange(ctx, key("inbox", string(job)), 0, -1).Result()
	if err != nil {
		return nil, unavailable("reading the inbox", err)
	}
	return messages(items)
}

// TakeMessages removes exactly these messages from the job's inbox. What is
// not there was taken before.
func (s *Store) TakeMessages(ctx context.Context, job jobs.JobID, ids ...string) error {
	k := key("inbox", string(job))
	items, err := s.redis.LRange(ctx, k, 0, -1).Result()
	if err != nil {
		return unavailable("reading the inbox", err)
	}
	msgs, err := messages(items)
	if err != nil {
		return err
	}
	pipe, taken := s.redis.TxPipeline(), 0
	for i, m := range msgs {
		if slices.Contains(ids, m.ID) {
			pipe.LRem(ctx, k, 1, items[i])
			taken++
		}
	}
	if taken == 0 {
		return nil
	}
	_, err = pipe.Exec(ctx)
	return unavailable("taking messages", err)
}

func messages(items []string) ([]Message, error) {
	var out []Message
	for _, item := range items {
		var m Message
		if err := json.Unmarshal([]byte(item), &m); err != nil {
			return nil, fmt.Errorf("decoding a message: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}

// Unread are the jobs that got messages on the thread, do not hold it now, and
// have not read all of them, with what is left.
func (s *Store) Unread(ctx context.Context, thread vcs.Thread) (map[jobs.JobID][]Message, error) {
	holder, err := s.ThreadJob(ctx, thread)
	if err != nil {
		return nil, err
	}
	mailed, err := s.redis.SMembers(ctx, key("mailed", thread.Key())).Result()
	if err != nil {
		return nil, unavailable("looking for messages", err)
	}
	out := map[jobs.JobID][]Message{}
	for _, id := range mailed {
		if id == string(holder) {
			continue
		}
		left, err := s.Messages(ctx, jobs.JobID(id))
		if err != nil {
			return nil, err
		}
		out[jobs.JobID(id)] = left
	}
	return out, nil
}

// DropMessages forgets the inbox of a job that does not hold its thread.
func (s *Store) DropMessages(ctx context.Context, thread vcs.Thread, job jobs.JobID) error {
	pipe := s.redis.TxPipeline()
	pipe.SRem(ctx, key("mailed", thread.Key()), string(job))
	pipe.Del(ctx, key("inbox", string(job)))
	_, err := pipe.Exec(ctx)
	return unavailable("emptying the inbox", err)
}

// PushPending records a job that waits for its thread; one that waits already
// stays where it is.
func (s *Store) PushPending(ctx context.Context, job jobs.Job) error {
	if err := s.CreateJob(ctx, job); err != nil {
		return err
	}
	k := key("pending", job.Thread.Key())
	return unavailable("letting a job wait", s.redis.ZAddNX(ctx, k, redis.Z{Score: float64(job.CreatedAt.UnixMilli()), Member: string(job.ID)}).Err())
}

// Pending is the job that has waited longest for the thread. It goes on
// waiting until DropPending, so that it is not lost on the way.
func (s *Store) Pending(ctx context.Context, thread vcs.Thread) (jobs.Job, bool, error) {
	for {
		ids, err := s.redis.ZRange(ctx, key("pending", thread.Key()), 0, 0).Result()
		if err != nil || len(ids) == 0 {
			return jobs.Job{}, false, unavailable("looking for what waits", err)
		}
		rec, err := s.Job(ctx, jobs.JobID(ids[0]))
		if !errors.Is(err, ErrNotFound) {
			return rec.Job, err == nil, err
		}
		if err := s.DropPending(ctx, thread, jobs.JobID(ids[0])); err != nil { // too old to be kept
			return jobs.Job{}, false, err
		}
	}
}

// DropPending ends a job's waiting.
func (s *Store) DropPending(ctx context.Context, thread vcs.Thread, job jobs.JobID) error {
	return unavailable("ending a wait", s.redis.ZRem(ctx, key("pending", thread.Key()), string(job)).Err())
}
