package dispatch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/control"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
)

// Config is what a Dispatcher is made of.
type Config struct {
	Forges map[vcs.ForgeName]vcs.Forge
	// Rules gives a forge's rules with Self filled in.
	Rules func(ctx context.Context, forge vcs.ForgeName) (trigger.Rules, error)
	Store *store.Store
	Queue enqueuer
	// Control carries out what people ask about jobs that are there.
	Control func(ctx context.Context, r control.Request) (control.Answer, error)
	// Workers is how many jobs run side by side; 0 when that is not known.
	Workers int
	Log     *slog.Logger
	Now     func() time.Time
}

// Dispatcher handles events. It is safe for concurrent use.
type Dispatcher struct {
	cfg Config
}

// New makes a Dispatcher.
func New(cfg Config) *Dispatcher { return &Dispatcher{cfg: cfg} }

// handling is one event being handled.
type handling struct {
	*Dispatcher
	ev    vcs.Event
	forge vcs.Forge
	rules trigger.Rules
	log   *slog.Logger
	index int // of the proposal that is carried out
}

// Handle does what the event asks for. An error without a class is final; a
// retryable one means that nothing was decided, or only part of it done.
func (d *Dispatcher) Handle(ctx context.Context, ev vcs.Event) error {
	forge, ok := d.cfg.Forges[ev.Forge]
	if !ok {
		return fmt.Errorf("%w: no forge %q is configured", vcs.ErrInvalid, ev.Forge)
	}
	rules, err := d.cfg.Rules(ctx, ev.Forge)
	if err != nil {
		return retryable("asking the forge who we are", err)
	}
	h := &handling{Dispatcher: d, ev: ev, forge: forge, rules: rules, log: d.cfg.Log.With("delivery_id", ev.DeliveryID, "repo", ev.Repo.FullName())}
	for i, p := range rules.Decide(ev) {
		h.index = i
		if err := h.do(ctx, p); err != nil {
			return fmt.Errorf("handling %s of delivery %s: %w", p.Decision, ev.DeliveryID, err)
		}
	}
	return nil
}

func (h *handling) do(ctx context.Context, p trigger.Proposal) error {
	if p.Decision == trigger.Ignored {
		h.log.Info("event ignored", "reason", p.Reason)
		return nil
	}
	if p.Once {
		if before, err := h.askedBefore(ctx, p); before || err != nil {
			return err
		}
	}
	if p.Kind == jobs.KindCheckRepair {
		return h.repairCheck(ctx, p)
	}
	permission, decision, err := h.authorise(ctx, p)
	if err != nil {
		return err
	}
	h.log.Info("decided", "decision", p.Decision, "kind", p.Kind, "actor", h.ev.Actor.Login, "effect", decision.Effect, "reason", decision.Reason)
	if !decision.Allowed() {
		if decision.Reply {
			return h.reply(ctx, "Not done: "+decision.Reason+".")
		}
		return nil
	}
	switch p.Decision {
	case trigger.Job:
		return h.startJob(ctx, h.job(p, permission))
	case trigger.Control:
		return h.control(ctx, p, permission)
	case trigger.Reply, trigger.Message:
		return h.answer(ctx, p)
	case trigger.Ignored:
	}
	return nil
}

// authorise asks the forge for the actor's permission and policy for the
// rest (rules A1, A2). A forge that is away is asked again later; any other
// error counts as "not known", which denies.
func (h *handling) authorise(ctx context.Context, p trigger.Proposal) (vcs.Permission, policy.Decision, error) {
	req := policy.Request{Actor: h.ev.Actor, Self: h.rules.Self, Repo: h.ev.Repo.RepoRef, Verb: p.Verb(), Options: p.Command.Options, Hidden: h.ev.Hidden()}
	if d := h.rules.Policy.Admit(req.Actor, req.Self, req.Repo); !d.Allowed() {
		return vcs.PermissionNone, d, nil // nobody is asked about a bot or a repository that is closed
	}
	var err error
	if req.Actor, err = h.account(ctx); err != nil {
		return vcs.PermissionNone, policy.Decision{}, err
	}
	permission, err := h.forge.Permission(ctx, h.ev.Repo.RepoRef, h.ev.Actor)
	if errors.Is(err, vcs.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return permission, policy.Decision{}, retryable("asking for the permission of "+h.ev.Actor.Login, err)
	}
	if err != nil {
		h.log.Warn("permission is not known", "actor", h.ev.Actor.Login, "error", err)
		permission = vcs.PermissionNone
	}
	req.Permission, req.PermissionKnown = permission, err == nil
	if d := h.rules.Policy.Decide(req); !d.Allowed() {
		return permission, d, nil // no more is asked for somebody who may not
	}
	if p.Decision == trigger.Job && h.ev.Thread.PullRequest && p.Kind.Changes() {
		pr, err := h.forge.PullRequest(ctx, h.ev.Thread)
		if err != nil {
			return permission, policy.Decision{}, fromForge("reading the pull request", err)
		}
		req.FromFork = pr.FromFork()
	}
	return permission, h.rules.Policy.Decide(req), nil
}

