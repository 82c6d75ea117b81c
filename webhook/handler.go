package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// Config is what an operator may set. The zero value is the default.
type Config struct {
	// MaxBody is the largest body in bytes; 0 means 25 MB, GitHub's own cap
	// (docs.github.com/webhooks/webhook-events-and-payloads#payload-cap) and
	// GitLab's.
	MaxBody int64
	// ReadTimeout bounds the reading of a body; 0 means 10 s, the time after
	// which GitHub and GitLab give up on a delivery.
	ReadTimeout time.Duration
	// AcceptTimeout bounds Sink.Accept; 0 means 5 s, so that the answer still
	// reaches the forge within its own 10 s.
	AcceptTimeout time.Duration
}

const (
	defaultMaxBody       = 25 << 20
	defaultReadTimeout   = 10 * time.Second
	defaultAcceptTimeout = 5 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	if c.MaxBody < 0 || c.ReadTimeout < 0 || c.AcceptTimeout < 0 {
		return c, fmt.Errorf("%w: webhook limits must not be negative", vcs.ErrInvalid)
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = defaultReadTimeout
	}
	if c.AcceptTimeout == 0 {
		c.AcceptTimeout = defaultAcceptTimeout
	}
	return c, nil
}

// Option sets an optional collaborator of a Handler.
type Option func(*Handler)

// WithObserver reports every request to o.
func WithObserver(o Observer) Option { return func(h *Handler) { h.observer = o } }

// WithSelf drops events caused by the accounts whose ids self returns (rule
// L1). It is called once per request and must be cheap; it may return nothing
// while the ids are not known yet.
func WithSelf(self func() []int64) Option { return func(h *Handler) { h.self = self } }

// Handler is the http.Handler of one forge's webhook endpoint.
type Handler struct {
	parser   Parser
	sink     Sink
	cfg      Config
	log      *slog.Logger
	observer Observer
	self     func() []int64
	now      func() time.Time
	bodies   *bodies
}

// New returns a handler that verifies and parses with p and hands to s.
func New(p Parser, s Sink, cfg Config, log *slog.Logger, opts ...Option) (*Handler, error) {
	if p == nil || s == nil || log == nil {
		return nil, fmt.Errorf("%w: webhook needs a parser, a sink and a logger", vcs.ErrInvalid)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Handler{
		parser: p, sink: s, cfg: cfg, log: log,
		observer: nobody{}, self: func() []int64 { return nil }, now: time.Now,
		bodies: newBodies(),
	}
	for _, o := range opts {
		o(h)
	}
	return h, nil
}

type nobody struct{}

func (nobody) Delivery(string, string, time.Duration) {}

// ServeHTTP answers one delivery: 202 stored, 200 ignored or duplicate, 400,
// 401, 405, 413, 415 refused, 503 when it could not be stored. A forge that
// does not deliver again loses a delivery that was answered with 503, and shows
// it to its people as failed; 200 would hide the loss.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.now()
	var env Envelope
	a := h.guard(w, r, &env)
	a.write(w)
	d := h.now().Sub(start)
	h.observer.Delivery(a.outcome, a.reason, d)
	h.report(r.Context(), env, a, d)
}

// guard turns a panic anywhere below into a 500.
func (h *Handler) guard(w http.ResponseWriter, r *http.Request, env *Envelope) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			h.log.ErrorContext(r.Context(), "panic while handling a delivery",
				"delivery_id", env.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			a = failed(http.StatusInternalServerError, "internal error")
		}
	}()
	return h.handle(w, r, env)
}

func (h *Handler) handle(w http.ResponseWriter, r *http.Request, env *Envelope) answer {
	if a, ok := precheck(r, h.cfg.MaxBody); !ok {
		return a
	}
	opened, err := h.parser.Open(r.Header)
	if err != nil {
		return fromError(err, "bad header")
	}
	*env = opened
	b, a, ok := h.bodies.read(w, r, h.cfg, h.now)
	if !ok {
		return a
	}
	defer h.bodies.release(b)
	grant, err := h.parser.Verify(opened, b.buf.Bytes())
	if err != nil {
		return fromError(err, "unauthorized")
	}
	payload, err := payloadOf(r, b.buf.Bytes())
	if err != nil {
		return refused(http.StatusBadRequest, "malformed form", err)
	}
	return h.process(r.Context(), opened, grant, payload)
}

// process looks at a verified payload, and stores what is of interest.
func (h *Handler) process(ctx context.Context, env Envelope, grant Grant, payload []byte) answer {
	g, err := h.parser.Peek(env.Name, payload)
	if err != nil {
		return unread(err)
	}
	if !g.Repo.IsZero() && !grant.Covers(g.Repo) {
		return outside()
	}
	if g.Sender != 0 && slices.Contains(h.self(), g.Sender) {
		return ignored("own event")
	}
	if g.Ignore != "" {
		return ignored(g.Ignore)
	}
	e, err := h.parser.Parse(env.Name, env.ID, payload)
	if err != nil {
		return unread(err)
	}
	if !grant.Covers(e.Repo.RepoRef) {
		return outside()
	}
	e.ReceivedAt = h.now().UTC()
	interesting, reason := h.sink.Triage(e)
	if !interesting {
		return ignored(reason)
	}
	return h.accept(ctx, Delivery{ID: env.ID, Event: e, Reason: reason})
}

func (h *Handler) accept(ctx context.Context, d Delivery) answer {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.AcceptTimeout)
	defer cancel()
	duplicate, err := h.sink.Accept(ctx, d)
	switch {
	case errors.Is(err, vcs.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded):
		return failed(http.StatusServiceUnavailable, "queue unavailable").because(err)
	case err != nil:
		return failed(http.StatusInternalServerError, "internal error").because(err)
	case duplicate:
		return answer{code: http.StatusOK, outcome: OutcomeDuplicate, reason: "seen before"}
	}
	return answer{code: http.StatusAccepted, outcome: OutcomeAccepted, reason: d.Reason}
}

// report writes the one log line of a request.
func (h *Handler) report(ctx context.Context, env Envelope, a answer, d time.Duration) {
	level := slog.LevelInfo
	switch {
	case a.outcome == OutcomeIgnored && a.err == nil:
		level = slog.LevelDebug
	case a.outcome == OutcomeRefused, a.outcome == OutcomeIgnored:
		level = slog.LevelWarn
	case a.outcome == OutcomeFailed:
		level = slog.LevelError
	}
	if !h.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("delivery_id", string(env.ID)), slog.String("event", env.Name),
		slog.String("outcome", a.outcome), slog.String("reason", a.reason),
		slog.Int("status", a.code), slog.Duration("took", d),
	}
	if a.err != nil {
		attrs = append(attrs, slog.String("error", a.err.Error()))
	}
	h.log.LogAttrs(ctx, level, "webhook delivery", attrs...)
}
