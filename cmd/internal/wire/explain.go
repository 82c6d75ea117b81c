package wire

import (
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/githubhook"
)

// ExplainOptions are the facts that a stored payload does not hold.
type ExplainOptions struct {
	Forge vcs.ForgeName
	Event string // the forge's name of it
	// Permission is what the forge would say of the actor.
	Permission vcs.Permission
	// Self is our own account; zero while it is not known.
	Self vcs.Actor
}

// Explanation is what would be done about an event, as JSON.
type Explanation struct {
	Decision trigger.Decision `json:"decision"`
	Kind     jobs.Kind        `json:"kind,omitempty"`
	Command  *CommandJSON     `json:"command,omitempty"`
	Commands []Explained      `json:"commands,omitempty"`
	Thread   *ThreadJSON      `json:"thread,omitempty"`
	Actor    string           `json:"actor,omitempty"`
	Reason   string           `json:"reason"`
	Key      string           `json:"key,omitempty"` // for dedupe
}

// Explained is one of several commands of a comment.
type Explained struct {
	Decision trigger.Decision `json:"decision"`
	Kind     jobs.Kind        `json:"kind,omitempty"`
	CommandJSON
	Reason string `json:"reason"`
}

// CommandJSON is a command.
type CommandJSON struct {
	Verb    jobs.Verb    `json:"verb"`
	Text    string       `json:"text"`
	Options jobs.Options `json:"options"`
}

// ThreadJSON is a thread.
type ThreadJSON struct {
	Repo        string `json:"repo"`
	Number      int    `json:"number"`
	PullRequest bool   `json:"pull_request"`
}

// anySecret satisfies the parser, which verifies nothing here: the payload is
// the operator's own file.
const anySecret = vcs.Secret("explain")

// Explain says what `serve` would do about a stored payload, by the same code.
func Explain(cfg config.Config, opts ExplainOptions, body []byte) (Explanation, error) {
	if opts.Forge != vcs.GitHub {
		return Explanation{}, fmt.Errorf("%w: forge %q: this version knows github", vcs.ErrInvalid, opts.Forge)
	}
	if opts.Event == "" {
		return Explanation{}, errors.New("the event's name is needed: --event issue_comment, as in the header X-GitHub-Event")
	}
	var popts []githubhook.Option
	if g := cfg.Forges.GitHub; g != nil && g.AppID != 0 {
		popts = append(popts, githubhook.WithAppID(g.AppID))
	}
	parser, err := githubhook.New([]vcs.Secret{anySecret}, popts...)
	if err != nil {
		return Explanation{}, err
	}
	glance, err := parser.Peek(opts.Event, body)
	if err != nil {
		return Explanation{}, err
	}
	if opts.Self.ID != 0 && glance.Sender == opts.Self.ID {
		return Explanation{Decision: trigger.Ignored, Reason: "own event"}, nil
	}
	if glance.Ignore != "" {
		return Explanation{Decision: trigger.Ignored, Reason: glance.Ignore}, nil
	}
	ev, err := parser.Parse(opts.Event, "explain", body)
	if err != nil {
		return Explanation{}, err
	}
	return explain(rules(cfg, opts.Self), ev, opts), nil
}

func explain(r trigger.Rules, ev vcs.Event, opts ExplainOptions) Explanation {
	proposals := r.Decide(ev)
	out := Explanation{Actor: ev.Actor.Login, Key: ev.Key()}
	if ev.Thread.Number != 0 {
		out.Thread = &ThreadJSON{Repo: ev.Repo.FullName(), Number: ev.Thread.Number, PullRequest: ev.Thread.PullRequest}
	}
	var all []Explained
	for _, p := range proposals {
		all = append(all, decide(r, ev, opts, p))
	}
	first := all[0]
	out.Decision, out.Kind, out.Reason = first.Decision, first.Kind, first.Reason
	if first.Verb != "" {
		out.Command = &first.CommandJSON
	}
	if len(all) > 1 {
		out.Commands = all
	}
	return out
}

// decide puts policy's word on a proposal, as the dispatcher does.
func decide(r trigger.Rules, ev vcs.Event, opts ExplainOptions, p trigger.Proposal) Explained {
	out := Explained{Decision: p.Decision, Kind: p.Kind, Reason: p.Reason, CommandJSON: CommandJSON{Verb: p.Command.Verb, Text: p.Command.Text, Options: p.Command.Options}}
	if p.Decision == trigger.Ignored || p.Kind == jobs.KindCheckRepair {
		return out
	}
	req := policy.Request{Actor: ev.Actor, Self: r.Self, Repo: ev.Repo.RepoRef, Verb: p.Verb(), Options: p.Command.Options, Permission: opts.Permission, PermissionKnown: true}
	if ev.PullRequest != nil && p.Decision == trigger.Job && p.Kind.Changes() && ev.PullRequest.Head.Repo.Name != "" {
		req.FromFork = ev.PullRequest.FromFork()
	}
	d := r.Policy.Decide(req)
	if d.Allowed() {
		return out
	}
	out.Decision, out.Reason = trigger.Ignored, d.Reason
	if d.Reply {
		out.Decision = trigger.Reply
	}
	return out
}
