package gitlabhook_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gitlab "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/webhook/gitlabhook"
)

// recorded is the directory of the payloads that the SDK's authors recorded.
func recorded(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/xanzy/go-gitlab").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "testdata", "webhooks")
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		t.Fatalf("the SDK's recorded payloads are not on this machine: %v", err)
	}
	return dir
}

// atRoot is a parser for a GitLab without a path of its own.
func atRoot(t *testing.T) *gitlabhook.Parser {
	t.Helper()
	p, err := gitlabhook.New(gitlabhook.Config{Tokens: []gitlabhook.Token{{Secret: "s"}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRecordedPayloads reads all of them; the golden files hold what comes out.
func TestRecordedPayloads(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recorded(t), "*.json"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	p := atRoot(t)
	for _, file := range files {
		base := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(base, func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, err := gitlabhook.EventName(body)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "recorded", base+".golden"), read(t, p, name, body))
		})
	}
	t.Logf("%d recorded payloads", len(files))
}

// TestSameAsTheSDK compares what both decode of the recorded payloads.
func TestSameAsTheSDK(t *testing.T) {
	dir, p := recorded(t), atRoot(t)
	load := func(file string) (string, []byte) {
		body, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		name, err := gitlabhook.EventName(body)
		if err != nil {
			t.Fatal(err)
		}
		return name, body
	}
	for _, file := range []string{"note_issue.json", "note_merge_request.json", "issue.json", "merge_request.json", "service_merge_request.json", "pipeline.json", "job.json", "push.json"} {
		name, body := load(file)
		theirs, err := gitlab.ParseWebhook(gitlab.EventType(name), body)
		if err != nil {
			t.Errorf("%s: the SDK: %v", file, err)
			continue
		}
		got := read(t, p, name, body)
		if got.Error != "" {
			t.Errorf("%s: %s", file, got.Error)
			continue
		}
		if want := facts(theirs); want != factsOf(got) {
			t.Errorf("%s: %+v, the SDK has %+v", file, factsOf(got), want)
		}
	}
}

// fact is what both name.
type fact struct {
	project int
	number  int
	head    string
	text    string
	user    int
}

func facts(event any) fact {
	switch e := event.(type) {
	case *gitlab.IssueCommentEvent:
		return fact{project: e.ProjectID, number: e.Issue.IID, text: e.ObjectAttributes.Note, user: e.User.ID}
	case *gitlab.MergeCommentEvent:
		return fact{e.ProjectID, e.MergeRequest.IID, e.MergeRequest.LastCommit.ID, e.ObjectAttributes.Note, e.User.ID}
	case *gitlab.IssueEvent:
		return fact{project: e.Project.ID, number: e.ObjectAttributes.IID, text: e.ObjectAttributes.Description, user: e.User.ID}
	case *gitlab.MergeEvent:
		return fact{e.Project.ID, e.ObjectAttributes.IID, e.ObjectAttributes.LastCommit.ID, e.ObjectAttributes.Description, e.User.ID}
	case *gitlab.PipelineEvent:
		return fact{project: e.Project.ID, head: e.ObjectAttributes.SHA}
	case *gitlab.JobEvent:
		return fact{project: e.ProjectID, head: e.SHA}
	case *gitlab.PushEvent:
		return fact{project: e.ProjectID, head: e.After, user: e.UserID}
	}
	return fact{}
}

func factsOf(r result) fact {
	e := r.Event
	f := fact{project: int(e.Repo.ID), number: e.Thread.Number, user: int(e.Actor.ID)}
	switch {
	case e.Comment != nil:
		f.text = e.Comment.Body
	case e.Issue != nil:
		f.text = e.Issue.Body
	}
	switch {
	case e.Check != nil:
		f.head = e.Check.HeadSHA
	case e.PullRequest != nil:
		f.head = e.PullRequest.Head.SHA
	case strings.HasPrefix(e.Object, "branch:"):
		f.head = e.Version
	}
	return f
}
