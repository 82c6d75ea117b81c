package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs/workflow"
)

const ci = `
name: CI
on: {push: {branches: [main]}, pull_request: {}}
env: {A: top, B: top}
defaults: {run: {working-directory: src}}
jobs:
  lint:
    env: {B: job}
    steps:
      - uses: actions/checkout@v4
      - name: format
        run: test -z "$(gofmt -l .)"
        env: {C: "${{ env.B }}"}
      - run: |
          go vet ./...
          go test ./...
        shell: bash
        working-directory: ${{ github.workspace }}
      - run: deploy ${{ secrets.TOKEN }}
      - run: Get-Item x
        shell: pwsh
  test:
    name: unit
    strategy:
      matrix:
        go: ["1.25", "1.26"]
        os: [linux]
        include: [{go: "1.26", race: "-race"}, {go: tip, os: linux}]
        exclude: [{go: "1.25"}]
    steps:
      - run: go${{ matrix.go }} test ${{ matrix.race }} ./...
`

func TestParse(t *testing.T) {
	w, err := workflow.Parse("ci.yml", []byte(ci))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"push", "pull_request"}, w.Events); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, j := range w.Jobs {
		names = append(names, j.Name)
	}
	if diff := cmp.Diff([]string{"lint", "unit (1.26, linux)", "unit (tip, linux)"}, names); diff != "" {
		t.Errorf("jobs:\n%s", diff)
	}
	lint := w.Jobs[0].Steps
	want := workflow.Step{Number: 2, Name: "format", Run: `test -z "$(gofmt -l .)"`, Dir: "src", Env: []string{"A=top", "B=job", "C=job"}, Shell: []string{"/bin/bash", "-e", "-c"}}
	if diff := cmp.Diff(want, lint[1]); diff != "" {
		t.Errorf("format step:\n%s", diff)
	}
	if s := lint[2]; s.Name != "Run go vet ./..." || s.Dir != "." || s.Shell[3] != "-eo" || s.Unresolved != "" {
		t.Errorf("step with a shell: %+v", s)
	}
	if !strings.Contains(lint[0].Unresolved, "no command") || !strings.Contains(lint[3].Unresolved, "secrets.TOKEN") || !strings.Contains(lint[4].Unresolved, "pwsh") {
		t.Errorf("unresolved: %q, %q, %q", lint[0].Unresolved, lint[3].Unresolved, lint[4].Unresolved)
	}
	if run := w.Jobs[1].Steps[0].Run; run != "go1.26 test -race ./..." {
		t.Errorf("matrix step: %q", run)
	}
	if s := w.Jobs[2].Steps[0]; s.Unresolved == "" {
		t.Errorf("a value that the matrix does not give was made up: %q", s.Run)
	}
}

func TestBadFiles(t *testing.T) {
	for name, text := range map[string]string{
		"not YAML":  "a: [",
		"a list":    "- a",
		"too long":  strings.Repeat("#", workflow.MaxBytes+1),
		"wide":      "jobs: {a: {strategy: {matrix: {x: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17], y: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}}}}",
		"bad steps": "jobs: {a: {steps: 3}}",
	} {
		if _, err := workflow.Parse("x.yml", []byte(text)); !errors.Is(err, workflow.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(ci))
	f.Add([]byte("jobs: {a: {strategy: {matrix: {include: [{}, 1]}}, steps: [{run: '${{ matrix.x }}'}]}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := workflow.Parse("x.yml", b)
		if err != nil {
			return
		}
		for _, j := range w.Jobs {
			for _, s := range j.Steps {
				if s.Unresolved == "" && strings.Contains(s.Run, "${{") && strings.Contains(s.Run, "}}") && !strings.Contains(s.Run, "\n") && strings.Index(s.Run, "}}") > strings.Index(s.Run, "${{") {
					t.Errorf("an expression is left in %q", s.Run)
				}
			}
		}
	})
}
