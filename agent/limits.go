package agent

import "time"

// The defaults of [Limits]; steps, calls and wall clock are RUNTIME 1.2's.
const (
	DefaultSteps           = 120
	DefaultAnswerSteps     = 30
	DefaultToolCalls       = 300
	DefaultWallClock       = 45 * time.Minute
	DefaultMaxOutputTokens = 16_000
	// DefaultContextTokens is the smallest window among the hosted models
	// that the drivers are used with.
	DefaultContextTokens = 128_000
)

// Limits are the ceilings of one run. A zero field takes its default; where
// the comment names none, zero means no ceiling.
type Limits struct {
	// Steps is how many model calls; [DefaultSteps], or [DefaultAnswerSteps]
	// for a task of [KindAnswer].
	Steps int
	// ToolCalls is how many calls may run; [DefaultToolCalls].
	ToolCalls int
	// WallClock is how long the run may take; [DefaultWallClock].
	WallClock time.Duration
	// MaxOutputTokens caps one reply; [DefaultMaxOutputTokens].
	MaxOutputTokens int
	// ContextTokens is the model's window; [DefaultContextTokens].
	ContextTokens int
	// InputTokens and OutputTokens cap what all replies used together;
	// cached input counts.
	InputTokens, OutputTokens int64
	// CostMicroUSD caps what replies say that they cost (see model.WithPrice),
	// in millionths of a US dollar.
	CostMicroUSD int64
}

func (l Limits) withDefaults(kind TaskKind) Limits {
	steps := DefaultSteps
	if kind == KindAnswer {
		steps = DefaultAnswerSteps
	}
	l.Steps = positive(l.Steps, steps)
	l.ToolCalls = positive(l.ToolCalls, DefaultToolCalls)
	l.WallClock = positive(l.WallClock, DefaultWallClock)
	l.MaxOutputTokens = positive(l.MaxOutputTokens, DefaultMaxOutputTokens)
	l.ContextTokens = positive(l.ContextTokens, DefaultContextTokens)
	return l
}

func positive[T int | time.Duration](v, def T) T {
	if v > 0 {
		return v
	}
	return def
}
