package wire

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os/user"
	"regexp"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/control"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/sandbox/redact"
	"github.com/greenwright/greenwright/vcs"
)

// Operator is whoever uses the command line, marked as no account of a forge.
func Operator(name string) vcs.Actor {
	if !operatorName.MatchString(name) {
		name = "unknown"
		if u, err := user.Current(); err == nil {
			name = "uid-" + u.Uid
		}
	}
	return vcs.Actor{Login: "operator:" + name, Kind: vcs.KindUser}
}

// operatorName is what stands in a thread as it is.
var operatorName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,38}$`)

// Ask is a request of the operator about a job, by its id, its run's or its
// thread (owner/repo#N).
type Ask struct {
	Verb jobs.Verb
	Name string
	Text string
	By   vcs.Actor
}

// Do carries a request out by the function that comments in a thread use.
func (r *Runs) Do(ctx context.Context, a Ask) (control.Answer, error) {
	req := control.Request{Verb: a.Verb, By: a.By, Permission: vcs.PermissionAdmin, Text: a.Text, Key: "operator|" + rand.Text(), At: time.Now()}
	if thread, err := r.thread(a.Name); err == nil {
		req.Thread = thread
	} else {
		rec, err := r.recordOf(ctx, a.Name)
		switch {
		case err != nil:
			return control.Answer{}, err
		case rec == nil:
			return control.Answer{}, fmt.Errorf("%w: there is no job %q (and a thread is written owner/repo#N)", vcs.ErrNotFound, a.Name)
		}
		req.Job, req.Thread = rec.Job.ID, rec.Job.Thread
	}
	ctl, done, err := r.control(ctx, a.Verb)
	if err != nil {
		return control.Answer{}, err
	}
	defer done()
	return ctl.Do(ctx, req)
}

// telling are the requests that end or start a job, which its thread is told.
// Stop is none: the workers end what they are asked to stop.
func telling(v jobs.Verb) bool {
	return v == jobs.VerbRetry || v == jobs.VerbContinue || v == jobs.VerbUnlock
}

// control builds what `serve` has for people, without what works.
func (r *Runs) control(ctx context.Context, verb jobs.Verb) (ctl *control.Control, done func(), err error) {
	st, err := r.records(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := &server{cfg: r.cfg, role: RoleWorker, version: r.version, log: r.log, metrics: newMetrics(), redis: r.url, store: st, archive: r.archive, now: time.Now}
	if s.client, err = queue.Open(r.url); err != nil {
		return nil, nil, err
	}
	done = func() { _ = s.client.Close() }
	forges, err := s.forges(verb)
	if err != nil {
		done()
		return nil, nil, err
	}
	kept, err := redact.New(secrets(r.cfg, slog.New(slog.DiscardHandler)), redact.WithoutShapes())
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("preparing the redaction of journals: %w", err)
	}
	run := runner.New(runner.Config{Forges: forges, Archive: r.archive.Archive, Redact: kept.Bytes, Version: r.version, Log: r.log, Now: time.Now})
	c := s.newCrew(run, forges)
	if len(forges) > 0 {
		return c.control, done, nil
	}
	// Whoever could tell the thread ends it: the workers look every few seconds.
	end := func(context.Context, jobs.JobID, jobs.State, string, string) error { return jobs.ErrLeaseLost }
	return control.New(control.Config{
		Store: st, End: end, Enqueue: s.client.EnqueueAgain, SecondPerson: r.cfg.Policy.SecondPerson, Budget: threadBudget(r.cfg, st), Now: time.Now,
	}), done, nil
}

// forges are the configured ones: none is fine for what tells no thread.
func (s *server) forges(verb jobs.Verb) (map[vcs.ForgeName]vcs.Forge, error) {
	if s.cfg.Forges.GitHub == nil && s.cfg.Forges.GitLab == nil && telling(verb) {
		return nil, fmt.Errorf("%w: no forge is configured, and the thread is told: use the configuration of `serve`", vcs.ErrInvalid)
	}
	var err error
	if s.hosts, err = openHosts(s.cfg.Forges); err != nil && telling(verb) {
		return nil, err
	}
	return s.hosts.drivers(), nil
}
