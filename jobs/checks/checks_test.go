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
