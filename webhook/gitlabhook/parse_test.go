package gitlabhook_test

import (
	"encoding/json"
	"errors"
	"flag"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/gitlabhook"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func newParser(t testing.TB) *gitlabhook.Parser {
	t.Helper()
	p, err := gitlabhook.New(gitlabhook.Config{Tokens: []gitlabhook.Token{{Secret: "s"}}, BaseURL: "https://git.example.com/gitlab"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sample is a stored payload of testdata, and the name that its hook gives it.
func sample(t testing.TB, file string) (name string, body []byte) {
	t.Helper()
	body, err := webhooktest.GitLabPayload(file)
	if err != nil {
		t.Fatal(err)
	}
	if name, err = gitlabhook.EventName(body); err != nil {
		t.Fatal(err)
	}
	return name, body
}

// result is all that a payload gives.
type result struct {
	Name   string         `json:"name"`
	Glance webhook.Glance `json:"glance"`
	Event  *vcs.Event     `json:"event,omitempty"`
	Key    string         `json:"key,omitempty"`
	Error  string         `json:"error,omitempty"`
}

func read(t testing.TB, p *gitlabhook.Parser, name string, body []byte) result {
	t.Helper()
	r := result{Name: name}
	var err error
	if r.Glance, err = p.Peek(name, body); err == nil {
		var e vcs.Event
		if e, err = p.Parse(name, "f5e5f430-f57b-4e6e-9fac-d9128cd7232f", body); err == nil {
			r.Event, r.Key = &e, e.Key()
		} else if r.Glance.Ignore != "" {
			return r // nobody reads on
		}
	}
	if err != nil {
		r.Error = err.Error()
		if !errors.Is(err, vcs.ErrInvalid) || !errors.Is(err, webhook.ErrUnusable) {
			t.Errorf("error %v is not of the two kinds", err)
		}
	}
	return r
}

func golden(t *testing.T, file string, r result) {
	t.Helper()
	want, got, err := webhooktest.Golden(file, r, *update)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", file, err, diff)
	}
}

// names are the stored payloads.
func names(t *testing.T) []string {
	t.Helper()
	stored, err := webhooktest.GitLabPayloads()
	if err != nil || len(stored) < 40 {
		t.Fatalf("%d stored payloads, %v", len(stored), err)
	}
	return stored
}

func TestGolden(t *testing.T) {
	p := newParser(t)
	for _, stored := range names(t) {
		t.Run(stored, func(t *testing.T) {
			name, body := sample(t, stored)
			golden(t, filepath.Join("testdata", stored+".golden"), read(t, p, name, body))
		})
	}
}

// TestWhatComesOfAPayload says in one line each what the golden files hold.
func TestWhatComesOfAPayload(t *testing.T) {
	cases := map[string]string{
		"note.issue":                          "comment created #7",
		"note.issue.updated":                  "comment updated #7",
		"note.issue.updated_by_another":       "comment updated #7",
		"note.issue.before_16":                "comment created #7",
		"note.issue.internal":                 "comment created #7 internal hidden",
		"note.issue.confidential":             "comment created #7 hidden",
		"note.issue.confidential_unexplained": "comment created #7 internal hidden",
		"note.merge_request":                  "comment created !8",
		"note.diff":                           "review created !8",
		"note.diff.before_15":                 "review created !8",
		"note.discussion":                     "review created !8",
		"note.commit":                         "ignored: note on something else",
		"note.system":                         "ignored: system note",
		"note.by_token":                       "comment created #7 by a bot",
		"issue.open":                          "opened open #7",
		"issue.confidential":                  "opened open #7 hidden",
		"issue.update.description":            "comment updated #7",
		"issue.update.labels":                 "labeled update #7",
		"issue.update.assignees":              "assigned update #7",
		"issue.update.title":                  "unsupported update #7",
		"issue.close":                         "closed close #7",
		"issue.reopen":                        "ignored: action not used",
		"work_item.task":                      "opened open #12",
		"work_item.epic":                      "ignored: not of a project",
		"merge_request.open":                  "opened open !8",
		"merge_request.open.fork":             "opened open !8 from bob/widgets",
		"merge_request.close.nofork":          "closed close !8 from /",
		"merge_request.update.push":           "push update !8",
		"merge_request.update.draft":          "unsupported update !8",
		"merge_request.update.nothing":        "unsupported update !8",
		"merge_request.update.description":    "comment updated !8",
		"merge_request.merge":                 "closed merge !8",
		"merge_request.approved":              "ignored: action not used",
		"pipeline.failed":                     "check failure on greenwright/7-guard of unknown",
		"pipeline.failed.merge_request":       "check failure on greenwright/7-guard of [8]",
		"pipeline.failed.before_13":           "check failure on greenwright/7-guard of [8]",
		"pipeline.failed.forgiven":            "check failure on greenwright/7-guard of unknown",
		"pipeline.failed.bridge":              "check failure on greenwright/7-guard of unknown",
		"pipeline.failed.fork":                "check failure on patch-1 of unknown",
		"pipeline.success.no_user":            "check success on greenwright/7-guard of unknown",
		"pipeline.running":                    "ignored: check has not ended",
		"pipeline.failed.tag":                 "ignored: tag pipeline",
		"pipeline.failed.child":               "ignored: child pipeline",
		"job.failed":                          "check failure on greenwright/7-guard of unknown, part, private",
		"job.failed.project":                  "check failure on greenwright/7-guard of unknown, part, private",
		"job.failed.forgiven":                 "check neutral on greenwright/7-guard of unknown, part, private",
		"job.failed.timeout":                  "check timed_out on  of unknown, part, private",
		"job.pending":                         "ignored: check has not ended",
		"push":                                "push ",
		"push.deleted":                        "unsupported ",
	}
	p := newParser(t)
	for file, want := range cases {
		name, body := sample(t, file)
		if got := line(read(t, p, name, body)); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	if stored := names(t); len(stored) != len(cases) {
		t.Errorf("%d stored payloads, %d cases", len(stored), len(cases))
	}
}

// line is a result in short.
func line(r result) string {
	if r.Error != "" {
		return "error: " + r.Error
	}
	if r.Glance.Ignore != "" {
		return "ignored: " + r.Glance.Ignore
	}
	e := r.Event
	if c := e.Check; c != nil {
		return "check " + string(c.Conclusion) + " on " + c.HeadBranch + " of " + pulls(c) + mark(c.Part, ", part") + mark(e.Repo.Private, ", private")
	}
	out := string(e.Kind) + " " + e.Action
	if e.Thread.Number != 0 {
		out += " " + e.Thread.Label()
	}
	if e.PullRequest != nil && e.PullRequest.FromFork() {
		out += " from " + e.PullRequest.Head.Repo.FullName()
	}
	return out + mark(e.Internal(), " internal") + mark(e.Hidden(), " hidden") + mark(e.Actor.Kind == vcs.KindBot, " by a bot")
}

func pulls(c *vcs.Check) string {
	if c.PullRequestsUnknown {
		return "unknown"
	}
	text, _ := json.Marshal(c.PullRequests) // a list of numbers
	return string(text)
}

func mark(set bool, text string) string {
	if set {
		return text
	}
	return ""
}
