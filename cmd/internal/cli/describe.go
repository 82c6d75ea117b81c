package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
)

// described is a record in words. None of it is tame yet.
type described struct {
	head string // one line
	body string // what may be shortened
	dull bool   // of no interest to whoever reads what happened
}

// line is all of it on one line.
func (d described) line() string { return strings.TrimSpace(d.head + "  " + d.body) }

// describe says what a record says. A type of a later version is named.
func describe(rec journal.Record) described {
	d, err := describers[rec.Type]
	if !err {
		return described{head: string(rec.Type)}
	}
	return d(rec.Data)
}

// about makes a describer of a type's data.
func about[T any](say func(T) described) func(json.RawMessage) described {
	return func(raw json.RawMessage) described {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return described{head: "cannot be read: " + err.Error()}
		}
		return say(v)
	}
}

func sayf(format string, args ...any) described { return described{head: fmt.Sprintf(format, args...)} }

// describers are those of all types of record.
var describers = map[journal.Type]func(json.RawMessage) described{
	journal.TypeStarted: about(func(d journal.Started) described {
		return sayf("job %s: %s, asked by %s, in %s#%d; greenwright %s, sandbox %s", d.Job.ID, d.Job.Kind, d.Job.Requester.Login, d.Job.Thread.Repo.FullName(), d.Job.Thread.Number, d.Version, d.Sandbox)
	}),
	journal.TypeResumed: about(func(d journal.Resumed) described {
		text := fmt.Sprintf("taken up by %s (lease %d): %s", d.Worker, d.Token, d.Cause)
		if d.Anew != "" {
			text += "; it begins again: " + d.Anew
		}
		return described{head: text}
	}),
	journal.TypePrepared: about(func(d journal.Prepared) described {
		return sayf("works on %s, of %s (settings from %s)", brief(d.Base), cmp.Or(d.BaseRef, "no branch"), brief(d.Trusted))
	}),
	journal.TypeState: about(sayState),
	journal.TypeCheck: about(func(d journal.CheckRan) described {
		return described{head: fmt.Sprintf("check %s the change, %s: %s", d.Phase, d.Name, sayExit(d.ExitCode, d.Cause, d.Duration)), body: d.Output}
	}),
	journal.TypeSetupDue: about(func(d journal.SetupIntended) described {
		return described{head: fmt.Sprintf("set-up in the %s room: %s", d.Room, d.Command), dull: true}
	}),
	journal.TypeSetup: about(func(d journal.SetupRan) described {
		return described{head: fmt.Sprintf("set-up in the %s room, %s: %s", d.Room, d.Command, sayExit(d.ExitCode, d.Cause, d.Duration)), body: d.Output}
	}),
	journal.TypeBox: about(func(d journal.Box) described {
		return described{head: fmt.Sprintf("sandbox: image %s %s, egress %s", cmp.Or(d.Image, "none"), d.Digest, cmp.Or(strings.Join(d.Egress, " "), "none")), dull: true}
	}),
	journal.TypeAgent: about(sayEntry),
	journal.TypeModel: about(func(d journal.ModelChosen) described { return sayf("model %s: %s %s", d.Model, d.Reason, d.Price) }),
	journal.TypeOutcome: about(func(d journal.AgentEnded) described {
		return described{head: fmt.Sprintf("%s ended %s: %s", d.Model, d.State, d.Reason), body: cmp.Or(d.Question, d.Answer, d.Claim)}
	}),
	journal.TypeChange: about(func(d journal.Changed) described {
		added, deleted := d.Stat()
		return sayf("change: %s, +%d -%d (tree %s)", plural(len(d.Files), "file"), added, deleted, brief(d.Tree))
	}),
	journal.TypeCommit: about(func(d journal.Committed) described {
		return sayf("commit %s (tree %s)", brief(d.Commit), brief(d.Tree))
	}),
	journal.TypeVerdict: about(func(d journal.Verdict) described {
		return sayf("verdict: %s: %s", map[bool]string{true: "verified", false: "not verified"}[d.Verified], d.Why)
	}),
	journal.TypeTarget:   about(func(d journal.Aimed) described { return described{head: "goes to branch " + d.Branch, dull: true} }),
	journal.TypeApproval: about(sayApproval),
	journal.TypeIntended: about(func(d journal.ActionIntended) described { return sayf("action: %s %s", d.Kind, d.Target) }),
	journal.TypeDone: about(func(d journal.ActionFinished) described {
		if d.Error != "" {
			return sayf("action failed: %s: %s", d.Key, d.Error)
		}
		return sayf("action done: %s %s", cmp.Or(d.Result, d.Key), d.URL)
	}),
	journal.TypeNote: about(func(d journal.Note) described { return sayf("%s: %s", d.Kind, d.Text) }),
	journal.TypeEnded: about(func(d journal.Ended) described {
		head := "end: " + string(d.State)
		if d.Cause != "" {
			head += ": " + d.Cause
		}
		return described{head: strings.TrimSpace(head + " " + d.URL), body: cmp.Or(d.Answer, d.Advice)}
	}),
}

