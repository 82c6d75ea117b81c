package mechanic_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/mechanic"
)

// drive lets the mechanic work on checks until it finishes, running its
// commands with run, and gives the commands and its account.
func drive(t *testing.T, checks []model.Check, run func(command, dir string)) (commands []string, summary string) {
	t.Helper()
	m := mechanic.New()
	req := model.Request{Task: &model.TaskFacts{Checks: checks}}
	for range 20 {
		res, err := m.Complete(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		calls := res.Message.Calls()
		if len(calls) != 1 || res.StopReason != model.StopToolUse {
			t.Fatalf("reply %+v", res)
		}
		var args struct{ Command, Dir, Summary string }
		if err := json.Unmarshal(calls[0].Arguments, &args); err != nil {
			t.Fatal(err)
		}
		if calls[0].Name == "finish" {
			return commands, args.Summary
		}
		commands = append(commands, args.Command)
		run(args.Command, args.Dir)
		req.Messages = append(req.Messages, res.Message, model.Results(model.ToolResult{CallID: calls[0].ID}))
	}
	t.Fatal("the mechanic does not finish")
	return nil, ""
}

func red(command string) model.Check {
	return model.Check{Name: command, Command: command, Red: true, ExitCode: 1}
}

func TestFixes(t *testing.T) {
	cases := map[string]string{
		"gofmt -l .":              "gofmt -w .",
		`test -z "$(gofmt -l .)"`: "gofmt -w .",
		`test -z "$(gofmt -s -l $(git ls-files '*.go'))"`: "gofmt -w -s $(git ls-files '*.go')",
		"gofmt -d cmd pkg | tee /tmp/x":                   "gofmt -w cmd pkg",
		"goimports -local example.com -l .":               "goimports -w -local example.com .",
		"go mod tidy -diff":                               "go mod tidy",
		"go mod tidy && git diff --exit-code go.mod":      "go mod tidy",
		"npx prettier --check .":                          "npx prettier --write .",
		"npx --no-install prettier -c 'src/**/*.ts'":      "npx --no-install prettier --write 'src/**/*.ts'",
		"./node_modules/.bin/eslint src":                  "./node_modules/.bin/eslint --fix src",
		"/bin/bash -e -c 'gofmt -l . | grep . && exit 1'": "gofmt -w .",
		"gofmt -l a; npx eslint b":                        "gofmt -w a && npx eslint --fix b",
		"if [ -n \"$(gofmt -l .)\" ]; then exit 1; fi":    "gofmt -w .",
	}
	for command, want := range cases {
		got, summary := drive(t, []model.Check{red(command)}, func(string, string) {})
		if diff := cmp.Diff([]string{want, command}, got); diff != "" {
			t.Errorf("%s:\n%s", command, diff)
		}
		if !strings.Contains(summary, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s: summary %q", command, summary)
		}
	}
}

func TestUnknownIsLeftAlone(t *testing.T) {
	for _, command := range []string{"go test ./...", "gofmt .", "echo gofmt -l .", "go mod verify", "eslint --fix .", "prettier .", "$(", "rm -rf gofmt -l", ""} {
		if got, summary := drive(t, []model.Check{red(command)}, func(string, string) {}); len(got) != 0 || !strings.Contains(summary, "No tool") {
			t.Errorf("%q: %q, %q", command, got, summary)
		}
	}
	green := red("gofmt -l .")
	green.Red = false
	if got, _ := drive(t, []model.Check{green}, func(string, string) {}); len(got) != 0 {
		t.Errorf("a green check was mended: %q", got)
	}
}

func TestEnvironmentAndOrder(t *testing.T) {
	a, b := red("gofmt -l ."), red("go mod tidy -diff")
	a.Env, a.Dir = []string{"GOFLAGS=-mod=mod", "X=it's"}, "sub"
	var dirs []string
	got, _ := drive(t, []model.Check{a, b}, func(_, dir string) { dirs = append(dirs, dir) })
	prefix := "export GOFLAGS='-mod=mod'\nexport X='it'\\''s'\n"
	if diff := cmp.Diff([]string{prefix + "gofmt -w .", "go mod tidy", prefix + "gofmt -l .", "go mod tidy -diff"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"sub", "", "sub", ""}, dirs); diff != "" {
		t.Error(diff)
	}
}

// TestRealTools runs the real programs: what was red is green afterwards.
func TestRealTools(t *testing.T) {
	cases := []struct {
		name, program, check string
		files                map[string]string
	}{
		{"gofmt", "gofmt", `test -z "$(gofmt -l .)"`, map[string]string{"main.go": "package main\nfunc main(){ }\n"}},
		{"tidy", "go", "go mod tidy -diff", map[string]string{"go.mod": "module example.com/x\n\ngo 1.24\n\n\n// a comment far away\n\nrequire (\n)\n\n", "main.go": "package main\n\nfunc main() {}\n"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skipf("%s is not installed", c.program)
			}
			dir := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			sh := func(command, sub string) error {
				cmd := exec.Command("/bin/sh", "-c", command)
				cmd.Dir = filepath.Join(dir, sub)
				cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
				out, err := cmd.CombinedOutput()
				t.Logf("$ %s\n%s", command, out)
				return err
			}
			if sh(c.check, "") == nil {
				t.Fatal("the check is not red to begin with")
			}
			drive(t, []model.Check{red(c.check)}, func(command, dir string) { _ = sh(command, dir) })
			if err := sh(c.check, ""); err != nil {
				t.Errorf("still red: %v", err)
			}
		})
	}
}

func FuzzFix(f *testing.F) {
	for _, s := range []string{"gofmt -l .", `test -z "$(gofmt -l .)"`, "npx prettier --check .", "bash -c 'gofmt -l'", "a <<E\ngofmt -l\nE"} {
		f.Add(s)
	}
	m := mechanic.New()
	f.Fuzz(func(t *testing.T, s string) {
		req := model.Request{Task: &model.TaskFacts{Checks: []model.Check{red(s)}}}
		if _, err := m.Complete(t.Context(), req); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	})
}

// TestLongScriptsAreLeftAlone: what nests without end is not parsed.
func TestLongScriptsAreLeftAlone(t *testing.T) {
	script := "gofmt -l . # " + strings.Repeat("x", 20_000)
	res, err := mechanic.New().Complete(t.Context(), model.Request{Messages: []model.Message{model.Text(model.RoleUser, "go")},
		Task: &model.TaskFacts{Checks: []model.Check{{Name: "fmt", Command: script, Red: true, ExitCode: 1}}}})
	if err != nil || res.Message.Calls()[0].Name != "finish" {
		t.Errorf("%+v, %v", res.Message.Calls(), err)
	}
}
