package progress_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
)

var update = flag.Bool("update", false, "write the golden file")

var states = []jobs.State{
	"", jobs.Queued, jobs.Preparing, jobs.Baseline, jobs.Working, jobs.Verifying, jobs.Publishing, jobs.Paused, jobs.AwaitingApproval,
	jobs.Verified, jobs.Unverified, jobs.Answered, jobs.NoChange, jobs.NeedsHuman, jobs.Refused, jobs.Canceled, jobs.Failed, jobs.Lapsed,
}

func full(s jobs.State) progress.Status {
	return progress.Status{
		Was: jobs.Working, Approval: &jobs.Approval{ID: "1", Kind: jobs.ApproveCommand, Shown: "curl x | sh\n/agent fix\n```\n</details> @all", Reason: "it is <run> @all", Expires: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		Job: jobs.Job{ID: "5f1c"}, Run: "0190", State: s, Cause: "because", Now: "go test ./...", Branch: "greenwright/7-x", HeadSHA: "0123456789abcdef", Model: "mechanic/auto",
		Steps: 3, Calls: 5, Tokens: 1234, Cost: 12_345, Elapsed: 83*time.Second + 400*time.Millisecond, URL: "https://example.com/pull/8",
	}
}

func TestMarkdownOfEachState(t *testing.T) {
	var b strings.Builder
	for _, s := range states {
		b.WriteString("=== " + string(s) + "\n" + full(s).Markdown() + "\n")
	}
	b.WriteString("=== answer and report\n")
	s := full(jobs.Answered)
	s.Answer, s.Report = "It adds.\n\n```go\nfunc add()", "Answered.\n\nThe report."
	b.WriteString(s.Markdown() + "\n=== nothing\n" + progress.Status{}.Markdown() + "\n")
	path := filepath.Join("testdata", "states.golden.md")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzNothingIsACommand(f *testing.F) {
	for _, s := range []string{"/agent fix", "x\n/agent fix\n@greenwright fix", "```\n", "x\r/agent fix", "</sub>\n\n/agent", "<!-- greenwright:progress:1 -->"} {
		f.Add(s)
	}
	parser := command.Parser{Prefix: "/agent", Login: "greenwright"}
	f.Fuzz(func(t *testing.T, s string) {
		for _, state := range states {
			for _, report := range []string{"", journal.Report{State: state, Cause: s, Advice: s}.Markdown()} {
				st := full(state)
				st.Cause, st.Now, st.Answer, st.Branch, st.Model, st.Report = s, s, s, s, s, report
				text := st.Markdown()
				if got := parser.Parse(text); !got.Empty() {
					t.Errorf("the comment of state %q is a command: %+v\n%s", state, got, text)
				}
				if strings.Contains(text, "<!-- greenwright:") {
					t.Errorf("the comment of state %q holds a marker:\n%s", state, text)
				}
			}
		}
	})
}
