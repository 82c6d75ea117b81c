package journal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/jobs"
)

// shownFiles is how many changed files a report lists by name.
const shownFiles = 20

// headlines say in a sentence how a job ended.
var headlines = map[jobs.State]string{
	jobs.Verified:   "Done and verified: every verifying command is green on what was published.",
	jobs.Unverified: "Done, but **not verified**.",
	jobs.Answered:   "Answered.",
	jobs.NoChange:   "Nothing was changed.",
	jobs.NeedsHuman: "A person must decide.",
	jobs.Refused:    "Refused.",
	jobs.Canceled:   "Stopped.",
	jobs.Failed:     "Not done.",
	jobs.Lapsed:     "Not done: nobody answered in time.",
}

// Headline is the report's first sentence.
func (r Report) Headline() string {
	if h, ok := headlines[r.State]; ok {
		return h
	}
	return "Working: " + string(r.State) + "."
}

// Markdown is the audit summary (rule O4), for a comment or a pull request.
// Nothing in it can be read as a command or notifies anybody.
func (r Report) Markdown() string {
	var b strings.Builder
	para := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n\n", args...) }
	para("%s", r.Headline())
	if r.Cause != "" {
		para("%s", Line(r.Cause))
	}
	if r.Advice != "" {
		para("**What you can do:** %s", Line(r.Advice))
	}
	for _, section := range []string{r.unsafe(), r.checksTable(), r.setupFailures(), r.redOutput(), r.changeList(), r.claims(), r.notVerified(), r.actionList(), r.approvalList(), r.noteList(), r.facts()} {
		if section != "" {
			para("%s", section)
		}
	}
	return strings.TrimSpace(b.String())
}

// The output of red commands that a report shows.
const (
	shownOutputs     = 3
	shownOutputLines = 20
)

// redOutput shows the last lines of what is red at the end.
func (r Report) redOutput() string {
	var parts []string
	for _, c := range r.Checks {
		ran := c.After
		if ran == nil {
			ran = c.Before
		}
		if ran == nil || ran.Green() || strings.TrimSpace(ran.Output) == "" || len(parts) == shownOutputs {
			continue
		}
		parts = append(parts, "The last lines of "+Code(c.Command)+":\n\n"+Fence("text", lastLines(ran.Output)))
	}
	return strings.Join(parts, "\n\n")
}

// lastLines are those of an output that a report shows.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if n := len(lines) - shownOutputLines; n > 0 {
		lines = append([]string{"…"}, lines[n:]...)
	}
	return strings.Join(lines, "\n")
}

func (r Report) checksTable() string {
	if len(r.Checks) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| Verifying command | Before | After |\n|---|---|---|\n")
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.cell(), c.Before.mark(), c.After.mark())
	}
	return strings.TrimSpace(b.String())
}

// cell is the command, and where it ran if that is not the top.
func (c Check) cell() string {
	if c.Dir == "" {
		return tableCell(Code(c.Command))
	}
	return tableCell(Code(c.Command) + " in " + Code(c.Dir))
}

// tableCell keeps a cell's text from opening another cell: a pipe after a
// backslash never does (GFM, "Tables (extension)").
func tableCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func (c *CheckRan) mark() string {
	switch {
	case c == nil:
		return "not run"
	case c.Green():
		return "🟢 exit 0"
	case c.Environment != "":
		return "⚪ " + tableCell(Line(c.Environment))
	case c.Cause != "exited":
		return "🔴 " + tableCell(Line(c.Cause))
	}
	return fmt.Sprintf("🔴 exit %d", c.ExitCode)
}

func (r Report) changeList() string {
	if r.Change == nil || len(r.Change.Files) == 0 {
		return ""
	}
	var b strings.Builder
	added, deleted := r.Change.Stat()
	fmt.Fprintf(&b, "**Changed:** %s, +%d −%d", plural(len(r.Change.Files), "file"), added, deleted)
	for i, f := range r.Change.Files {
		if i == shownFiles {
			fmt.Fprintf(&b, "\n- … and %d more", len(r.Change.Files)-shownFiles)
			break
		}
		fmt.Fprintf(&b, "\n- %s %s +%d −%d", Code(f.Path), Line(f.Kind), f.Added, f.Deleted)
	}
	return b.String()
}

// Stat sums the changed lines.
func (c Changed) Stat() (added, deleted int) {
	for _, f := range c.Files {
		added += f.Added
		deleted += f.Deleted
	}
	return added, deleted
}

