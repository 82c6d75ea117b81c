package demo

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

// set makes a stage with a forge, and a scene in which somebody has asked.
func set(t *testing.T) (*stage, *outcome) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("this machine has no git: %v", err)
	}
	f, err := openForge(vcs.GitHub, t.TempDir(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	f.CreateUser(maintainer)
	f.CreateUser(contributor)
	s := &stage{forge: f, out: newPrinter(&bytes.Buffer{}, false, time.Now)}
	repo, err := s.newRepo("widgets", f.widgets())
	if err != nil {
		t.Fatal(err)
	}
	issue, err := repo.OpenIssue(maintainer, "red", "")
	if err != nil {
		t.Fatal(err)
	}
	o := &outcome{title: "asked", repo: repo, thread: issue.Number}
	if o.asked, err = repo.Comment(issue.Number, maintainer, "/agent fix"); err != nil {
		t.Fatal(err)
	}
	return s, o
}

func TestNothingCame(t *testing.T) {
	s, o := set(t)
	err := s.judge([]*outcome{o})
	if err == nil {
		t.Fatal("nothing came, and nothing is missing")
	}
	for _, want := range []string{"no reaction", "has not ended", "no journal", `ended as ""`, "no check that was red", "no pull request"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named: %v", want, err)
		}
	}
}

// TestOneThingIsMissing spoils complete evidence in one respect at a time.
func TestOneThingIsMissing(t *testing.T) {
	const sha, other = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	check := func(before, after int) journal.Check {
		return journal.Check{Name: "format", Before: &journal.CheckRan{Cause: "exited", ExitCode: before}, After: &journal.CheckRan{Cause: "exited", ExitCode: after, Commit: sha}}
	}
	cases := []struct {
		want  string
		spoil func(*outcome)
	}{
		{"", func(*outcome) {}},
		{"no reaction", func(o *outcome) { o.asked.ID = 1 }},
		{"has not ended", func(o *outcome) { o.comment.Body = lastBox }},
		{"no journal", func(o *outcome) { o.verified = "" }},
		{`ended as "unverified"`, func(o *outcome) { o.report.State = jobs.Unverified }},
		{"no check that was red", func(o *outcome) { o.report.Checks = []journal.Check{check(0, 0)} }},
		{"is not green after", func(o *outcome) { o.report.Checks = append(o.report.Checks, check(1, 1)) }},
		{"did not run on what was pushed", func(o *outcome) { o.report.Checks[0].After.Commit = other }},
		{"not open", func(o *outcome) { o.pull.Open = false }},
		{"not open", func(o *outcome) { o.pull.Draft = true }},
		{"not one of Greenwright's", func(o *outcome) { o.pull.Head.Name = "x" }},
		{"not what the pull request shows", func(o *outcome) { o.pull.Head.SHA = other }},
		{"nothing was pushed", func(o *outcome) { o.before = sha }},
		{"no diff", func(o *outcome) { o.diff = "" }},
		{"ends with exit 1", func(o *outcome) { o.outside.exitCode = 1 }},
		{"on a fresh clone", func(o *outcome) { o.outside.commit = other }},
	}
	s, seeded := set(t)
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			o := *seeded
			o.asked = vcs.Comment{}
			o.evidence = evidence{
				comment: vcs.Comment{Body: "Done and verified."}, tip: sha, diff: "+", journal: "file", verified: "whole",
				pull:    &vcs.PullRequest{Open: true, Base: vcs.Branch{Name: "main"}, Head: vcs.Branch{Name: "greenwright/1-red", SHA: sha}},
				report:  journal.Report{State: jobs.Verified, Checks: []journal.Check{check(1, 0)}},
				outside: ran{commit: sha},
			}
			c.spoil(&o)
			got := s.missing(&o)
			named := slices.ContainsFunc(got, func(m string) bool { return strings.Contains(m, c.want) })
			if c.want == "" && len(got) > 0 || c.want != "" && !named {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCISeesRed(t *testing.T) {
	s, o := set(t)
	s.ci = ci{dir: t.TempDir(), environ: []string{"PATH=" + pathOf(t)}}
	r, err := s.ci.run(t.Context(), o.repo.CloneURL(), "main")
	if err != nil || r.exitCode != 1 || r.output != "price.go\n" {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := s.ci.run(t.Context(), o.repo.CloneURL(), "nowhere"); err == nil {
		t.Error("a branch that is not there is green")
	}
}

func pathOf(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("gofmt")
	if err != nil {
		t.Skipf("this machine has no gofmt in its path: %v", err)
	}
	return path[:strings.LastIndexByte(path, '/')] + ":/usr/bin:/bin"
}
