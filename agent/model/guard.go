package model

import "fmt"

// MaxReplyBytes is how much text, reasoning and arguments of one reply are
// kept: a hundred times what a model writes when it works well, and little
// beside a worker's memory.
const MaxReplyBytes = 8 << 20

// Guard watches one reply while it streams and says when to stop reading:
// when it repeats itself or has become too large. The zero value is ready.
type Guard struct {
	text, thinking Repetition
	bytes          int
	reason         StopReason
	detail         string
}

// Text takes a piece of the visible text.
func (g *Guard) Text(s string) { g.feed(&g.text, s) }

// Thinking takes a piece of the reasoning.
func (g *Guard) Thinking(s string) { g.feed(&g.thinking, s) }

// Args takes a piece of a call's arguments; they may repeat themselves.
func (g *Guard) Args(s string) { g.add(len(s)) }

func (g *Guard) feed(r *Repetition, s string) {
	g.add(len(s))
	if g.reason == "" && r.Feed(s) {
		g.reason = StopRepetition
		g.detail = fmt.Sprintf("the reply wrote the same %d characters %d times", repeatChunk, repeatTimes)
	}
}

func (g *Guard) add(n int) {
	if g.bytes += n; g.reason == "" && g.bytes > MaxReplyBytes {
		g.TooLarge()
	}
}

// TooLarge says that the reply is larger than what is kept.
func (g *Guard) TooLarge() {
	g.reason = StopMaxTokens
	g.detail = fmt.Sprintf("the reply is larger than %d bytes", MaxReplyBytes)
}

// Stopped says whether to stop reading.
func (g *Guard) Stopped() bool { return g.reason != "" }

// Apply sets the reason on a reply that was stopped, marks the calls that were
// not whole by cutting the last one, and fills in a usage that the server had
// no occasion to report.
func (g *Guard) Apply(r *Response, req Request) {
	if !g.Stopped() {
		return
	}
	r.StopReason, r.StopDetail = g.reason, g.detail
	if calls := r.Message.Calls(); len(calls) > 0 {
		r.Message.cut(len(calls) - 1)
	}
	if r.Usage.InputTotal() == 0 {
		r.Usage.Input = int64(EstimateRequest(req))
	}
	r.Usage.Output = max(r.Usage.Output, int64(g.bytes*10/latinBytes))
}

// Seal finishes a reply in the way that is the same for all drivers; each
// calls it once, last, with its name and its window in tokens (0: not known).
// It names the model, repairs arguments within the limits of [Arguments], gives
// every call an id of its own, and marks what must not run: calls whose
// arguments never end, whatever the stop reason says, and all calls of a reply
// that was refused or that repeats itself. A reply to more than the window
// holds is an overflow.
func Seal(r Response, req Request, name string, window int) (Response, error) {
	if err := CheckWindow(r.Usage, window); err != nil {
		return Response{}, err
	}
	r.Model = name
	FixCallIDs(&r.Message, req.Messages)
	calls := 0
	for i, p := range r.Message.Parts {
		if p.Kind != PartToolCall || p.Call == nil {
			continue
		}
		calls++
		call := *p.Call
		if !call.Cut {
			call.Arguments = Arguments(call.Arguments)
			call.Cut = Truncated(call.Arguments)
		}
		if call.Cut {
			cutUnsaid(&r)
		}
		call.Cut = call.Cut || r.StopReason == StopRefusal || r.StopReason == StopRepetition
		r.Message.Parts[i].Call = &call
	}
	if calls > 0 && r.StopReason == StopEnd {
		r.StopReason = StopToolUse
	}
	return r, nil
}

// cutUnsaid corrects the stop reason of a server that did not say so.
func cutUnsaid(r *Response) {
	if r.StopReason == StopEnd || r.StopReason == StopToolUse {
		r.StopDetail = "the server said " + string(r.StopReason) + " although a call has no end"
		r.StopReason = StopMaxTokens
	}
}

// cut marks the n-th call of the message.
func (m *Message) cut(n int) {
	for i, p := range m.Parts {
		if p.Kind != PartToolCall || p.Call == nil {
			continue
		}
		if n == 0 {
			call := *p.Call
			call.Cut = true
			m.Parts[i].Call = &call
		}
		n--
	}
}

// CutLast marks the last part of a reply that the output limit ended, if it is
// a call: it was being written.
func CutLast(r *Response) {
	n := len(r.Message.Parts)
	if r.StopReason == StopMaxTokens && n > 0 && r.Message.Parts[n-1].Call != nil {
		r.Message.cut(len(r.Message.Calls()) - 1)
	}
}

// LimitUnsaid treats a reply that is as long as was allowed as one that the
// limit ended: compatible servers say "stop" although it did.
func LimitUnsaid(r *Response, req Request) {
	if req.MaxOutputTokens > 0 && r.Usage.Output >= int64(req.MaxOutputTokens) && (r.StopReason == StopEnd || r.StopReason == StopToolUse) {
		r.StopDetail = "the server said " + string(r.StopReason) + " although the reply is as long as was allowed"
		r.StopReason = StopMaxTokens
	}
}
