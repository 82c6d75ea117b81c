// Package window holds the transcript of a run and keeps what is sent to a
// model within its context window.
//
// It sits under agent, which appends to it, asks it before every request, and
// lets it compact. Four steps, from cheap to costly: results that are
// superseded become one line; old results keep their first and last lines; a
// summary, which agent lets a model write, takes the place of everything but
// the latest part; a hard reset leaves only what the platform knows by itself.
//
// Invariants: the transcript only grows between compactions, so that a vendor's
// cached prefix stays valid; the first two steps change nothing but the text of
// results, so calls and results stay paired and reasoning stays byte for byte
// what it was; the last two remove whole replies together with their results;
// no single result takes more than [ItemShare] of the window.
//
// To add a step: a [Step] and its function in compact.go, and its place in the
// order in which agent tries them.
package window

import (
	"github.com/greenwright/greenwright/agent/model"
)

// The shares and sizes of RUNTIME 1.3 and 1.4. Shares are of the usable window.
const (
	TriggerShare   = 0.75 // compact above it
	TargetShare    = 0.40 // stop compacting below it
	SummariseShare = 0.55 // below it a summary, which costs a request, can wait
	ItemShare      = 0.25 // the most one result may take
	ReplyShare     = 0.40 // the most that all results of one reply may take
	FixedShare     = 0.15 // the most that instructions, task and map may take
	PinnedShare    = 0.20 // the most that quoted code may take after a compaction
	SummaryShare   = 0.08 // the most a summary may take
	KeepShare      = 0.25 // what a summary leaves of the transcript as it is
	minReserve     = 16_000
	reserveShare   = 0.10
)

// Window is the transcript of one run and its measure. It is for one goroutine.
type Window struct {
	tokens   int     // the model's window
	usable   int     // of it, for a request
	fixed    float64 // tokens of instructions and tools
	messages []model.Message
	sizes    []float64 // estimated tokens of each message, before factor
	total    float64   // their sum
	factor   float64   // reported over estimated tokens, learnt from replies

	sent     float64 // estimate of the request that was sent last, before factor
	reported int64   // what the vendor said of it; 0 when it is not known

	rewritten int // see Rewritten
}

// New makes a window for a model with so many tokens of context, of which the
// larger of 16,000 and a tenth (never more than half) is kept for the reply.
func New(tokens int) *Window {
	w := &Window{factor: 1}
	w.resize(tokens)
	return w
}

func (w *Window) resize(tokens int) {
	w.tokens = tokens
	reserve := max(minReserve, int(float64(tokens)*reserveShare))
	w.usable = tokens - min(reserve, tokens/2)
}

// SetFixed tells what stands before the transcript in every request.
func (w *Window) SetFixed(system []string, tools []model.ToolSpec) {
	w.fixed = float64(model.EstimateFixed(system, tools))
}

// Append adds a message to the transcript.
func (w *Window) Append(m model.Message) {
	size := float64(model.EstimateMessage(m))
	w.messages = append(w.messages, m)
	w.sizes = append(w.sizes, size)
	w.total += size
}

// Messages is the transcript as it is to be sent. The caller does not change
// it; it is valid until the next compaction.
func (w *Window) Messages() []model.Message { return w.messages }

// Usable is how many tokens a request may have.
func (w *Window) Usable() int { return w.usable }

// Bytes is how many bytes of text fit into a share of the window.
func (w *Window) Bytes(share float64) int {
	return int(float64(w.usable) * share * model.BytesPerToken)
}

// ItemBytes is how many bytes one tool result may bring in.
func (w *Window) ItemBytes() int { return w.Bytes(ItemShare) }

// Tokens is about how many tokens the next request takes: what the vendor
// reported for the last one and an estimate of what was added since.
func (w *Window) Tokens() int {
	if w.reported > 0 {
		return int(float64(w.reported) + (w.fixed+w.total-w.sent)*w.factor)
	}
	return int((w.fixed + w.total) * w.factor)
}

// Sent notes that the transcript as it is was sent, and how many tokens the
// vendor counted (0 when it did not say). Single odd reports are damped; one
// below half of the estimate or above three times it is not believed.
func (w *Window) Sent(reported int64) {
	const minSample = 500 // too small a request says nothing
	w.sent, w.reported = w.fixed+w.total, 0
	if w.sent < minSample || reported < minSample {
		return
	}
	ratio := float64(reported) / w.sent
	if ratio < 0.5 || ratio > 3 {
		return // a server that does not count
	}
	w.reported = reported
	w.factor = min(max((w.factor+ratio)/2, 0.5), 3)
}

// Refused takes the numbers of a server that said a request was too long:
// the limit it named and the tokens it counted, each 0 when it did not say.
// Without a limit, what was just sent is more than it takes.
func (w *Window) Refused(limit, asked int) {
	switch {
	case limit > 0:
		w.resize(min(limit, w.tokens))
	case asked == 0:
		w.usable = min(w.usable, w.Tokens()*9/10)
	}
	if estimate := w.fixed + w.total; asked > 0 && estimate > 0 {
		w.factor = min(max(float64(asked)/estimate, 0.5), 3)
	}
	w.reported = 0
}

// Full says that the next request should be compacted first.
func (w *Window) Full() bool { return w.Tokens() > w.filled(TriggerShare) }

// Fits says that the next request may be sent.
func (w *Window) Fits() bool { return w.Tokens() <= w.usable }

// Reached says that the target of a compaction is reached.
func (w *Window) Reached() bool { return w.Tokens() <= w.filled(TargetShare) }

// Roomy says that there is room enough to go on without a summary.
func (w *Window) Roomy() bool { return w.Tokens() <= w.filled(SummariseShare) }

// filled is how many tokens a request has whose transcript takes a share of
// the room that instructions and tools leave.
func (w *Window) filled(share float64) int {
	fixed := min(w.fixed*w.factor, float64(w.usable))
	return int(fixed + (float64(w.usable)-fixed)*share)
}
