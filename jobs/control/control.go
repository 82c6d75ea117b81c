package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// Request is what somebody asks.
type Request struct {
	Verb jobs.Verb
	// Thread is where it was asked; Job names a job instead, and its thread.
	Thread vcs.Thread
	Job    jobs.JobID
	By     vcs.Actor
	// Permission is what By has on the repository.
	Permission vcs.Permission
	// Text is what follows the verb, as written.
	Text string
	// Options are those of a command that starts a job again.
	Options jobs.Options
	// Comment is where it was asked, zero for nowhere.
	Comment vcs.CommentRef
	// Internal is set when only members of the project read what was asked.
	Internal bool
	// Key tells one request from another: the same one is carried out once.
	Key string
	At  time.Time
	// Written is when the forge says that it was written, or changed; zero where
	// nobody knows.
	Written time.Time
}

// Answer is what came of it.
type Answer struct {
	// Text is for people, Markdown; empty when the thread will show it by
	// itself.
	Text string
	// Job is the one that it was about, or that it started.
	Job jobs.JobID
	// Refused says that it was not carried out, and Text why.
	Refused bool
}

func said(job jobs.JobID, format string, args ...any) Answer {
	return Answer{Job: job, Text: fmt.Sprintf(format, args...)}
}

func refused(format string, args ...any) Answer {
	return Answer{Refused: true, Text: fmt.Sprintf(format, args...)}
}

// Config is what a Control is made of.
type Config struct {
	Store *store.Store
	// End ends a job that nobody works on; jobs.ErrLeaseLost when somebody does.
	End func(ctx context.Context, id jobs.JobID, state jobs.State, cause, actor string) error
	// Start begins a job: it waits, or becomes a message, when its thread is
	// busy.
	Start func(ctx context.Context, job jobs.Job) error
	// Enqueue puts a job that was suspended back into the queue.
	Enqueue func(ctx context.Context, job jobs.Job) (duplicate bool, err error)
	// Budget bounds what `budget` may add.
	Budget Budget
	// SecondPerson makes the approval of whoever asked for the job not count.
	SecondPerson bool
	Now          func() time.Time
}

// Budget is what the operator set for a thread, in millionths of a US dollar.
type Budget struct {
	Thread int64 // ceiling of one thread; 0 is none
	Most   int64 // how much people may add to it in all
	// Spent is what the thread of a job has used of it.
	Spent func(ctx context.Context, job jobs.Job) (int64, error)
}

// Control carries requests out. It is safe for concurrent use.
type Control struct{ cfg Config }

// New makes a Control.
func New(cfg Config) *Control { return &Control{cfg: cfg} }

// ErrUnknown is wrapped by the error of a verb that is not this package's.
var ErrUnknown = errors.New("no such request")

// Do carries a request out. An error means that nothing was decided, or only
// part of it done: the request can be made again.
func (c *Control) Do(ctx context.Context, r Request) (Answer, error) {
	do := map[jobs.Verb]func(context.Context, Request) (Answer, error){
		jobs.VerbStatus: c.status, jobs.VerbStop: c.stop, jobs.VerbRetry: c.retry, jobs.VerbContinue: c.goOn,
		jobs.VerbApprove: c.approve, jobs.VerbDeny: c.deny, jobs.VerbBudget: c.budget, jobs.VerbUnlock: c.unlock,
	}[r.Verb]
	if do == nil {
		return Answer{}, fmt.Errorf("%w: %q", ErrUnknown, r.Verb)
	}
	if r.Job != "" {
		rec, err := c.cfg.Store.Job(ctx, r.Job)
		if errors.Is(err, store.ErrNotFound) {
			return refused("There is no job %s.", code(string(r.Job))), nil
		}
		if err != nil {
			return Answer{}, err
		}
		r.Thread = rec.Job.Thread
	}
	return do(ctx, r)
}

// current is the job that is meant: the one that is named, else the one that
// holds the thread. None is no error.
func (c *Control) current(ctx context.Context, r Request) (rec store.JobRecord, ok bool, err error) {
	id := r.Job
	if id == "" {
		if id, err = c.cfg.Store.ThreadJob(ctx, r.Thread); err != nil || id == "" {
			return rec, false, err
		}
	}
	rec, err = c.cfg.Store.Job(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return rec, false, nil
	}
	return rec, err == nil && !rec.State.Final(), err
}

// nothing is the answer where there is no job.
const nothing = "Nothing is going on in this thread."

// stop ends what is going on (rules A3, P2): a worker sees the request within a
// second; where there is none, the job is ended here.
func (c *Control) stop(ctx context.Context, r Request) (Answer, error) {
	rec, ok, err := c.current(ctx, r)
	if err != nil || !ok {
		if err == nil && rec.State.Final() { // and its thread not freed
			err = c.end(ctx, rec.Job.ID, r, "stopped by ")
		}
		return refused(nothing), err
	}
	id := rec.Job.ID
	if err := c.cfg.Store.RequestStop(ctx, id, r.By); err != nil {
		return Answer{}, err
	}
	owner, err := c.cfg.Store.Owner(ctx, id)
	if err != nil || owner != "" {
		return Answer{Job: id}, err
	}
	return Answer{Job: id}, c.end(ctx, id, r, "stopped by ")
}

// end ends a job that nobody works on. A worker that has just begun with it
// will see the request.
func (c *Control) end(ctx context.Context, id jobs.JobID, r Request, how string) error {
	err := c.cfg.End(ctx, id, jobs.Canceled, how+r.By.Login, r.By.Login)
	if errors.Is(err, jobs.ErrLeaseLost) {
		return nil
	}
	return err
}

// unlock forgets a job that is stuck: nobody works on it, and it keeps its
// thread.
func (c *Control) unlock(ctx context.Context, r Request) (Answer, error) {
	holder, err := c.cfg.Store.ThreadJob(ctx, r.Thread)
	if err != nil || holder == "" {
		return refused(nothing), err
	}
	if r.Job != "" && r.Job != holder { // whoever names a job means no other
		return refused("Not unlocked: job %s keeps the thread, not job %s.", code(string(holder)), code(string(r.Job))), nil
	}
	owner, err := c.cfg.Store.Owner(ctx, holder)
	if err != nil {
		return Answer{}, err
	}
	if owner != "" {
		return refused("Not unlocked: a worker is at job %s. Use the command `stop`.", code(string(holder))), nil
	}
	err = c.cfg.End(ctx, holder, jobs.Canceled, "unlocked by "+r.By.Login, r.By.Login)
	switch {
	case errors.Is(err, jobs.ErrLeaseLost):
		return refused("Not unlocked: a worker has just taken job %s up. Use the command `stop`.", code(string(holder))), nil
	case errors.Is(err, store.ErrNotFound): // its record is gone: only the claim is left
		err = c.cfg.Store.ReleaseThread(ctx, r.Thread, holder)
	}
	if err != nil {
		return Answer{}, err
	}
	return said(holder, "Unlocked: job %s is forgotten, and the thread is free.", code(string(holder))), nil
}
