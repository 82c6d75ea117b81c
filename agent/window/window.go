// Package window keeps what is sent to a model within its context window.
//
// It sits under agent, which asks it before every request. First form: it
// estimates tokens, caps what a single tool result may bring in, and when the
// transcript grows too large replaces tool results that are superseded or old.
//
// Invariants: messages are never removed, so calls and results stay paired and
// reasoning blocks stay as they were; only the text of tool results changes;
// what was replaced once stays replaced, so that the vendor's cached prefix
// changes as rarely as possible.
//
// To add a step: a function over [pass] in compact.go, tried only when the
// ones before it did not free enough.
package window

import (
	"github.com/greenwright/greenwright/agent/model"
)

// The thresholds of RUNTIME 1.3 and 1.4.
const (
	// BytesPerToken is the estimate for text and code.
	BytesPerToken = 3.5
	triggerShare  = 0.75 // of the usable window: compact
	targetShare   = 0.40 // of the usable window: stop compacting
	itemShare     = 0.25 // of the usable window: the most one result may take
	minReserve    = 16_000
	reserveShare  = 0.10
	// messageOverhead is what roles, ids and separators cost per part.
	messageOverhead = 8
)

// Window estimates and compacts for one run. It is for one goroutine.
type Window struct {
	usable int
	factor float64 // reported over estimated tokens, learnt from replies
}

// New makes a window for a model with so many tokens of context, of which the
// larger of 16,000 and a tenth (never more than half) is kept for the reply.
func New(tokens int) *Window {
	reserve := max(minReserve, int(float64(tokens)*reserveShare))
	return &Window{usable: tokens - min(reserve, tokens/2), factor: 1}
}

// Usable is how many tokens a request may have.
func (w *Window) Usable() int { return w.usable }

// ItemBytes is how many bytes one tool result may bring in.
func (w *Window) ItemBytes() int { return int(float64(w.usable) * itemShare * BytesPerToken) }

// Estimate is about how many tokens req takes.
func (w *Window) Estimate(req model.Request) int {
	bytes := 0
	for _, s := range req.System {
		bytes += len(s)
	}
	for _, t := range req.Tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	parts := 0
	for _, m := range req.Messages {
		parts += len(m.Parts)
		bytes += messageBytes(m)
	}
	return int((float64(bytes)/BytesPerToken + float64(parts*messageOverhead)) * w.factor)
}

func messageBytes(m model.Message) int {
	n := 0
	for _, p := range m.Parts {
		n += len(p.Text)
		if p.Thinking != nil {
			n += len(p.Thinking.Data)
		}
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.Arguments)
		}
		if p.Result != nil {
			n += len(p.Result.Text)
		}
	}
	return n
}

// Observe corrects the estimate by what the vendor reported for a request that
// was estimated at so many tokens. Single odd reports are damped and the
// factor stays between a half and three.
func (w *Window) Observe(estimated int, reported int64) {
	const minSample = 500 // too small a request says nothing
	if estimated < minSample || reported < minSample {
		return
	}
	ratio := float64(reported) / float64(estimated) * w.factor
	w.factor = min(max((w.factor+ratio)/2, 0.5), 3)
}

// Full says that a request of so many tokens should be compacted first.
func (w *Window) Full(estimated int) bool {
	return float64(estimated) > float64(w.usable)*triggerShare
}
