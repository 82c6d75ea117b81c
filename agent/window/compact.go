package window

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

// Step is one way to make the transcript smaller.
type Step string

// The steps that need nothing but the transcript; see [Window.Rebuild] for
// the others.
const (
	// StepSuperseded replaces results that a later one stands for.
	StepSuperseded Step = "superseded"
	// StepShorten cuts old results to their first and last lines.
	StepShorten Step = "shorten"
	// StepSummary puts a summary in the place of everything but the latest part.
	StepSummary Step = "summary"
	// StepReset leaves what the platform knows by itself.
	StepReset Step = "reset"
)

// Report says what a step did.
type Report struct {
	Step          Step
	Before, After int // estimated tokens of the whole request
	// Dropped are the calls whose results are no longer shown in full and for
	// which no later result of the same call stands.
	Dropped []model.ToolCall
}

// The sizes of [StepShorten]: the first and last lines that stay of an old result.
const (
	oldHeadLines = 20
	oldTailLines = 40
	oldLineBytes = 400   // of each of those lines
	oldMinBytes  = 2_000 // smaller results are not worth a change of the prefix
	// oldShare is the most that an old result keeps of the window: in a small
	// one its lines alone would fill it.
	oldShare    = 0.02
	oldMinShare = 800 // bytes
)

// Reduce does [StepSuperseded] or [StepShorten], oldest results first, until
// the target is reached. The results of the latest reply are left alone.
func (w *Window) Reduce(step Step) Report {
	p := &pass{w: w, report: Report{Step: step, Before: w.Tokens()}}
	w.messages, w.sizes = slices.Clone(w.messages), slices.Clone(w.sizes) // requests hold the old ones
	p.index()
	switch step {
	case StepSuperseded:
		p.each(p.superseded)
	case StepShorten:
		p.each(p.shorten)
	case StepSummary, StepReset:
	}
	p.report.After = w.Tokens()
	if p.changes > 0 {
		w.reported = 0 // the vendor's count was of other text
		w.rewritten++
	}
	return p.report
}

// pass is the state of one step.
type pass struct {
	w       *Window
	calls   map[string]model.ToolCall
	last    map[string]int // where a call with these arguments appears last
	changed map[string]int // where a file is changed last
	recent  int            // messages from here on are left alone
	changes int            // results that are shown shorter
	report  Report
}

// index finds for each call where it is repeated and for each file where it is
// changed.
func (p *pass) index() {
	p.calls, p.last, p.changed = make(map[string]model.ToolCall), make(map[string]int), make(map[string]int)
	for i, m := range p.w.messages {
		for _, c := range m.Calls() {
			p.calls[c.ID] = c
			p.recent = i
		}
		for _, part := range m.Parts {
			if part.Result == nil || part.Result.Error { // what was refused stands for nothing
				continue
			}
			c := p.calls[part.Result.CallID]
			p.last[identity(c)] = i
			if changes(c.Name) {
				p.changed[pathOf(c)] = i
			}
		}
	}
}

// changes says that a tool replaces the content of the file at its path.
func changes(name string) bool {
	return name == "edit_file" || name == "write_file" || name == "delete_file" || name == "move_file"
}

// each offers every result before the recent messages to f, which returns the
// text to show instead and whether a later result stands for it.
func (p *pass) each(f func(at int, call model.ToolCall, text string) (string, bool)) {
	for i := 0; i < p.recent && !p.w.Reached(); i++ {
		if p.w.messages[i].Role != model.RoleTool {
			continue
		}
		m := p.w.messages[i]
		m.Parts = slices.Clone(m.Parts)
		for j, part := range m.Parts {
			if part.Result == nil {
				continue
			}
			call := p.calls[part.Result.CallID]
			text, stands := f(i, call, part.Result.Text)
			if len(text) >= len(part.Result.Text) {
				continue
			}
			changed := *part.Result
			changed.Text = text
			m.Parts[j].Result = &changed
			p.changes++
			if !stands {
				p.report.Dropped = append(p.report.Dropped, call)
			}
		}
		p.w.replace(i, m)
	}
}

func (w *Window) replace(i int, m model.Message) {
	w.total -= w.sizes[i]
	w.messages[i], w.sizes[i] = m, float64(model.EstimateMessage(m))
	w.total += w.sizes[i]
}

func (p *pass) superseded(at int, call model.ToolCall, text string) (string, bool) {
	switch {
	case p.last[identity(call)] > at:
		return fmt.Sprintf("[left out: %s was called again later with the same arguments]", call.Name), true
	case call.Name == "read_file" && p.changed[pathOf(call)] > at:
		return "[left out: the file was changed after this read]", false
	}
	return text, false
}

func (p *pass) shorten(_ int, _ model.ToolCall, text string) (string, bool) {
	if len(text) < oldMinBytes {
		return text, false
	}
	return shortest(Shorten(text), max(p.w.Bytes(oldShare), oldMinShare)), false
}

// shortest keeps so many bytes of a text, a third of them from its beginning.
func shortest(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := most/3, most-most/3
	return strings.ToValidUTF8(text[:head], "") + fmt.Sprintf("\n[… %d bytes left out to save room …]\n", len(text)-most) +
		strings.ToValidUTF8(text[len(text)-tail:], "")
}

// Shorten keeps the first and the last lines of a text, and of each no more
// than a few hundred bytes.
func Shorten(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		lines[i] = shortLine(l)
	}
	if len(lines) <= oldHeadLines+oldTailLines {
		return strings.Join(lines, "")
	}
	gone := len(lines) - oldHeadLines - oldTailLines
	return strings.Join(lines[:oldHeadLines], "") + fmt.Sprintf("[… %d lines left out to save room …]\n", gone) +
		strings.Join(lines[len(lines)-oldTailLines:], "")
}

func shortLine(l string) string {
	if len(l) <= oldLineBytes {
		return l
	}
	end := ""
	if strings.HasSuffix(l, "\n") {
		end = "\n"
	}
	return strings.ToValidUTF8(l[:oldLineBytes], "") + fmt.Sprintf(" [… %d bytes left out …]", len(l)-oldLineBytes) + end
}

// identity names a call by tool and canonical arguments.
func identity(c model.ToolCall) string {
	var v any
	if json.Unmarshal(c.Arguments, &v) != nil {
		return c.ID
	}
	canonical, err := json.Marshal(v)
	if err != nil {
		return c.ID
	}
	return c.Name + "\x00" + string(canonical)
}

func pathOf(c model.ToolCall) string {
	var a struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(c.Arguments, &a) != nil {
		return ""
	}
	return strings.TrimPrefix(a.Path, "/workspace/")
}