func (r Report) claims() string {
	var parts []string
	for _, o := range r.Outcomes {
		if o.Claim != "" {
			parts = append(parts, fmt.Sprintf("**What %s says of it** (its own words, not checked):\n\n%s", Code(o.Model), Quote(o.Claim)))
		}
	}
	return strings.Join(parts, "\n\n")
}

func (r Report) notVerified() string {
	var items []string
	if v := r.Verdict; v != nil {
		if !v.Verified {
			items = append(items, Line(v.Why))
		}
		for _, name := range v.StillRed {
			items = append(items, Code(name)+" was red before and is still red")
		}
		for _, name := range v.NewlyRed {
			items = append(items, Code(name)+" was green before and is **red now**")
		}
	}
	if r.Change != nil {
		for _, n := range r.Change.Notes {
			items = append(items, Line(n))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return "**Not verified, or left out:**\n- " + strings.Join(items, "\n- ")
}

func (r Report) actionList() string {
	var items []string
	words := strings.NewReplacer("pull_request", r.Started.Job.Thread.Repo.Forge.Words().PullRequest, "_", " ")
	for _, a := range r.Actions {
		switch {
		case a.Error != "":
			items = append(items, fmt.Sprintf("%s %s: **not done**: %s", words.Replace(a.Kind), Code(a.Target), Line(a.Error)))
		case a.Done && a.Result != "":
			items = append(items, fmt.Sprintf("%s %s: %s", words.Replace(a.Kind), Code(a.Target), Line(a.Result)))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return "**Done outside:**\n- " + strings.Join(items, "\n- ")
}

// approvalList says what people were asked and what they said.
func (r Report) approvalList() string {
	var items []string
	for _, a := range r.Approvals {
		said := "nobody has answered yet"
		if a.Decision != jobs.Waiting {
			said = "**" + string(a.Decision) + "**"
			if a.By.Login != "" {
				said += " by " + Code(a.By.Login)
			}
			if a.Why != "" {
				said += ": " + Line(a.Why)
			}
		}
		items = append(items, fmt.Sprintf("%s (%s): %s", Code(shorten(firstLine(a.Shown), 120)), Line(a.Reason), said))
	}
	if len(items) == 0 {
		return ""
	}
	return "**Approvals:**\n- " + strings.Join(items, "\n- ")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (r Report) noteList() string {
	var items []string
	for _, n := range r.Notes {
		prefix := ""
		if n.Kind == NoteRefusal {
			prefix = "Refused by policy: "
		}
		items = append(items, prefix+Line(n.Text))
	}
	if len(items) == 0 {
		return ""
	}
	return "**Notes:**\n- " + strings.Join(items, "\n- ")
}

func (r Report) facts() string {
	var rows []string
	row := func(name, format string, args ...any) {
		rows = append(rows, fmt.Sprintf("| %s | %s |", name, fmt.Sprintf(format, args...)))
	}
	job := r.Started.Job
	if job.Kind == jobs.KindCheckRepair {
		row("Began with", "a red check")
	} else {
		row("Asked by", "%s (%s), %s", tableCell(Code(job.Requester.Login)), job.Permission, strings.ReplaceAll(string(job.Kind), "_", " "))
	}
	if text := r.Started.Job.Command.Text; text != "" {
		row("Asked", "%s", tableCell(Code(shorten(text, 300))))
	}
	for _, m := range r.Models {
		row("Model", "%s: %s", tableCell(Code(m.Model)), tableCell(Line(m.words())))
	}
	if r.Steps > 0 {
		row("Work", "%s, %s%s", plural(r.Steps, "step"), plural(r.ToolCalls(), "tool call"), r.byTool())
	}
	for _, line := range r.usageRows() {
		row(line[0], "%s", line[1])
	}
	row("Time", "%s", r.Duration().Round(100*time.Millisecond))
	if r.Resumed > 0 {
		row("Taken up", "%s, by another worker", plural(r.Resumed, "time"))
	}
	row("Sandbox", "%s, %s", r.sandbox(), r.network())
	row("Run", "%s, %s, journal head %s", tableCell(Code(string(r.Run))), plural(r.Records, "record"), Code(shorten(r.Head, 16)))
	return "<details><summary>How</summary>\n\n| | |\n|---|---|\n" + strings.Join(rows, "\n") + "\n\n</details>"
}

// words are why the model was chosen, and its price.
func (m ModelChosen) words() string {
	if m.Price == "" {
		return m.Reason
	}
	return m.Reason + "; " + m.Price
}

func (r Report) byTool() string {
	if len(r.Calls) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Calls)) {
		parts = append(parts, fmt.Sprintf("%s ×%d", Code(name), r.Calls[name]))
	}
	return " (" + tableCell(strings.Join(parts, ", ")) + ")"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "…"
}
