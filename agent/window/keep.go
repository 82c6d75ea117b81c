package window

import "github.com/greenwright/greenwright/agent/model"

// Figures is what a window has learnt of the server and of its last request,
// beside the transcript.
type Figures struct {
	Tokens   int     `json:"tokens"` // of the window
	Usable   int     `json:"usable"`
	Factor   float64 `json:"factor"`
	Sent     float64 `json:"sent,omitempty"`
	Reported int64   `json:"reported,omitempty"`
}

// Figures gives what was learnt.
func (w *Window) Figures() Figures {
	return Figures{Tokens: w.tokens, Usable: w.usable, Factor: w.factor, Sent: w.sent, Reported: w.reported}
}

// Restore puts a transcript and what was learnt in the place of what there is.
// Figures of a window of another size than this one are left out, so that an
// operator may give a run another model.
func (w *Window) Restore(messages []model.Message, f Figures) {
	w.messages, w.sizes, w.total = nil, nil, 0
	for _, m := range messages {
		w.Append(m)
	}
	if f.Tokens <= 0 || f.Tokens > w.tokens || f.Usable <= 0 || f.Factor <= 0 {
		return
	}
	w.tokens, w.usable, w.factor, w.sent, w.reported = f.Tokens, f.Usable, f.Factor, f.Sent, f.Reported
}

// Rewritten counts the changes of messages that were in the transcript before:
// as long as it stays the same the transcript has only grown.
func (w *Window) Rewritten() int { return w.rewritten }
