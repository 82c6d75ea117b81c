package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// retry begins the last job of a thread again, as it was asked for.
func (c *Control) retry(ctx context.Context, r Request) (Answer, error) {
	last, answer, err := c.last(ctx, r)
	if err != nil || answer != nil {
		return *cmp.Or(answer, &Answer{}), err
	}
	job := c.anew(last, r)
	if r.Text != "" {
		job.Command.Text = strings.TrimSpace(last.Job.Command.Text + "\n\n" + r.Text)
	}
	return Answer{Job: job.ID}, c.cfg.Start(ctx, job)
}

// goOn begins a job that goes on where the last one of the thread ended: with
// its files, and with what it had found out.
func (c *Control) goOn(ctx context.Context, r Request) (Answer, error) {
	last, answer, err := c.last(ctx, r)
	if err != nil || answer != nil {
		return *cmp.Or(answer, &Answer{}), err
	}
	job := c.anew(last, r)
	job.Continues = cmp.Or(last.Run, last.Job.Continues) // it may have ended before it began
	if r.Text != "" {
		job.Command.Text = strings.TrimSpace(last.Job.Command.Text + "\n\nNow, to go on: " + r.Text)
	}
	return Answer{Job: job.ID}, c.cfg.Start(ctx, job)
}

// last is the job that a thread ended with, or the answer why it is not to be
// had.
func (c *Control) last(ctx context.Context, r Request) (store.JobRecord, *Answer, error) {
	var rec store.JobRecord
	var err error
	if r.Job != "" {
		rec, err = c.cfg.Store.Job(ctx, r.Job)
	} else {
		rec, err = c.cfg.Store.LastJob(ctx, r.Thread)
	}
	if errors.Is(err, store.ErrNotFound) {
		a := refused("No job has ended in this thread, so there is none to go back to.")
		return rec, &a, nil
	}
	if err != nil {
		return rec, nil, err
	}
	if rec.Into != "" { // only by its name: no such job is the last of a thread
		a := refused("Job %s became a message to job %s: name that one.", code(string(rec.Job.ID)), code(string(rec.Into)))
		return rec, &a, nil
	}
	holder, err := c.cfg.Store.ThreadJob(ctx, rec.Job.Thread)
	if err != nil {
		return rec, nil, err
	}
	if again := c.idOf(r); !rec.State.Final() || holder != "" && holder != again {
		a := refused("Job %s is still going on. Stop it first, or write what you want to add: it is taken into account.", code(string(cmp.Or(holder, rec.Job.ID))))
		return rec, &a, nil
	}
	return rec, nil, nil
}

// anew is the job of a record under a new id, asked for by somebody else.
func (c *Control) anew(rec store.JobRecord, r Request) jobs.Job {
	job := rec.Job
	job.ID, job.EventKey, job.CreatedAt = c.idOf(r), r.Key, r.At
	job.Requester, job.Permission, job.Internal = r.By, r.Permission, job.Internal || r.Internal
	if r.Comment != (vcs.CommentRef{}) { // asked in no thread, it stays where it stood
		job.Comment = r.Comment
	}
	if r.Options != (jobs.Options{}) {
		job.Command.Options = r.Options
	}
	job.Continues, job.Opening = "", ""
	if job.Comment == (vcs.CommentRef{}) {
		job.Comment = vcs.CommentRef{Kind: vcs.ThreadBody}
	}
	return job
}

// idOf is the id of the job that a request starts: the same for the same
// request.
func (c *Control) idOf(r Request) jobs.JobID {
	sum := sha256.Sum256([]byte(string(r.Verb) + "|" + r.Key))
	return jobs.JobID(hex.EncodeToString(sum[:8]))
}
