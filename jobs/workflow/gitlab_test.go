package workflow_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs/workflow"
)

// shown is what of a job a test looks at: its name, and of each step its name,
// command and why it cannot be run.
func shown(jobs []workflow.Job) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.Name)
		for _, s := range j.Steps {
			line := "  " + s.Name + " = " + strings.ReplaceAll(s.Run, "\n", "; ")
			if s.Unresolved != "" {
				line += " (" + s.Unresolved + ")"
			}
			out = append(out, line)
		}
	}
	return out
}

func parseGitLab(t *testing.T, files map[string]string) workflow.Workflow {
	t.Helper()
	read := func(path string) ([]byte, error) {
		text, ok := files[path]
		if !ok {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}
	w, err := workflow.ParseGitLab(workflow.GitLabPath, []byte(files[workflow.GitLabPath]), read)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestGitLabJobs(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"plain": {map[string]string{".gitlab-ci.yml": `
stages: [test]
default: {image: golang, before_script: [go version]}
lint:
  stage: test
  script:
    - cd sub
    - export GOFLAGS=-mod=mod
    - test -z "$(gofmt -l .)"
    - |
      go vet ./...
      go test ./...
`}, []string{
			"lint", "  go version = go version", "  cd sub = cd sub", "  export GOFLAGS=-mod=mod = cd sub; export GOFLAGS=-mod=mod",
			`  test -z "$(gofmt -l .)" = cd sub; export GOFLAGS=-mod=mod; test -z "$(gofmt -l .)"`,
			"  go vet ./... = cd sub; export GOFLAGS=-mod=mod; go vet ./...; go test ./...; ",
		}},
		"a single command": {map[string]string{".gitlab-ci.yml": "test: {script: make test}\n"}, []string{"test", "  make test = make test"}},
		"extends": {map[string]string{".gitlab-ci.yml": `
.base: {before_script: [echo base], script: [echo never]}
.more: {before_script: [echo more]}
a: {extends: .base, script: [make a]}
b: {extends: [.base, .more], script: [make b]}
`}, []string{"a", "  echo base = echo base", "  make a = make a", "b", "  echo more = echo more", "  make b = make b"}},
		"anchors and merges": {map[string]string{".gitlab-ci.yml": `
.tests: &tests
  script: &lines [make one, make two]
a: {<<: *tests}
b: {script: [*lines, make three]}
`}, []string{"a", "  make one = make one", "  make two = make two", "b", "  make one = make one", "  make two = make two", "  make three = make three"}},
		"reference": {map[string]string{".gitlab-ci.yml": `
.setup: {script: [make setup]}
a:
  script:
    - !reference [.setup, script]
    - make a
`}, []string{"a", "  make setup = make setup", "  make a = make a"}},
		"matrix": {map[string]string{".gitlab-ci.yml": `
test:
  parallel:
    matrix:
      - GO: ["1.25", "1.26"]
        OS: linux
  script: [echo $GO]
`}, []string{"test: [1.25, linux]", "  echo $GO = echo $GO", "test: [1.26, linux]", "  echo $GO = echo $GO"}},
		"parallel": {map[string]string{".gitlab-ci.yml": "test: {parallel: 2, script: [make test]}\n"}, []string{"test 1/2", "  make test = make test", "test 2/2", "  make test = make test"}},
		"included from the repository": {map[string]string{
			".gitlab-ci.yml": "include: [{local: /ci/base.yml}, ci/more.yml]\nb: {extends: .base, script: [make b]}\nc: {script: [make mine]}\n",
			"ci/base.yml":    ".base: {before_script: [make prepare]}\nc: {script: [make theirs], before_script: [make c]}\n",
			"ci/more.yml":    "d: {script: [make d]}\n",
		}, []string{"b", "  make prepare = make prepare", "  make b = make b", "c", "  make c = make c", "  make mine = make mine", "d", "  make d = make d"}},
		"included from elsewhere": {map[string]string{".gitlab-ci.yml": "include: [{project: acme/ci, file: base.yml}]\na: {extends: .base, script: [make a]}\nb: {script: [make b]}\n"},
			[]string{"a", "  make a = make a (it extends .base, which this repository does not have (project acme/ci is included))", "b", "  make b = make b"}},
		"variables": {map[string]string{".gitlab-ci.yml": "variables: {DIR: src, ALL: $DIR/..., WHO: $GITLAB_USER_LOGIN}\na: {script: [go vet $ALL, echo $WHO, echo $CI_COMMIT_SHA, cd $CI_PROJECT_DIR]}\n"},
			[]string{"a", "  go vet $ALL = go vet $ALL", "  echo $WHO = echo $WHO (the value of $WHO is known only to the CI)", "  echo $CI_COMMIT_SHA = echo $CI_COMMIT_SHA (the value of $CI_COMMIT_SHA is known only to the CI)", "  cd $CI_PROJECT_DIR = cd $CI_PROJECT_DIR"}},
		"no defaults":     {map[string]string{".gitlab-ci.yml": "default: {before_script: [make env]}\na: {inherit: {default: false}, script: [make a]}\n"}, []string{"a", "  make a = make a"}},
		"child pipelines": {map[string]string{".gitlab-ci.yml": "child: {trigger: {include: child.yml}}\na: {script: [make a]}\n"}, []string{"a", "  make a = make a"}},
		"a change of directory among other things": {map[string]string{".gitlab-ci.yml": "a: {script: ['cd web && npm ci', npm run lint]}\nb: {script: ['. ./env.sh', make b]}\n"},
			[]string{
				"a", "  cd web && npm ci = cd web && npm ci", "  npm run lint = npm run lint (an earlier command of the job may have changed its directory or environment)",
				"b", "  . ./env.sh = . ./env.sh", "  make b = make b (an earlier command of the job may have changed its directory or environment)",
			}},
		"the project's directory after a change of it": {map[string]string{".gitlab-ci.yml": "a: {script: [cd sub, $CI_PROJECT_DIR/tool]}\n"},
			[]string{"a", "  cd sub = cd sub", "  $CI_PROJECT_DIR/tool = CI_PROJECT_DIR=$PWD; cd sub; $CI_PROJECT_DIR/tool"}},
		"header": {map[string]string{".gitlab-ci.yml": "spec: {inputs: {x: {}}}\n---\na: {script: [make a]}\n"}, []string{"a", "  make a = make a"}},
		"empty":  {map[string]string{".gitlab-ci.yml": ""}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, shown(parseGitLab(t, c.files).Jobs)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestGitLabEnvironmentAndShell(t *testing.T) {
	w := parseGitLab(t, map[string]string{".gitlab-ci.yml": "variables: {A: one, B: {value: two, description: x}}\njob: {variables: {A: three, C: $B/$A}, script: [make]}\n"})
	s := w.Jobs[0].Steps[0]
	want := []string{"A=three", "B=two", "C=two/three", "CI=true", "CI_PROJECT_DIR=.", "GITLAB_CI=true"}
	if d := cmp.Diff(want, s.Env); d != "" || len(s.Shell) == 0 || s.Shell[0] != "/bin/bash" {
		t.Errorf("environment: %s, shell %q", d, s.Shell)
	}
}

func TestGitLabOptionalJobs(t *testing.T) {
	w := parseGitLab(t, map[string]string{".gitlab-ci.yml": "a: {script: [x], allow_failure: true}\nb: {script: [x], when: manual}\nc: {script: [x], allow_failure: {exit_codes: 3}}\nd: {script: [x], allow_failure: false}\n" +
		"e: {script: [x], rules: [{when: manual, allow_failure: true}]}\nf: {script: [x], rules: [{if: '$CI_PIPELINE_SOURCE == \"schedule\"'}, {if: $CI_COMMIT_TAG}, {when: never}]}\n" +
		"g: {script: [x], rules: [{if: $CI_COMMIT_TAG, when: never}, {if: $CI_COMMIT_BRANCH}]}\nh: {script: [x], only: [schedules, tags]}\ni: {script: [x], only: tags}\nj: {script: [x], only: [main, tags]}\nk: {script: [x], rules: [{changes: ['**/*.go']}]}\n"})
	for i, want := range []bool{true, true, true, false, true, true, false, true, true, false, false} {
		if got := w.Jobs[i].Optional; got != want {
			t.Errorf("job %s: optional %v, want %v", w.Jobs[i].ID, got, want)
		}
	}
}

// TestHostileGitLabFiles: whoever writes a CI file may not make us read for
// long, or for ever.
func TestHostileGitLabFiles(t *testing.T) {
	bomb := ".a0: &a0 {script: [x]}\n"
	for i := range 40 {
		bomb += fmt.Sprintf(".a%d: &a%d {<<: [%s]}\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 20), ", "))
	}
	list := "x: &l0 [a, a]\n"
	for i := range 40 {
		list += fmt.Sprintf(".l%d: &l%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i), 9), ", "))
	}
	wide := ""
	for i := range 30 {
		wide += fmt.Sprintf(".e%d: {extends: [%s]}\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf(".e%d, ", i), 9), ", "))
	}
	cases := map[string]string{
		"extends itself":     "a: {extends: a, script: [x]}\n",
		"extends in a ring":  ".a: {extends: .b}\n.b: {extends: .a}\nc: {extends: .a, script: [x]}\n",
		"refers to itself":   "a:\n  script:\n    - !reference [a, script]\n",
		"merges of merges":   bomb + "a: {<<: *a40, script: [x]}\n",
		"lists of lists":     list + "a: {script: [*l40]}\n",
		"extends of extends": wide + "a: {extends: .e30, script: [x]}\n",
		"many jobs":          strings.Repeat("j", 1) + manyJobs(300),
		"wide matrix":        "a: {script: [x], parallel: {matrix: [{A: [" + strings.Repeat("1,", 400) + "1]}]}}\n",
		"parallel":           "a: {script: [x], parallel: 100000}\n",
		"script of mappings": "a: {script: {x: y}}\n",
		"no YAML":            "a: [\n",
		"large":              "# " + strings.Repeat("x", workflow.MaxBytes) + "\n",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			w, err := workflow.ParseGitLab(workflow.GitLabPath, []byte(text), nil)
			if err == nil && name != "merges of merges" || err != nil && !errors.Is(err, workflow.ErrInvalid) {
				t.Errorf("%d jobs, %v; want an error that wraps ErrInvalid", len(w.Jobs), err)
			}
			if d := time.Since(begun); d > 30*time.Second {
				t.Errorf("reading took %s", d)
			}
		})
	}
}

func manyJobs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d: {script: [x]}\n", i)
	}
	return b.String()
}

// TestIncludesThatEscape: only files of the repository are read, each once.
func TestIncludesThatEscape(t *testing.T) {
	var asked []string
	read := func(path string) ([]byte, error) {
		asked = append(asked, path)
		return []byte("include: [/again.yml, '" + path + "']\n"), nil
	}
	_, err := workflow.ParseGitLab(workflow.GitLabPath, []byte("include: ['https://example.com/x.yml', {remote: 'https://example.com/y.yml'}, '/ci/*.yml', '$X.yml', a.yml]\n"), read)
	if err != nil || len(asked) != 2 {
		t.Errorf("asked for %q, %v; want a.yml and again.yml", asked, err)
	}
}

func FuzzParseGitLab(f *testing.F) {
	f.Add("a: {script: [x]}\n")
	f.Add(".b: &b {script: [!reference [.b, script]]}\na: {<<: *b, extends: [.b, a]}\n")
	f.Add("include: x\nx: {parallel: {matrix: [{A: [1, 2]}]}, script: y}\n")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := workflow.ParseGitLab(workflow.GitLabPath, []byte(text), func(string) ([]byte, error) { return []byte(text), nil })
		if err != nil && !errors.Is(err, workflow.ErrInvalid) {
			t.Errorf("error %v does not wrap ErrInvalid", err)
		}
		for _, j := range w.Jobs {
			if j.Name == "" && j.ID != "" {
				t.Errorf("job %q is shown without a name", j.ID)
			}
		}
	})
}

// TestStateIsBounded: each command is preceded by what changed its shell.
func TestStateIsBounded(t *testing.T) {
	lines := strings.Repeat("    - export A="+strings.Repeat("x", 1500)+"\n", 400)
	w := parseGitLab(t, map[string]string{".gitlab-ci.yml": "a:\n  script:\n" + lines + "    - make\n"})
	size := 0
	for _, s := range w.Jobs[0].Steps {
		size += len(s.Run)
	}
	last := w.Jobs[0].Steps[400]
	if size > 4<<20 || last.Unresolved == "" {
		t.Errorf("%d bytes of commands, and the last one says %q", size, last.Unresolved)
	}
}

// TestVariablesAreBounded: a few kilobytes of a CI file can name gigabytes.
func TestVariablesAreBounded(t *testing.T) {
	text := "variables:\n  A: " + strings.Repeat("x", 20_000) + "\n  B: " + strings.Repeat("$A", 5_000) + "\n"
	for i := range 40 {
		text += fmt.Sprintf("  C%d: $A$A\n", i)
	}
	for i := range 50 {
		text += fmt.Sprintf("j%d: {script: [echo $B, echo $C9]}\n", i)
	}
	w := parseGitLab(t, map[string]string{".gitlab-ci.yml": text})
	for _, j := range w.Jobs {
		size := 0
		for _, kv := range j.Steps[0].Env {
			size += len(kv)
		}
		if size > 200<<10 || j.Steps[0].Unresolved == "" || j.Steps[1].Unresolved == "" {
			t.Fatalf("job %s: %d bytes of environment, %q, %q", j.ID, size, j.Steps[0].Unresolved, j.Steps[1].Unresolved)
		}
	}
	w = parseGitLab(t, map[string]string{".gitlab-ci.yml": "variables: {'': a, 'A=B': c, LD_X: \"a\\0b\", GOOD: d}\na: {script: [make]}\n"})
	want := []string{"GOOD=d", "CI=true", "CI_PROJECT_DIR=.", "GITLAB_CI=true"}
	if d := cmp.Diff(want, w.Jobs[0].Steps[0].Env); d != "" {
		t.Error(d)
	}
}
