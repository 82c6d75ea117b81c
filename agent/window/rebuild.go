package window

import (
	"fmt"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

// Tail is the index of the first message of the latest part that a summary
// leaves as it is: whole replies with their results, at most [KeepShare] of the
// usable window, at least the last reply. It is the length of the transcript
// when there is no reply yet.
func (w *Window) Tail() int {
	from, size := len(w.messages), 0.0
	most := float64(w.usable) * KeepShare
	for i := len(w.messages) - 1; i > 0; i-- {
		size += w.sizes[i] * w.factor
		if w.messages[i].Role != model.RoleAssistant {
			continue
		}
		if size > most && from < len(w.messages) {
			break
		}
		from = i
	}
	return from
}

// Reply is the index of the last reply, the length of the transcript when there
// is none: what comes from there on the model has perhaps not seen yet.
func (w *Window) Reply() int {
	for i := len(w.messages) - 1; i > 0; i-- {
		if w.messages[i].Role == model.RoleAssistant {
			return i
		}
	}
	return len(w.messages)
}

// Rebuild puts head in the place of the messages before from. It changes
// nothing, and reports so, when that would not make the transcript smaller.
func (w *Window) Rebuild(step Step, head []model.Message, from int) Report {
	report := Report{Step: step, Before: w.Tokens()}
	old := *w
	w.messages = slices.Concat(head, w.messages[from:])
	w.sizes, w.total, w.reported = make([]float64, len(w.messages)), 0, 0
	for i, m := range w.messages {
		w.sizes[i] = float64(model.EstimateMessage(m))
		w.total += w.sizes[i]
	}
	report.After = w.Tokens()
	if report.After >= report.Before {
		*w = old
		report.After = report.Before
		return report
	}
	w.rewritten++
	kept := make(map[string]bool)
	for _, m := range old.messages[from:] {
		for _, c := range m.Calls() {
			kept[identity(c)] = true
		}
	}
	for _, m := range old.messages[:from] {
		for _, c := range m.Calls() {
			if !kept[identity(c)] {
				report.Dropped = append(report.Dropped, c)
			}
		}
	}
	return report
}

// maxRendered is how much of one result goes into the text to be summarised.
const maxRendered = 2_000

// Render writes the messages before to as text for whoever summarises them, at
// most so many bytes: what is too much is left out of the middle.
func (w *Window) Render(to, most int) string {
	pieces := make([]string, 0, to)
	for _, m := range w.messages[:to] {
		for _, p := range m.Parts {
			if text := render(m.Role, p); text != "" {
				pieces = append(pieces, text)
			}
		}
	}
	return fit(pieces, most)
}

func render(role model.Role, p model.Part) string {
	switch {
	case p.Call != nil:
		return fmt.Sprintf("CALL %s %s\n", p.Call.Name, clip(string(p.Call.Arguments)))
	case p.Result != nil:
		return "RESULT " + clip(p.Result.Text) + "\n"
	case p.Text != "":
		return strings.ToUpper(string(role)) + ": " + clip(p.Text) + "\n"
	}
	return ""
}

func clip(s string) string {
	if len(s) <= maxRendered {
		return s
	}
	head, tail := s[:maxRendered/2], s[len(s)-maxRendered/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf(" [… %d bytes …] ", len(s)-maxRendered) + strings.ToValidUTF8(tail, "")
}

// fit joins the pieces; the first fifth of the room and the last four are kept.
func fit(pieces []string, most int) string {
	total := 0
	for _, p := range pieces {
		total += len(p)
	}
	if total <= most {
		return strings.Join(pieces, "")
	}
	head, size := 0, 0
	for head < len(pieces) && size+len(pieces[head]) <= most/5 {
		size += len(pieces[head])
		head++
	}
	tail := len(pieces)
	for tail > head && size+len(pieces[tail-1]) <= most {
		tail--
		size += len(pieces[tail])
	}
	return strings.Join(pieces[:head], "") + fmt.Sprintf("[… %d entries left out …]\n", tail-head) + strings.Join(pieces[tail:], "")
}
