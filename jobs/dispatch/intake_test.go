package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/dispatch"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
)

// line is a queue that remembers events, or is away.
type line struct {
	seen map[string]bool
	away error
}

func (l *line) EnqueueEvent(_ context.Context, ev vcs.Event) (bool, error) {
	if l.away != nil {
		return false, l.away
	}
	was := l.seen[ev.Key()]
	l.seen[ev.Key()] = true
	return was, nil
}

func (*line) EnqueueJob(context.Context, jobs.Job) (bool, error)   { return false, nil }
func (*line) Depth(context.Context) (queue.Depth, error)           { return queue.Depth{}, nil }
func (*line) JobWaiting(context.Context, jobs.JobID) (bool, error) { return false, nil }

// labels is the closed set: they become a metric's.
var labels = map[string]bool{
	"job": true, "reply": true, "control": true, "message": true,
	"own_event": true, "ping": true, "unsupported": true, "incomplete": true, "edit": true, "no_command": true, "policy": true, "not_ours": true,
	"dismissed": true, "closed": true, "running": true, "not_red": true, "no_pull_request": true, "ignored": true,
}

func TestTriage(t *testing.T) {
	self := vcs.Actor{ID: 1, Login: "greenwright[bot]", Kind: vcs.KindBot}
	person := vcs.Actor{ID: 2, Login: "somebody", Kind: vcs.KindUser}
	repo := vcs.Repo{RepoRef: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, ID: 9}
	says := func(body string, by vcs.Actor) vcs.Event {
		return vcs.Event{Forge: vcs.GitHub, Kind: vcs.EventComment, Action: "created", Repo: repo, Actor: by, Thread: vcs.Thread{Repo: repo.RepoRef, Number: 1}, Comment: &vcs.Comment{Body: body, Author: by}}
	}
	review := func(author vcs.Actor) vcs.Event {
		return vcs.Event{Forge: vcs.GitHub, Kind: vcs.EventReview, Repo: repo, Actor: person, Review: &vcs.Review{ID: 1, State: vcs.ReviewCommented}, PullRequest: &vcs.PullRequest{Author: author, Open: true}}
	}
	check := vcs.Event{Forge: vcs.GitHub, Kind: vcs.EventCheck, Repo: repo, Actor: person, Check: &vcs.Check{Completed: true, Conclusion: vcs.ConclusionSuccess}}
	cases := []struct {
		name  string
		ev    vcs.Event
		known bool // whether we know who we are
		want  bool
		label string
	}{
		{"fix", says("/agent fix", person), true, true, "job"},
		{"fix, not knowing who we are", says("/agent fix", person), false, true, "job"},
		{"stop", says("/agent stop", person), true, true, "control"},
		{"help", says("/agent help", person), true, true, "reply"},
		{"words", says("thanks", person), true, false, "no_command"},
		{"own", says("/agent fix", self), true, false, "own_event"},
		{"a bot", says("/agent fix", vcs.Actor{ID: 3, Login: "x[bot]", Kind: vcs.KindBot}), true, false, "policy"},
		{"hostile name", vcs.Event{Forge: vcs.GitHub, Kind: vcs.EventUnsupported, Name: "x\ny", Action: "z{}", Repo: repo, Actor: person}, true, false, "unsupported"},
		{"review of ours", review(self), true, true, "job"},
		{"review of another", review(person), true, false, "not_ours"},
		{"review, not knowing who we are", review(self), false, true, "job"},
		{"green", check, true, false, "not_red"},
		{"zero", vcs.Event{}, true, false, "unsupported"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := dispatch.NewIntake(func(vcs.ForgeName) trigger.Rules {
				r := trigger.Rules{Parser: command.Parser{Prefix: "/agent"}, Policy: policy.Config{}.WithDefaults(), BranchPrefix: "greenwright/"}
				if c.known {
					r.Self = self
				}
				return r
			}, &line{})
			got, label := in.Triage(c.ev)
			if got != c.want || label != c.label {
				t.Errorf("Triage = %v, %q; want %v, %q", got, label, c.want, c.label)
			}
			if !labels[label] {
				t.Errorf("label %q is not of the closed set", label)
			}
		})
	}
}

func TestAccept(t *testing.T) {
	l := &line{seen: map[string]bool{}}
	in := dispatch.NewIntake(func(vcs.ForgeName) trigger.Rules { return trigger.Rules{} }, l)
	ev := vcs.Event{Forge: vcs.GitHub, Object: "comment:1", Version: "1"}
	for i, want := range []bool{false, true} {
		if duplicate, err := in.Accept(ctx, ev); duplicate != want || err != nil {
			t.Errorf("call %d: %v, %v", i, duplicate, err)
		}
	}
	l.away = fmt.Errorf("%w: dial", jobs.ErrUnavailable)
	if _, err := in.Accept(ctx, ev); !errors.Is(err, vcs.ErrUnavailable) || !errors.Is(err, jobs.ErrUnavailable) {
		t.Errorf("error is %v, want vcs.ErrUnavailable", err)
	}
	l.away = errors.New("cannot be encoded")
	if _, err := in.Accept(ctx, ev); !errors.Is(err, l.away) || errors.Is(err, vcs.ErrUnavailable) {
		t.Errorf("error is %v, want the queue's own", err)
	}
}
