package progress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// The pace of edits (rule P1), and the bounds of the last one.
const (
	editInterval = 10 * time.Second
	editTimeout  = 30 * time.Second
	lastTries    = 5
	lastTimeout  = 3 * time.Minute
	lastPause    = 3 * time.Second
)

// Commenter is the role of a forge that is needed.
type Commenter interface {
	PutComment(ctx context.Context, thread vcs.Thread, c vcs.StickyComment) (vcs.Comment, error)
}

// Comment keeps the comment of one job up to date.
type Comment struct {
	forge  Commenter
	thread vcs.Thread
	log    *slog.Logger
	every  time.Duration

	mu      sync.Mutex
	pending *Status // under mu: what is not posted yet
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
}

// NewComment begins to keep a comment; Close must be called.
func NewComment(ctx context.Context, forge Commenter, thread vcs.Thread, log *slog.Logger) *Comment {
	c := &Comment{forge: forge, thread: thread, log: log, every: editInterval, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go c.loop(context.WithoutCancel(ctx))
	return c
}

// Update replaces what the comment is to show; it never blocks.
func (c *Comment) Update(s Status) {
	c.mu.Lock()
	c.pending = &s
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// loop posts the latest status, then rests.
func (c *Comment) loop(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-c.stop:
			return
		case <-c.wake:
		}
		c.post(ctx)
		timer := time.NewTimer(c.every)
		select {
		case <-c.stop:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (c *Comment) post(ctx context.Context) {
	c.mu.Lock()
	s := c.pending
	c.pending = nil
	c.mu.Unlock()
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, editTimeout)
	defer cancel()
	err := c.put(ctx, *s)
	if err == nil {
		return
	}
	c.log.Warn("progress comment could not be edited", "job_id", s.Job.ID, "error", err)
	if errors.Is(err, vcs.ErrUnavailable) {
		c.again(s)
	}
}

// again lets a status that could not be posted wait for the next edit, unless
// there is a later one.
func (c *Comment) again(s *Status) {
	c.mu.Lock()
	if c.pending == nil {
		c.pending = s
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Comment) put(ctx context.Context, s Status) error {
	_, err := c.forge.PutComment(ctx, c.thread, Sticky(s.Job, s.Markdown()))
	return err
}

// Close ends the edits, and waits for one that is under way; the last word is
// PostText's. It may be called again.
func (c *Comment) Close() {
	c.once.Do(func() { close(c.stop) })
	<-c.done
}

// PostText writes the text of a job's comment, trying again for up to three
// minutes while the forge is away: for the last word, which must get out. ctx
// gives values only; its end does not matter.
func PostText(ctx context.Context, forge Commenter, job jobs.Job, text string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	for try := 0; ; try++ {
		_, err := forge.PutComment(ctx, job.Thread, Sticky(job, text))
		if err == nil {
			return nil
		}
		err = fmt.Errorf("posting the progress of job %s: %w", job.ID, err)
		if !errors.Is(err, vcs.ErrUnavailable) || try == lastTries-1 || !rest(ctx, pause(err, try)) {
			return err
		}
	}
}

// pause is how long to wait before the next try.
func pause(err error, try int) time.Duration {
	var limited *vcs.RateLimitError
	if errors.As(err, &limited) {
		return max(time.Until(limited.RetryAt), lastPause<<try)
	}
	return lastPause << try
}

// rest waits, unless ctx will have ended by then.
func rest(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