// account is the actor; a forge whose events do not tell bots from people is
// asked (rule L2). Who it is not known of is no person.
func (h *handling) account(ctx context.Context) (vcs.Actor, error) {
	actor := h.ev.Actor
	reader, ok := h.forge.(vcs.AccountReader)
	if !ok {
		return actor, nil
	}
	known, err := reader.Account(ctx, actor)
	if errors.Is(err, vcs.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return actor, retryable("asking who "+actor.Login+" is", err)
	}
	if err != nil {
		h.log.Warn("account is not known", "actor", actor.Login, "error", err)
		return vcs.Actor{ID: actor.ID, Login: actor.Login}, nil
	}
	return known, nil
}

// askedFor is how long a comment may be edited so that it counts, and some.
const askedFor = time.Hour

// askedBefore reports that another event about the same comment has asked the
// same: an edit that leaves a command as it was asks for nothing (rule T6).
func (h *handling) askedBefore(ctx context.Context, p trigger.Proposal) (bool, error) {
	what, err := json.Marshal(p.Command)
	if err != nil {
		return false, fmt.Errorf("naming a command: %w", err)
	}
	if p.Problem != nil {
		what = []byte("problem") // one reply per comment (rule T4)
	}
	name := string(jobID(h.ev.Thread.Key() + "|" + strconv.FormatInt(h.ev.Comment.ID, 10) + "|" + string(what)))
	first, err := h.cfg.Store.First(ctx, "asked:"+name, h.ev.Key()+"|"+strconv.Itoa(h.index), askedFor)
	if err == nil && !first {
		h.log.Info("event ignored", "reason", "the comment asked for this before")
	}
	return !first, err
}

// control does what somebody asks about a job that is there, and answers.
func (h *handling) control(ctx context.Context, p trigger.Proposal, permission vcs.Permission) error {
	req := control.Request{
		Verb: p.Command.Verb, Thread: h.ev.Thread, By: h.ev.Actor, Permission: permission, Text: p.Command.Text, Options: p.Command.Options, Internal: h.ev.Internal(),
		Key: h.ev.Key() + "|" + strconv.Itoa(h.index), At: h.ev.ReceivedAt,
	}
	if h.ev.Comment != nil {
		req.Comment, req.Written = h.ev.Comment.CommentRef, h.ev.Comment.CreatedAt
		if h.ev.Edited() {
			req.Written = h.ev.Comment.UpdatedAt
		}
	}
	if req.At.IsZero() {
		req.At = h.cfg.Now()
	}
	answer, err := h.cfg.Control(ctx, req)
	if err != nil {
		return err
	}
	h.log.Info("request carried out", "verb", req.Verb, "job_id", answer.Job, "refused", answer.Refused)
	if answer.Text == "" {
		return nil
	}
	return h.reply(ctx, answer.Text)
}

// job makes the job that a proposal asks for. Its id is the same however
// often the event is handled.
func (h *handling) job(p trigger.Proposal, permission vcs.Permission) jobs.Job {
	key := h.ev.Key() + "|" + strconv.Itoa(h.index)
	job := jobs.Job{
		ID: jobID(key), Kind: p.Kind, Thread: h.ev.Thread, Command: p.Command, Requester: h.ev.Actor, Permission: permission,
		EventKey: key, CreatedAt: h.ev.ReceivedAt, Check: h.ev.Check, Internal: h.ev.Internal(),
	}
	if i := h.ev.Issue; i != nil {
		job.Opening = jobs.TextHash(i.Title, i.Body)
	} else if p := h.ev.PullRequest; p != nil {
		job.Opening = jobs.TextHash(p.Title, p.Body)
	}
	if h.ev.Comment != nil {
		job.Comment = h.ev.Comment.CommentRef
	} else {
		job.Comment = vcs.CommentRef{Kind: vcs.ThreadBody}
	}
	if h.ev.Review != nil && h.ev.Kind == vcs.EventReview {
		job.Review, job.Partial = h.ev.Review.ID, h.ev.Review.Partial
		if !job.Partial {
			job.Comment = vcs.CommentRef{Kind: vcs.ReviewSummary, ID: h.ev.Review.ID}
		}
	}
	if job.CreatedAt.IsZero() {
		job.CreatedAt = h.cfg.Now()
	}
	return job
}

func jobID(key string) jobs.JobID {
	sum := sha256.Sum256([]byte("job|" + key))
	return jobs.JobID(hex.EncodeToString(sum[:8]))
}

func retryable(doing string, err error) error {
	var limited *vcs.RateLimitError
	wrapped := fmt.Errorf("%s: %w", doing, err)
	if errors.As(err, &limited) {
		return &jobs.ClassError{Class: jobs.Retryable, RetryAt: limited.RetryAt, Err: wrapped}
	}
	return jobs.Classify(jobs.Retryable, wrapped)
}

// fromForge classifies an error of the forge.
func fromForge(doing string, err error) error {
	if errors.Is(err, vcs.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jobs.ErrUnavailable) {
		return retryable(doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