func sayState(d journal.StateChanged) described {
	text := fmt.Sprintf("%s → %s", d.From, d.To)
	if d.Cause != "" {
		text += ": " + d.Cause
	}
	if d.Actor != "" {
		text += " (by " + d.Actor + ")"
	}
	return described{head: text}
}

func sayApproval(a jobs.Approval) described {
	if a.Decision == jobs.Waiting {
		return described{head: fmt.Sprintf("approval %s is asked for (%s): %s", a.ID, a.Kind, a.Reason), body: a.Shown}
	}
	return sayf("approval %s: %s by %s %s", a.ID, a.Decision, cmp.Or(a.By.Login, "nobody"), a.Why)
}

func sayExit(code int, cause string, took time.Duration) string {
	text := fmt.Sprintf("exit %d", code)
	if cause != "exited" {
		text = cause
	}
	return fmt.Sprintf("%s in %.1fs", text, took.Seconds())
}

// brief is the beginning of a hash.
func brief(hash string) string {
	const digits = 12
	return hash[:min(len(hash), digits)]
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// sayEntry says what an agent's entry says.
func sayEntry(e agent.Entry) described {
	switch {
	case e.Kind == agent.EntryMessage && e.Message != nil:
		return sayMessage(e)
	case e.Kind == agent.EntryRequest && e.Request != nil:
		q := e.Request
		return described{head: fmt.Sprintf("asks %s (%s): %s, about %d tokens", q.Model, cmp.Or(string(q.Role), "step"), plural(q.Messages, "message"), q.EstimatedTokens), dull: true}
	case e.Kind == agent.EntryReply && e.Reply != nil:
		r := e.Reply
		return described{head: fmt.Sprintf("%s says (%d tokens in, %d out, %s)", cmp.Or(r.Model, "the model"), r.Usage.InputTotal(), r.Usage.Output, journal.Dollars(r.CostMicroUSD)), body: r.Message.Plain()}
	case e.Call != nil:
		return sayCall(e)
	case e.Kind == agent.EntrySnapshot && e.Snapshot != nil:
		return described{head: "files kept as " + e.Snapshot.ID, dull: true}
	case e.Kind == agent.EntryCheckpoint:
		return described{head: "checkpoint", dull: true}
	}
	return sayf("%s: %s", e.Kind, e.Notice)
}

func sayMessage(e agent.Entry) described {
	head := "the platform says"
	switch {
	case e.From != nil:
		head = e.From.Author + " says"
	case e.Said == agent.SaidTask:
		head = "the task"
	}
	return described{head: head, body: e.Message.Plain()}
}

// sayCall says what a call is to do, or came to.
func sayCall(e agent.Entry) described {
	c := e.Call
	if e.Kind == agent.EntryIntended {
		return described{head: "→ " + c.Call.Name, body: string(c.Call.Arguments)}
	}
	res := c.Result
	if res == nil {
		return sayf("← %s: %s", c.Call.Name, e.Kind)
	}
	how := string(res.Code)
	if res.OK {
		how = fmt.Sprintf("%.1fs", float64(res.DurationMS)/millis)
	}
	return described{head: fmt.Sprintf("← %s: %s", c.Call.Name, how), body: res.Text}
}

const millis = 1000 // in a second
