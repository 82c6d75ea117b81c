// Package progress is the one comment per job that is edited in place while
// the job waits, runs and after it has ended (rule P1).
//
// [Status] renders it, purely; [Comment] keeps it up to date on a forge, at
// most every few seconds, and gets its last word out. jobs/dispatch writes the
// first form, jobs/runner the rest.
//
// Invariants: nothing in the text can be read as a command; the last word is
// posted, or its failure returned.
package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

// Status is what the comment shows.
type Status struct {
	Job   jobs.Job
	Run   jobs.RunID
	State jobs.State
	Cause string
	// Was is the state before a pause.
	Was jobs.State
	// Now is what is being done at the moment, a few words; untrusted.
	Now string
	// Done is the verifying command that ended last, and how; untrusted.
	Done    string
	Branch  string
	HeadSHA string
	Model   string
	Steps   int
	Calls   int
	Tokens  int64
	// Usage is Tokens by kind.
	Usage   model.Usage
	Cost    int64 // millionths of a US dollar
	Elapsed time.Duration
	// Answer is the text that answers a question; untrusted.
	Answer string
	// Report is the audit summary, once the job has ended.
	Report string
	// URL leads to what came out.
	URL string
	// Approval is what a person is asked, while the job waits for the answer.
	Approval *jobs.Approval
}

// Sticky is the one comment of a job, with a text.
func Sticky(job jobs.Job, text string) vcs.StickyComment {
	return vcs.StickyComment{Marker: Marker(job.ID), Body: text, Internal: job.Internal}
}

// Marker identifies the comment of a job.
func Marker(id jobs.JobID) string { return "progress:" + string(id) }

// phases are the steps of the checklist, in order.
var phases = []struct {
	state jobs.State
	text  string
}{
	{jobs.Preparing, "prepare: fetch, read the thread"},
	{jobs.Baseline, "baseline: run the verifying commands before any edit"},
	{jobs.Working, "work"},
	{jobs.Verifying, "verify: run the commands again"},
	{jobs.Publishing, "publish"},
}

// Markdown renders the comment.
func (s Status) Markdown() string {
	if s.State.Final() {
		return s.final()
	}
	var b strings.Builder
	b.WriteString(s.headline() + "\n\n")
	if s.Approval != nil && s.State == jobs.AwaitingApproval {
		b.WriteString(question(*s.Approval) + "\n\n")
	}
	b.WriteString(s.checklist())
	b.WriteString("\n" + s.line() + "\n")
	return b.String()
}

// question shows what is to be approved, in full, and how to answer.
func question(a jobs.Approval) string {
	what, fence := "Run this command", "sh"
	if a.Kind == jobs.ApproveChange {
		what, fence = "Publish this change", "diff"
	}
	return fmt.Sprintf("%s? Policy asks: %s.\n\n%s\n\nAnswer with the command `approve %s`, or `deny %s` and a reason, until %s. The answer holds for exactly this.",
		what, journal.Line(a.Reason), journal.Fence(fence, a.Shown), a.ID, a.ID, a.Expires.UTC().Format("2006-01-02 15:04 MST"))
}

func (s Status) final() string {
	var parts []string
	if s.Answer != "" {
		parts = append(parts, journal.Contained(s.Answer))
	}
	if s.URL != "" {
		parts = append(parts, "➡️ "+s.URL)
	}
	if s.Report != "" {
		parts = append(parts, s.Report)
	} else {
		parts = append(parts, s.headline())
	}
	return strings.Join(parts, "\n\n")
}

// headline is the state, and why.
func (s Status) headline() string {
	if s.Cause == "" {
		return "**" + title(s.State) + "**"
	}
	return "**" + title(s.State) + "**: " + journal.Line(s.Cause)
}

func title(s jobs.State) string {
	t := strings.ReplaceAll(string(s), "_", " ")
	if t == "" {
		return "Waiting"
	}
	return strings.ToUpper(t[:1]) + t[1:]
}

// waits reports that nobody works on the job.
func (s Status) waits() bool { return s.State == jobs.Paused || s.State == jobs.AwaitingApproval }

func (s Status) checklist() string {
	at := -1
	for i, p := range phases {
		if p.state == s.State || p.state == s.Was && s.waits() {
			at = i
		}
	}
	var b strings.Builder
	for i, p := range phases {
		mark := " "
		if i < at {
			mark = "x"
		}
		fmt.Fprintf(&b, "- [%s] %s", mark, p.text)
		if i == at && s.Now != "" {
			fmt.Fprintf(&b, " — %s", journal.Code(s.Now))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// line is the last line: where and how much.
func (s Status) line() string {
	var parts []string
	if s.Branch != "" {
		parts = append(parts, "branch "+journal.Code(s.Branch))
	}
	if s.HeadSHA != "" {
		parts = append(parts, "at "+journal.Code(shortSHA(s.HeadSHA)))
	}
	if s.Model != "" {
		parts = append(parts, "model "+journal.Code(s.Model))
	}
	if s.Steps > 0 {
		parts = append(parts, fmt.Sprintf("%d steps, %d calls", s.Steps, s.Calls))
	}
	if s.Tokens > 0 {
		parts = append(parts, s.tokens())
	}
	if s.Cost > 0 {
		parts = append(parts, journal.Dollars(s.Cost))
	}
	parts = append(parts, s.Elapsed.Round(time.Second).String(), "job "+journal.Code(string(s.Job.ID)))
	return "<sub>" + strings.Join(parts, " · ") + "</sub>"
}

// tokens are all, and how many of them came from the vendor's cache.
func (s Status) tokens() string {
	out := fmt.Sprintf("%d tokens", s.Tokens)
	if s.Usage.CacheRead > 0 {
		out += fmt.Sprintf(" (%d from cache)", s.Usage.CacheRead)
	}
	return out
}

func shortSHA(sha string) string {
	const short = 10
	if len(sha) > short {
		return sha[:short]
	}
	return sha
}
