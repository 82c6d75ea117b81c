package wire

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/tool"
)

// Replayed is what became of one call that was done again.
type Replayed struct {
	Step int
	Name string
	Args string // as the model wrote them
	// Passed says why the results are not compared, Diff where they differ;
	// both are empty for equal ones.
	Passed, Diff string
}

// Replay counts what became of all.
type Replay struct{ Same, Different, Passed int }

// comparer is the journal of a run that is done again: it compares results with
// those that are recorded, and is the inbox with what people said. Calls come
// one at a time.
type comparer struct {
	recorded map[string]agent.Entry // finished calls, by id
	order    []string
	steps    map[string]int
	said     []agent.Entry // of people
	step     int           // of the turn, as the agent counts
	last     int           // step of the last call that was told
	told     func(Replayed)
	sum      *Replay
}

// newComparer takes the entries from a step on, with the steps of each.
func newComparer(entries []agent.Entry, steps []int, sum *Replay, told func(Replayed)) *comparer {
	c := &comparer{recorded: map[string]agent.Entry{}, steps: map[string]int{}, sum: sum, told: told}
	if len(steps) > 0 {
		c.last = steps[0]
	}
	for i, e := range entries {
		switch {
		case e.Kind == agent.EntryFinished && e.Call != nil && e.Call.Result != nil:
			id := e.Call.Call.ID
			if _, again := c.recorded[id]; !again {
				c.order = append(c.order, id)
			}
			c.recorded[id], c.steps[id] = e, steps[i]
		case e.Kind == agent.EntryMessage && e.From != nil && e.Message != nil:
			c.said = append(c.said, e)
		}
	}
	return c
}

// Record implements agent.Recorder.
func (c *comparer) Record(_ context.Context, e agent.Entry) error {
	c.step = e.Step
	if e.Kind != agent.EntryFinished || e.Call == nil || e.Call.Result == nil {
		return nil
	}
	id := e.Call.Call.ID
	was, known := c.recorded[id]
	d := Replayed{Step: c.steps[id], Name: e.Call.Call.Name, Args: string(e.Call.Call.Arguments)}
	switch {
	case !known:
		d.Step = c.last
		d.Diff = "+ the journal has no such call\n" + prefixed("+ ", summaryOf(*e.Call.Result))
	case was.Call.Result.Code == tool.CodeUncertain:
		d.Passed = "its worker was lost while it ran"
	default:
		d.Diff = difference(*was.Call.Result, *e.Call.Result)
	}
	delete(c.recorded, id)
	c.tell(d)
	return nil
}

func (c *comparer) tell(d Replayed) {
	c.last = d.Step
	switch {
	case d.Passed != "":
		c.sum.Passed++
	case d.Diff != "":
		c.sum.Different++
	default:
		c.sum.Same++
	}
	c.told(d)
}

// rest tells of the calls that it did not come to.
func (c *comparer) rest() {
	for _, id := range c.order {
		e, left := c.recorded[id]
		if !left {
			continue
		}
		d := Replayed{Step: c.steps[id], Name: e.Call.Call.Name, Args: string(e.Call.Call.Arguments), Diff: "- it was not come to\n" + prefixed("- ", summaryOf(*e.Call.Result))}
		if e.Call.Result.Code == tool.CodeUncertain {
			d.Diff, d.Passed = "", "its worker was lost while it ran"
		}
		c.tell(d)
	}
}

// Messages implements agent.Inbox: what people had said by this step.
func (c *comparer) Messages(context.Context) ([]agent.Message, error) {
	var out []agent.Message
	for _, e := range c.said {
		if e.Step <= c.step {
			out = append(out, agent.Message{ID: e.From.ID, Author: e.From.Author, Text: e.Message.Plain()})
		}
	}
	return out, nil
}

// Taken implements agent.Inbox.
func (c *comparer) Taken(_ context.Context, ids ...string) error {
	c.said = slices.DeleteFunc(c.said, func(e agent.Entry) bool { return slices.Contains(ids, e.From.ID) })
	return nil
}

// What differs from run to run: durations ("1.2s", "(0.00s)", "350 ms", "1m3s"),
// times of the day and dates, names of kept states, numbers of processes.
var (
	aTime     = regexp.MustCompile(`\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?\b|\b\d\d:\d\d:\d\d(\.\d+)?\b`)
	aDuration = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?\s?(ns|µs|us|ms|s|sec|secs|seconds?|minutes?)\b|\(cached\)`)
	aState    = regexp.MustCompile(`\bs\d+-[a-z0-9]+\b`)
	aPID      = regexp.MustCompile(`\b(pid|PID)[ =:]+\d+\b`)
)

// normalised is text without those.
func normalised(s string) string {
	s = aTime.ReplaceAllString(s, "<time>")
	s = aDuration.ReplaceAllString(s, "<duration>")
	s = aState.ReplaceAllString(s, "<state>")
	return aPID.ReplaceAllString(s, "<pid>")
}

// summaryOf is a result as it is compared: how it ended, what the model sees,
// and which files have which content.
func summaryOf(r tool.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s", r.Code, strings.TrimRight(r.Text, "\n"))
	for _, e := range r.Effects {
		fmt.Fprintf(&b, "\nfile %s: %s → %s", e.Path, e.Before, e.After)
	}
	return b.String()
}

// difference is what two results differ in, without the lines before and after
// it; empty for none.
func difference(was, now tool.Result) string {
	a, b := strings.Split(summaryOf(was), "\n"), strings.Split(summaryOf(now), "\n")
	same := func(i, j int) bool { return a[i] == b[j] || normalised(a[i]) == normalised(b[j]) }
	head := 0
	for head < min(len(a), len(b)) && same(head, head) {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && same(len(a)-1-tail, len(b)-1-tail) {
		tail++
	}
	a, b = a[head:len(a)-tail], b[head:len(b)-tail]
	if len(a)+len(b) == 0 {
		return ""
	}
	return strings.TrimRight(prefixed("- ", a...)+"\n"+prefixed("+ ", b...), "\n")
}

// maxDiffLines is how many lines of a side are told.
const maxDiffLines = 5

func prefixed(mark string, lines ...string) string {
	if len(lines) == 1 {
		lines = strings.Split(lines[0], "\n")
	}
	var out []string
	for i, l := range lines {
		if i == maxDiffLines {
			out = append(out, fmt.Sprintf("%s[%d more lines]", mark, len(lines)-i))
			break
		}
		out = append(out, mark+l)
	}
	return strings.Join(out, "\n")
}
