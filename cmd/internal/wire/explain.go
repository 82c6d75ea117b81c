package wire

import (
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/githubhook"
	"github.com/greenwright/greenwright/webhook/gitlabhook"
)

// ExplainOptions are the facts that a stored payload does not hold.
type ExplainOptions struct {
	Forge vcs.ForgeName
	Event string // the forge's name of it; GitLab's payloads tell it
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
	parser, err := explainer(cfg.Forges, opts.Forge)
	if err != nil {
		return Explanation{}, err
	}
	if opts.Event, err = eventName(opts, body); err != nil {
		return Explanation{}, err
	}
	glance, err := parser.Peek(opts.Event, body)
	switch {
	case err != nil:
		return unread(err)
	case opts.Self.ID != 0 && glance.Sender == opts.Self.ID:
		return Explanation{Decision: trigger.Ignored, Reason: "own event"}, nil
	case glance.Ignore != "":
		return Explanation{Decision: trigger.Ignored, Reason: glance.Ignore}, nil
	}
	ev, err := parser.Parse(opts.Event, "explain", body)
	if err != nil {
		return unread(err)
	}
	return explain(rules(cfg, opts.Self), ev, opts), nil
}

// explainer reads a forge's payloads, whether or not it is configured.
func explainer(cfg config.Forges, forge vcs.ForgeName) (webhook.Parser, error) {
	switch forge {
	case vcs.GitHub:
		var opts []githubhook.Option
		if cfg.GitHub != nil && cfg.GitHub.AppID != 0 {
			opts = append(opts, githubhook.WithAppID(cfg.GitHub.AppID))
		}
		return githubhook.New([]vcs.Secret{anySecret}, opts...)
	case vcs.GitLab:
		hook := gitlabhook.Config{Tokens: []gitlabhook.Token{{Secret: anySecret}}}
		if cfg.GitLab != nil {
			hook.BaseURL = cfg.GitLab.BaseURL
		}
		return gitlabhook.New(hook)
	default:
		return nil, fmt.Errorf("%w: forge %q: this version knows %s and %s", vcs.ErrInvalid, forge, vcs.GitHub, vcs.GitLab)
	}
}

// eventName is the event's name when it is not given, as far as the forge's
// payloads tell it.
func eventName(opts ExplainOptions, body []byte) (string, error) {
	if opts.Event != "" {
		return opts.Event, nil
	}
	if opts.Forge != vcs.GitLab {
		return "", errors.New("the event's name is needed: --event issue_comment, as in the header " + githubhook.HeaderEvent)
	}
	name, err := gitlabhook.EventName(body)
	if err != nil {
		return "", fmt.Errorf("the event's name is needed: --event \"Note Hook\", as in the header %s: %w", gitlabhook.HeaderEvent, err)
	}
	return name, nil
}

// unread is what is done about a payload that cannot be used: where the forge
// counts refusals it is ignored, and elsewhere refused.
func unread(err error) (Explanation, error) {
	if errors.Is(err, webhook.ErrUnusable) {
		return Explanation{Decision: trigger.Ignored, Reason: err.Error()}, nil
	}
	return Explanation{}, err
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
	req := policy.Request{Actor: ev.Actor, Self: r.Self, Repo: ev.Repo.RepoRef, Verb: p.Verb(), Options: p.Command.Options, Permission: opts.Permission, PermissionKnown: true, Hidden: ev.Hidden()}
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
