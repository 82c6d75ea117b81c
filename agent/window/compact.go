package window

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

// Report says what a compaction did.
type Report struct {
	Before, After int // estimated tokens of the messages
	// Dropped are the calls whose results are no longer shown in full.
	Dropped []model.ToolCall
}

// Enough says that at least a tenth was freed; less counts as a failure.
func (r Report) Enough() bool { return r.Before-r.After >= r.Before/10 && r.After < r.Before }

// The sizes of step 2: the first and last lines that stay of an old result.
const (
	oldHeadLines = 20
	oldTailLines = 40
	oldMinBytes  = 2_000 // smaller results are not worth a change of the prefix
)

// Compact returns the messages with tool results shortened until they are
// within the target, oldest first and cheapest step first. Hard goes on to
// replace every result but those of the last reply by one line. The input is
// not changed.
func (w *Window) Compact(messages []model.Message, hard bool) ([]model.Message, Report) {
	p := &pass{w: w, messages: slices.Clone(messages), calls: make(map[string]model.ToolCall)}
	p.index()
	p.report.Before = p.tokens()
	p.each(p.superseded)
	if !p.done() {
		p.each(p.shorten)
	}
	if hard {
		p.each(p.oneLine)
	}
	p.report.After = p.tokens()
	return p.messages, p.report
}

// pass is the state of one compaction.
type pass struct {
	w        *Window
	messages []model.Message
	calls    map[string]model.ToolCall
	last     map[string]int // where a call with these arguments appears last
	changed  map[string]int // where a file is changed last
	recent   int            // messages from here on are left alone
	report   Report
}

func (p *pass) tokens() int { return p.w.Estimate(model.Request{Messages: p.messages}) }

func (p *pass) done() bool {
	return float64(p.tokens()) <= float64(p.w.usable)*targetShare
}

// index finds for each call where it is repeated and for each file where it is
// changed. The messages of the last reply with calls are recent.
func (p *pass) index() {
	p.last, p.changed = make(map[string]int), make(map[string]int)
	for i, m := range p.messages {
		for _, c := range m.Calls() {
			p.calls[c.ID] = c
			p.last[identity(c)] = i
			if c.Name == "edit_file" || c.Name == "write_file" {
				p.changed[pathOf(c)] = i
			}
			p.recent = i
		}
	}
}

// each offers every tool result before the recent messages to f, which returns
// the text to show instead, and stops when enough is freed.
func (p *pass) each(f func(at int, call model.ToolCall, text string) string) {
	for i := 0; i < p.recent; i++ {
		if p.messages[i].Role != model.RoleTool {
			continue
		}
		m := p.messages[i]
		m.Parts = slices.Clone(m.Parts)
		for j, part := range m.Parts {
			if part.Result == nil {
				continue
			}
			call := p.calls[part.Result.CallID]
			text := f(i, call, part.Result.Text)
			if len(text) >= len(part.Result.Text) {
				continue
			}
			changed := *part.Result
			changed.Text = text
			m.Parts[j].Result = &changed
			p.report.Dropped = append(p.report.Dropped, call)
		}
		p.messages[i] = m
		if p.done() {
			return
		}
	}
}

func (p *pass) superseded(at int, call model.ToolCall, text string) string {
	switch {
	case p.last[identity(call)] > at:
		return fmt.Sprintf("[left out: %s was called again later with the same arguments]", call.Name)
	case call.Name == "read_file" && p.changed[pathOf(call)] > at:
		return "[left out: the file was changed after this read]"
	}
	return text
}

func (p *pass) shorten(_ int, _ model.ToolCall, text string) string {
	lines := strings.SplitAfter(text, "\n")
	if len(text) < oldMinBytes || len(lines) <= oldHeadLines+oldTailLines {
		return text
	}
	gone := len(lines) - oldHeadLines - oldTailLines
	return strings.Join(lines[:oldHeadLines], "") + fmt.Sprintf("[… %d lines left out to save room …]\n", gone) +
		strings.Join(lines[len(lines)-oldTailLines:], "")
}

func (p *pass) oneLine(_ int, call model.ToolCall, text string) string {
	first, _, _ := strings.Cut(text, "\n")
	const most = 160
	if len(first) > most {
		first = strings.ToValidUTF8(first[:most], "")
	}
	return fmt.Sprintf("[result of %s left out to save room; it began: %s]", call.Name, first)
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
