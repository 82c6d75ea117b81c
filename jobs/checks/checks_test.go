package checks_test

import (
	"strings"
	"testing"

	"github.com/greenwright/greenwright/jobs/checks"
	"github.com/greenwright/greenwright/jobs/workflow"
	"github.com/greenwright/greenwright/vcs"
)

const ci = `
on: [push]
jobs:
  lint:
    strategy: {matrix: {go: ["1.25", "1.26"]}}
    steps:
      - {uses: actions/checkout@v4}
      - {run: "gofmt -l ."}
      - {name: Vet, run: "go vet ./..."}
`

func TestLocate(t *testing.T) {
	w, err := workflow.Parse(".github/workflows/ci.yml", []byte(ci))
	if err != nil {
		t.Fatal(err)
	}
	red := func(name string) []vcs.CheckStep {
		return []vcs.CheckStep{{Number: 1, Name: "Set up job", Conclusion: vcs.ConclusionSuccess}, {Number: 3, Name: name, Conclusion: vcs.ConclusionFailure}}
	}
	cases := []struct {
		name, job string
		steps     []vcs.CheckStep
		want, err string
	}{
		{"named step", "lint (1.26)", red("Vet"), "go vet ./...", ""},
		{"unnamed step", "lint (1.25)", red("Run gofmt -l ."), "gofmt -l .", ""},
		{"called workflow", "ci / lint (1.25)", red("Vet"), "go vet ./...", ""},
		{"other job", "build", red("Vet"), "", `no job that is shown as "build"`},
		{"other step", "lint (1.25)", red("Post checkout"), "", "no step that is shown"},
		{"nothing red", "lint (1.25)", nil, "", "no step of job"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := checks.Locate(w, vcs.CheckJob{Name: c.job, Steps: c.steps})
			if got.Step.Run != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %+v, %v", got.Step, err)
			}
		})
	}
}

func TestExcerpt(t *testing.T) {
	log := "2026-01-02T03:04:05.1234567Z ##[group]Run actions/checkout@v4\n2026-01-02T03:04:05.1234567Z ##[endgroup]\n" +
		"2026-01-02T03:04:06.1234567Z ##[group]Run gofmt -l .\n2026-01-02T03:04:06.1234567Z ##[endgroup]\n2026-01-02T03:04:06.1234567Z main.go\n" +
		"2026-01-02T03:04:06.1234567Z ##[error]Process completed with exit code 1.\n2026-01-02T03:04:07.1234567Z Post job cleanup.\n"
	want := "##[group]Run gofmt -l .\n##[endgroup]\nmain.go\n##[error]Process completed with exit code 1."
	if got := checks.Excerpt(log); got != want {
		t.Errorf("got %q", got)
	}
	if got := checks.Excerpt("plain\n"); got != "plain\n" {
		t.Errorf("got %q", got)
	}
}

const gitlabLog = "\x1b[0KRunning with gitlab-runner 17.5.0\n" +
	"section_start:1700000000:step_script\r\x1b[0K\x1b[0K\x1b[36;1mExecuting \"step_script\"\x1b[0;m\n" +
	"\x1b[32;1m$ go version\x1b[0;m\ngo version go1.26\n" +
	"\x1b[32;1m$ gofmt -l .\x1b[0;m\nmain.go\n" +
	"section_end:1700000001:step_script\r\x1b[0K"

func TestExcerptOfGitLab(t *testing.T) {
	failed := "\x1b[31;1mERROR: Job failed: exit code 1\n\x1b[0;m\n"
	after := "section_start:1700000001:after_script\r\x1b[0KRunning after script...\n\x1b[32;1m$ echo bye\x1b[0;m\nbye\nsection_end:1700000002:after_script\r\x1b[0K"
	for name, log := range map[string]string{
		"plain": gitlabLog + failed, "with after_script": gitlabLog + after + failed,
		"with options": gitlabLog + strings.Replace(after, "after_script\r", "after_script[collapsed=true]\r", 1) + failed,
	} {
		got := checks.Excerpt(log)
		if !strings.HasPrefix(got, "\x1b[32;1m$ gofmt -l .") || !strings.Contains(got, "main.go\n") || !strings.HasSuffix(got, "exit code 1") || strings.Contains(got, "section_") || strings.Contains(got, "bye") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	stamped := "2026-01-02T03:04:05.123456Z 00O \x1b[32;1m$ make\x1b[0;m\n2026-01-02T03:04:05.123456Z 01E oops\n"
	if got := checks.Excerpt(stamped); got != "\x1b[32;1m$ make\x1b[0;m\noops\n" {
		t.Errorf("got %q", got)
	}
	for _, odd := range []string{"ERROR: Job failed", "section_start:1:x\r\x1b[0K", ":after_script\r\x1b[32;1m$ ", "section_start:1:after_script\r\x1b[0K"} {
		_ = checks.Excerpt(odd) // whoever writes a log makes nothing panic
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add(gitlabLog)
	f.Add("##[error]x")
	f.Fuzz(func(t *testing.T, log string) {
		if got := checks.Excerpt(log); len(got) > len(log) {
			t.Errorf("%d bytes of %d", len(got), len(log))
		}
	})
}

// TestSameCommandTwice: of two steps of a name it is the one that failed.
func TestSameCommandTwice(t *testing.T) {
	w, err := workflow.ParseGitLab(workflow.GitLabPath, []byte("lint: {script: [cd a, make lint, cd ../b, make lint]}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	good, red := vcs.ConclusionSuccess, vcs.ConclusionFailure
	steps := []vcs.CheckStep{{Number: 1, Name: "cd a", Conclusion: good}, {Number: 2, Name: "make lint", Conclusion: good}, {Number: 3, Name: "cd ../b", Conclusion: good}, {Number: 4, Name: "make lint", Conclusion: red}}
	got, err := checks.Locate(w, vcs.CheckJob{Name: "lint", Steps: steps})
	if err != nil || got.Step.Run != "cd a\ncd ../b\nmake lint" {
		t.Errorf("got %q, %v", got.Step.Run, err)
	}
	steps[1].Conclusion = red
	if got, err = checks.Locate(w, vcs.CheckJob{Name: "lint", Steps: steps[:2]}); err != nil || got.Step.Run != "cd a\nmake lint" {
		t.Errorf("got %q, %v", got.Step.Run, err)
	}
}

func TestLocateInGitLab(t *testing.T) {
	w, err := workflow.ParseGitLab(workflow.GitLabPath, []byte("lint:\n  parallel: {matrix: [{GO: [a, b]}]}\n  before_script: [cd sub]\n  script:\n    - go version\n    - |\n      gofmt -l .\n      go vet ./...\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	steps := []vcs.CheckStep{{Number: 1, Name: "cd sub", Conclusion: vcs.ConclusionSuccess}, {Number: 2, Name: "go version", Conclusion: vcs.ConclusionSuccess}, {Number: 3, Name: "gofmt -l .", Conclusion: vcs.ConclusionFailure}}
	got, err := checks.Locate(w, vcs.CheckJob{Name: "lint: [b]", Steps: steps})
	if err != nil || got.Job.Name != "lint: [b]" || got.Step.Run != "cd sub\ngofmt -l .\ngo vet ./...\n" {
		t.Errorf("got %+v, %v", got, err)
	}
}
