package verify_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/vcs"
)

type tree map[string]string

func (t tree) ReadFile(_ context.Context, path string, _ int64) ([]byte, error) {
	if s, ok := t[path]; ok {
		return []byte(s), nil
	}
	return nil, fmt.Errorf("%w: %s", vcs.ErrNotFound, path)
}

func (t tree) ListFiles(_ context.Context, dir string) ([]string, error) {
	var out []string
	for p := range t {
		if strings.HasPrefix(p, dir+"/") {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out, nil
}

const ci = `
on: [push]
jobs:
  build:
    strategy: {matrix: {go: [a, b]}}
    steps:
      - {uses: actions/checkout@v4}
      - {name: deps, run: npm ci}
      - {name: format, run: 'test -z "$(gofmt -l .)"'}
      - {name: test, run: "go vet ./...\ngo test ./..."}
      - {name: install and test, run: "go install x\ngo test ./..."}
      - {name: secret, run: "go test -token ${{ secrets.T }}"}
      - {name: publish, run: "make deploy"}
      - {name: echo, run: "echo hello"}
      - {name: computed, run: "$TOOL && go test"}
`

func TestFindInWorkflows(t *testing.T) {
	plan, err := verify.Find(t.Context(), tree{".github/workflows/ci.yml": ci, ".github/workflows/cron.yml": "on: schedule\njobs: {a: {steps: [{run: go test}]}}", "go.mod": "module x"}, vcs.GitHub)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range plan.Commands {
		got = append(got, c.Name)
	}
	if diff := cmp.Diff([]string{"format", "test"}, got); diff != "" {
		t.Error(diff)
	}
	if len(plan.Notes) == 0 || !strings.Contains(plan.Notes[0], "secrets.T") {
		t.Errorf("notes: %q", plan.Notes)
	}
}

func TestFindInBuildFiles(t *testing.T) {
	plan, err := verify.Find(t.Context(), tree{"go.mod": "module x", "package.json": `{"scripts":{"lint":"eslint .","test":"echo \"Error: no test specified\" && exit 1"}}`, ".github/workflows/bad.yml": "["}, vcs.GitHub)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range plan.Commands {
		got = append(got, c.Name)
	}
	if diff := cmp.Diff([]string{"gofmt", "go mod tidy", "go vet", "go test", "npm run lint"}, got); diff != "" {
		t.Error(diff)
	}
	if len(plan.Notes) != 1 {
		t.Errorf("the broken workflow is not named: %q", plan.Notes)
	}
	if plan, err := verify.Find(t.Context(), tree{"README": ""}, vcs.GitHub); err != nil || len(plan.Commands) != 0 {
		t.Errorf("found %v, %v", plan, err)
	}
}

func ran(name string, code int, env string) journal.CheckRan {
	return journal.CheckRan{Name: name, Command: name, Cause: "exited", ExitCode: code, Environment: env}
}

func TestJudge(t *testing.T) {
	type runs = []journal.CheckRan
	timeout := journal.CheckRan{Name: "a", Command: "a", Cause: "timed_out", ExitCode: -1}
	cases := []struct {
		name          string
		before, after runs
		verified      bool
		why           string
	}{
		{"red to green", runs{ran("a", 1, "")}, runs{ran("a", 0, "")}, true, "every"},
		{"stays green", runs{ran("a", 0, "")}, runs{ran("a", 0, "")}, true, "every"},
		{"still red", runs{ran("a", 1, ""), ran("b", 1, "")}, runs{ran("a", 0, ""), ran("b", 1, "")}, false, "1 of the verifying commands are still red"},
		{"newly red", runs{ran("a", 0, "")}, runs{ran("a", 1, "")}, false, "became red"},
		{"timed out is not green", runs{ran("a", 0, "")}, runs{timeout}, false, "became red"},
		{"nothing ran", nil, nil, false, "no verifying command"},
		{"cannot run", runs{ran("a", 1, "x")}, runs{ran("a", 1, "x")}, false, "none of"},
		{"some cannot run", runs{ran("a", 1, "x"), ran("b", 1, "")}, runs{ran("a", 1, "x"), ran("b", 0, "")}, false, "1 cannot"},
		{"was green, cannot run any more", runs{ran("a", 0, ""), ran("b", 0, "")}, runs{ran("a", 0, ""), ran("b", 1, "x")}, false, "became red"},
		{"was red, says now that it cannot run", runs{ran("a", 0, ""), ran("b", 1, "")}, runs{ran("a", 0, ""), ran("b", 1, "x")}, false, "still red"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := verify.Judge(c.before, c.after)
			if v.Verified != c.verified || !strings.Contains(v.Why, c.why) {
				t.Errorf("got %+v", v)
			}
		})
	}
	v := verify.Judge(runs{ran("a", 1, ""), ran("b", 0, ""), ran("c", 1, "")}, runs{ran("a", 0, ""), ran("b", 2, ""), ran("c", 1, "")})
	want := journal.Verdict{Fixed: []string{"a"}, NewlyRed: []string{"b"}, StillRed: []string{"c"}, Why: v.Why}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironment(t *testing.T) {
	for out, want := range map[string]bool{
		"go: x: Get \"https://proxy\": dial tcp: lookup proxy: no such host": true,
		"bash: golangci-lint: command not found":                             true,
		"--- FAIL: TestX":                                                    false,
	} {
		if got := verify.Environment(1, out); (got != "") != want {
			t.Errorf("%q: %q", out, got)
		}
	}
	if verify.Environment(127, "") == "" || verify.Environment(0, "dial tcp: lookup") != "" {
		t.Error("exit codes are not taken into account")
	}
}

func TestLineDoesTheSame(t *testing.T) {
	for _, script := range []string{"false\ntrue", "false | true", "echo \"it's $((1+2))\"\nfalse\necho no", "true"} {
		shell := []string{"/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"}
		direct := exec.Command(shell[0], append(shell[1:], script)...)
		want, _ := direct.CombinedOutput()
		line := exec.Command("/bin/sh", "-c", verify.Command{Script: script, Shell: shell}.Line())
		got, _ := line.CombinedOutput()
		if string(got) != string(want) || line.ProcessState.ExitCode() != direct.ProcessState.ExitCode() {
			t.Errorf("%q: %q (%d), want %q (%d)", script, got, line.ProcessState.ExitCode(), want, direct.ProcessState.ExitCode())
		}
	}
}

func FuzzReduce(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\rover\n")
	f.Add(strings.Repeat("x\n", 500))
	f.Fuzz(func(t *testing.T, s string) {
		out := verify.Reduce(s)
		if !utf8.ValidString(out) || strings.ContainsAny(out, "\x1b\x00\r") || len(out) > 10<<10 {
			t.Errorf("%q gave %q", s, out)
		}
	})
}

// TestFindInGitLab: a GitLab project's own CI file says what proves a change.
func TestFindInGitLab(t *testing.T) {
	files := tree{
		".gitlab-ci.yml":           "include: ci/lint.yml\ntest: {script: [cd sub, make test]}\nmaybe: {script: [make check], allow_failure: true}\ndeploy: {script: [make deploy]}\n",
		"ci/lint.yml":              "lint: {before_script: [pip install ruff], script: [ruff check .]}\n",
		".github/workflows/ci.yml": "on: push\njobs: {a: {steps: [{run: go test}]}}", "go.mod": "module x",
	}
	plan, err := verify.Find(t.Context(), files, vcs.GitLab)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range plan.Commands {
		got = append(got, c.Source+": "+c.Script)
	}
	want := []string{".gitlab-ci.yml › test › make test: cd sub\nmake test", ".gitlab-ci.yml › lint › ruff check .: ruff check ."}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if plan, err := verify.Find(t.Context(), files, vcs.GitHub); err != nil || len(plan.Commands) != 1 || plan.Commands[0].Script != "go test" {
		t.Errorf("on GitHub the plan is %+v, %v", plan, err)
	}
	delete(files, ".gitlab-ci.yml")
	if plan, err := verify.Find(t.Context(), files, vcs.GitLab); err != nil || len(plan.Commands) != 1 || plan.Commands[0].Script != "go test" {
		t.Errorf("without a CI file of its own the plan is %+v, %v", plan, err)
	}
}
