package githubhook_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/githubhook"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func newParser(t testing.TB) *githubhook.Parser {
	t.Helper()
	p, err := githubhook.New([]vcs.Secret{"s"}, githubhook.WithAppID(99))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// nameOf is the event's name of a file name.action[.variant].json.
func nameOf(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return name
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	p := newParser(t)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			body, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			e, err := p.Parse(nameOf(f), "72d3162e-cc78-11e3-81ab-4c9367dc0958", body)
			if err != nil {
				t.Fatal(err)
			}
			want, got, err := webhooktest.Golden(strings.TrimSuffix(f, ".json")+".golden", e, *update)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestSameFactSameKey(t *testing.T) {
	s, p := webhooktest.NewSample(), newParser(t)
	review := vcs.Review{ID: 5, Author: s.User, State: vcs.ReviewCommented, CommitSHA: s.PR.Head.SHA, SubmittedAt: s.At}
	edited, renamed := s.Comment, s.Repo
	edited.UpdatedAt = edited.UpdatedAt.Add(1e9)
	renamed.Name = "gadgets"
	red, green := s.Check, s.Check
	green.Conclusion = vcs.ConclusionSuccess
	created := s.IssueComment("created", s.Repo, s.Issue, s.Comment, s.User, "")
	cases := []struct {
		name string
		a, b webhooktest.Hook
		same bool
	}{
		{"comment twice", created, created, true},
		{"after a rename", created, s.IssueComment("created", renamed, s.Issue, s.Comment, s.User, ""), true},
		{"two edits", s.IssueComment("edited", s.Repo, s.Issue, s.Comment, s.User, ""), s.IssueComment("edited", s.Repo, s.Issue, edited, s.User, ""), false},
		{"review", s.ReviewEvent(s.Repo, &s.Repo, s.PR, review), s.ReviewEvent(s.Repo, &s.Repo, s.PR, review), true},
		{"check", s.CheckRunEvent("completed", s.Repo, red, s.User), s.CheckRunEvent("completed", s.Repo, red, s.User), true},
		{"rerun", s.CheckRunEvent("completed", s.Repo, red, s.User), s.CheckRunEvent("completed", s.Repo, green, s.User), false},
		{"two labels", s.Issues("labeled", s.Repo, s.Issue, s.User, webhooktest.Object{"label": webhooktest.Object{"name": "a"}}),
			s.Issues("labeled", s.Repo, s.Issue, s.User, webhooktest.Object{"label": webhooktest.Object{"name": "b"}}), false},
		{"push", s.Push(s.Repo, "x", s.PR.Base.SHA, s.PR.Head.SHA, s.User), s.Push(s.Repo, "x", s.PR.Base.SHA, s.PR.Head.SHA, s.User), true},
	}
	for _, c := range cases {
		a, errA := p.Parse(c.a.Name, "1", c.a.Body)
		b, errB := p.Parse(c.b.Name, "2", c.b.Body)
		if err := errors.Join(errA, errB); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if a.Object == "" || a.Version == "" {
			t.Errorf("%s: object %q, version %q", c.name, a.Object, a.Version)
		}
		if (a.Key() == b.Key()) != c.same {
			t.Errorf("%s: keys %q and %q, want same: %v", c.name, a.Key(), b.Key(), c.same)
		}
	}
}

func TestHostile(t *testing.T) {
	s := webhooktest.NewSample()
	comment := string(s.IssueComment("created", s.Repo, s.Issue, s.Comment, s.User, "").Body)
	pull := string(s.Pull("opened", s.Repo, &s.Repo, s.PR, s.User, nil).Body)
	check := string(s.CheckRunEvent("completed", s.Repo, s.Check, s.User).Body)
	cases := map[string][2]string{
		"path in a repository's name": {"issue_comment", strings.ReplaceAll(comment, `"acme/widgets"`, `"acme/../widgets"`)},
		"option as an owner":          {"issue_comment", strings.ReplaceAll(comment, `"acme/widgets"`, `"-acme/widgets"`)},
		"three parts":                 {"issue_comment", strings.ReplaceAll(comment, `"acme/widgets"`, `"acme/a/b"`)},
		"login with a slash":          {"issue_comment", strings.ReplaceAll(comment, `"login":"ada"`, `"login":"ada/../x"`)},
		"negative number":             {"issue_comment", strings.ReplaceAll(comment, `"number":7`, `"number":-7`)},
		"number as text":              {"issue_comment", strings.ReplaceAll(comment, `"number":7`, `"number":"7"`)},
		"account without id":          {"issue_comment", strings.ReplaceAll(comment, `"id":6752317`, `"id":0`)},
		"no sender":                   {"issue_comment", strings.ReplaceAll(comment, `"sender":`, `"sander":`)},
		"branch as an option":         {"pull_request", strings.ReplaceAll(pull, `"ref":"guard"`, `"ref":"--upload-pack=x"`)},
		"branch with dots":            {"pull_request", strings.ReplaceAll(pull, `"ref":"guard"`, `"ref":"a..b"`)},
		"short object name":           {"check_run", strings.ReplaceAll(check, s.Check.HeadSHA, "8bd1f2")},
		"odd object name":             {"check_run", strings.ReplaceAll(check, s.Check.HeadSHA, strings.Repeat("g", 40))},
		"trailing text":               {"check_run", check + "x"},
		"unterminated string":         {"check_run", `{"action":"comp`},
		"deep nesting":                {"check_run", `{"x":` + strings.Repeat("[", 1<<20)},
		"nested where known":          {"check_run", strings.Repeat(`{"check_run":`, 1<<16)},
		"odd action":                  {"check_run", `{"action":"a b"}`},
	}
	p := newParser(t)
	for name, c := range cases {
		if _, err := p.Parse(c[0], "1", []byte(c[1])); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

func TestPeek(t *testing.T) {
	s, p := webhooktest.NewSample(), newParser(t)
	cases := []struct {
		name, event, body string
		sender            int64
		ignore            string
	}{
		{"comment", "issue_comment", `{"action":"created","x":{"sender":{"id":1}},"sender":{"login":"a","id":7}}`, 7, ""},
		{"sender null", "issue_comment", `{"action":"created","sender":null}`, 0, ""},
		{"own check", "check_run", `{"action":"completed","check_run":{"app":{"id":99}},"sender":{"id":7}}`, 0, "own check"},
		{"check", "check_run", `{"action":"completed","check_run":{"app":{"id":98}},"sender":{"id":7}}`, 0, ""},
		{"text in text", "issue_comment", `{"comment":{"body":"\\\",\"sender\":{\"id\":1}}\\"},"action":"created","sender":{"id":7}}`, 7, ""},
		{"unused", "issue_comment", `{"action":"pinned","sender":{"id":7}}`, 7, "action not used"},
		{"real", "push", string(s.Push(s.Repo, "x", s.PR.Base.SHA, s.PR.Head.SHA, s.User).Body), s.User.ID, ""},
	}
	for _, c := range cases {
		g, err := p.Peek(c.event, []byte(c.body))
		if err != nil || g.Sender != c.sender || g.Ignore != c.ignore {
			t.Errorf("%s: %+v, %v; want sender %d, ignore %q", c.name, g, err, c.sender, c.ignore)
		}
	}
}

// An event that always says an action is malformed without one: it is refused,
// not ignored as one that nothing reacts to.
func TestPeekWithoutAction(t *testing.T) {
	p := newParser(t)
	for _, body := range []string{`{}`, `{"action":1,"sender":{"id":7}}`, `{"action":"","sender":{"id":7}}`} {
		if g, err := p.Peek("issue_comment", []byte(body)); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%s: %+v, %v", body, g, err)
		}
	}
	if _, err := p.Peek("push", []byte(`{"ref":"refs/heads/x"}`)); err != nil {
		t.Errorf("push has no action: %v", err)
	}
}

func TestNewRefusesEmptySecrets(t *testing.T) {
	for _, secrets := range [][]vcs.Secret{nil, {}, {""}, {"good", ""}, {" \n"}} {
		if _, err := githubhook.New(secrets); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("New(%d secrets) = %v, want ErrInvalid", len(secrets), err)
		}
	}
}

// FuzzParse: whatever comes, no panic, and what passes is valid.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(nameOf(file), body)
	}
	p := newParser(f)
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		_, peekErr := p.Peek(name, body)
		e, err := p.Parse(name, "1", body)
		if err != nil {
			if !errors.Is(err, vcs.ErrInvalid) {
				t.Errorf("error %v does not wrap ErrInvalid", err)
			}
			return
		}
		if peekErr != nil {
			t.Errorf("Parse takes what Peek refuses: %v", peekErr)
		}
		if !e.Repo.IsZero() && e.Repo.Validate() != nil {
			t.Errorf("repository %q passed", e.Repo.FullName())
		}
		if pr := e.PullRequest; pr != nil && (vcs.ValidateBranch(pr.Head.Name) != nil || vcs.ValidateSHA(pr.Head.SHA) != nil) {
			t.Errorf("head %+v passed", pr.Head)
		}
		if c := e.Check; c != nil && vcs.ValidateSHA(c.HeadSHA) != nil {
			t.Errorf("check on %q passed", c.HeadSHA)
		}
		if e.Thread.Number < 0 || e.Kind == vcs.EventComment && (e.Comment == nil || e.Thread.Number == 0) {
			t.Errorf("thread %+v, comment %v", e.Thread, e.Comment)
		}
	})
}
