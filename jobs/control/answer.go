package control

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

func code(s string) string { return journal.Code(s) }

// approve lets go on what waits for a person (rule P5).
func (c *Control) approve(ctx context.Context, r Request) (Answer, error) {
	return c.decide(ctx, r, jobs.Approved)
}

// deny refuses it. One denial vetoes.
func (c *Control) deny(ctx context.Context, r Request) (Answer, error) {
	return c.decide(ctx, r, jobs.Denied)
}

func (c *Control) decide(ctx context.Context, r Request, d jobs.Decision) (Answer, error) {
	rec, ok, err := c.current(ctx, r)
	if err != nil || !ok {
		return refused(nothing), err
	}
	all, err := c.cfg.Store.Approvals(ctx, rec.Job.ID)
	if err != nil {
		return Answer{}, err
	}
	id, why, answer := pick(all, r, d)
	if answer != nil {
		return *answer, nil
	}
	if d == jobs.Approved && c.cfg.SecondPerson && same(rec.Job.Requester, r.By) { // rule A8
		return refused("Not approved: who asked for the job may not approve it here (policy.second_person)."), nil
	}
	if r.Internal && why != "" {
		why = "(for a reason that was given internally)" // the report is for everybody
	}
	a, err := c.cfg.Store.Decide(ctx, rec.Job.ID, id, d, r.By, why, c.cfg.Now())
	switch {
	case errors.Is(err, store.ErrDecided):
		if saidSo(a, r, d) {
			break
		}
		return refused("Approval %s was %s already by %s.", code(id), a.Decision, code(a.By.Login)), nil
	case errors.Is(err, store.ErrExpired):
		return refused("Approval %s is too old: nobody answered in time. Ask again.", code(id)), c.goesOn(ctx, rec)
	case err != nil:
		return Answer{}, err
	}
	return said(rec.Job.ID, "%s: the run goes on.", strings.ToUpper(string(d[:1]))+string(d[1:])), c.goesOn(ctx, rec)
}

// goesOn puts a suspended job back into the queue.
func (c *Control) goesOn(ctx context.Context, rec store.JobRecord) error {
	_, err := c.cfg.Enqueue(ctx, rec.Job)
	return err
}

// pick finds which approval is meant: the one that is named, else the only one
// that waits. Who approves says no more than that: a condition, a doubt or
// another number is no approval.
func pick(all []jobs.Approval, r Request, d jobs.Decision) (id, why string, answer *Answer) {
	word, rest := firstWord(r.Text)
	name := strings.Trim(word, "#`*().,:!")
	why = strings.TrimSpace(r.Text)
	if named.MatchString(name) {
		id, why = name, strings.TrimSpace(rest)
	}
	if d == jobs.Approved && why != "" {
		a := refused("Not approved. The command `approve` takes the number of what is asked, and nothing else; to refuse with a reason there is `deny`.")
		return "", "", &a
	}
	var waiting []string
	for _, a := range all {
		if a.ID == id {
			return id, why, tooEarly(a, r, d)
		}
		if a.Decision == jobs.Waiting {
			waiting = append(waiting, a.ID)
		}
	}
	switch {
	case len(waiting) == 0:
		if n := len(all); n > 0 && id == "" && saidSo(all[n-1], r, d) {
			return all[n-1].ID, "", nil
		}
		a := refused("Nothing waits for an approval in this thread.")
		return "", "", &a
	case id != "":
		a := refused("There is no approval %s; waiting: %s.", code(id), strings.Join(waiting, ", "))
		return "", "", &a
	case len(waiting) > 1:
		a := refused("Several things wait for an approval: name one of %s.", strings.Join(waiting, ", "))
		return "", "", &a
	}
	for _, a := range all {
		if a.ID == waiting[0] {
			return a.ID, why, tooEarly(a, r, d)
		}
	}
	return waiting[0], why, nil
}

// forgeTime is the resolution of a forge's times.
const forgeTime = time.Second

// tooEarly refuses an approval that was written before the question was asked:
// it cannot be meant for it. A denial may come at any time.
func tooEarly(a jobs.Approval, r Request, d jobs.Decision) *Answer {
	if d != jobs.Approved || r.Written.IsZero() || a.Decision != jobs.Waiting || !r.Written.Add(forgeTime).Before(a.AskedAt) {
		return nil
	}
	no := refused("Not approved: that was written before approval %s was asked for. Look at what it is about, and answer again.", code(a.ID))
	return &no
}

// saidSo reports whether somebody gives the answer again that he gave: a request
// that comes twice is no quarrel.
func saidSo(a jobs.Approval, r Request, d jobs.Decision) bool {
	return a.Decision == d && same(a.By, r.By)
}

// same reports whether two are one person: an operator has no account, and is
// known by the name.
func same(a, b vcs.Actor) bool { return a == b || a.Is(b) }

// named is a word that can only be meant as the id of an approval.
var named = regexp.MustCompile(`^[0-9]+$`)

// firstWord parts a text behind its first word, at whatever space follows it.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// status says what is going on.
func (c *Control) status(ctx context.Context, r Request) (Answer, error) {
	rec, ok, err := c.current(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	if !ok {
		return c.statusOfLast(ctx, r)
	}
	job := rec.Job
	text := fmt.Sprintf("Job %s (%s, asked by %s): **%s**", code(string(job.ID)), words(string(job.Kind)), code(job.Requester.Login), words(string(rec.State)))
	if rec.Cause != "" {
		text += ": " + journal.Line(rec.Cause)
	}
	text += fmt.Sprintf(", since %s.", c.cfg.Now().Sub(rec.UpdatedAt).Round(second))
	if rec.State == jobs.AwaitingApproval {
		all, err := c.cfg.Store.Approvals(ctx, job.ID)
		if err != nil {
			return Answer{}, err
		}
		for _, a := range all {
			if a.Decision == jobs.Waiting {
				text += fmt.Sprintf("\n\nApproval %s waits until %s: %s.", code(a.ID), a.Expires.UTC().Format("2006-01-02 15:04 MST"), journal.Line(a.Reason))
			}
		}
	}
	spent, err := c.spent(ctx, job)
	return Answer{Job: job.ID, Text: text + spent}, err
}

// statusOfLast is the status of a job that has ended: the one that is named,
// else the last of a thread where nothing is going on.
func (c *Control) statusOfLast(ctx context.Context, r Request) (Answer, error) {
	if r.Job != "" {
		rec, err := c.cfg.Store.Job(ctx, r.Job)
		return said(r.Job, "Job %s", ended(rec)), err
	}
	last, err := c.cfg.Store.LastJob(ctx, r.Thread)
	if errors.Is(err, store.ErrNotFound) {
		return said("", nothing), nil
	}
	if err != nil {
		return Answer{}, err
	}
	return said(last.Job.ID, "%s The last job, %s", nothing, ended(last)), nil
}

// ended says how a job has ended.
func ended(rec store.JobRecord) string {
	text := fmt.Sprintf("%s (%s), ended **%s**", code(string(rec.Job.ID)), words(string(rec.Job.Kind)), words(string(rec.State)))
	if rec.Cause != "" {
		text += ": " + journal.Line(rec.Cause)
	}
	return strings.TrimSuffix(text, ".") + "."
}

func words(s string) string { return strings.ReplaceAll(s, "_", " ") }
