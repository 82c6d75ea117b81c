package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/history"
)

// archive is a Historian whose answers are set.
type archive struct {
	commits []tool.Commit
	lines   []tool.BlameLine
	err     error
	asked   string
}

func (a *archive) Log(_ context.Context, q tool.LogQuery) ([]tool.Commit, error) {
	a.asked = fmt.Sprintf("%q %q %d", q.Path, q.Text, q.Limit)
	return a.commits[:min(len(a.commits), q.Limit)], a.err
}

func (a *archive) Blame(_ context.Context, path string, from, to int) ([]tool.BlameLine, error) {
	a.asked = fmt.Sprintf("%q %d-%d", path, from, to)
	return a.lines, a.err
}

func run(t *testing.T, a *archive, name, args string) tool.Result {
	t.Helper()
	reg, err := tool.NewRegistry(history.NewLog(a), history.NewBlame(a))
	if err != nil {
		t.Fatal(err)
	}
	return reg.Run(t.Context(), tool.Call{Name: name, Args: json.RawMessage(args)})
}

func TestWhatIsAskedFor(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"git_log", `{}`, `"" "" 10`},
		{"git_log", `{"path":"./d/","text":"x","limit":50}`, `"d" "x" 50`},
		{"git_log", `{"path":"."}`, `"" "" 10`},
		{"git_log", `{"limit":51}`, ""},
		{"git_log", `{"limit":0}`, ""},
		{"git_blame", `{"path":"a"}`, `"a" 1-0`},
		{"git_blame", `{"path":"a","from":3,"to":4}`, `"a" 3-4`},
		{"git_blame", `{"path":"a","from":4,"to":3}`, ""},
		{"git_blame", `{}`, ""},
	} {
		a := &archive{}
		run(t, a, c.name, c.args)
		if a.asked != c.want {
			t.Errorf("%s %s asked for %s, want %s", c.name, c.args, a.asked, c.want)
		}
	}
}

func TestHostileHistory(t *testing.T) {
	when := time.Date(2024, 3, 1, 23, 0, 0, 0, time.UTC)
	a := &archive{
		commits: []tool.Commit{{ID: strings.Repeat("a", 40), Author: "E\x1b[1mve\nAdmin", Date: when,
			Message: "fix\rspoof\x1b]0;t\x07\n\n" + strings.Repeat("line\n", 30), Files: []string{"a\nb"}, More: 7}},
		lines: []tool.BlameLine{{Line: 9, Commit: strings.Repeat("b", 40), Author: strings.Repeat("é", 50), Date: when, Text: "x\x1b[2J\r" + strings.Repeat("é", 500)}},
	}
	log := run(t, a, "git_log", `{}`).Text
	want := "aaaaaaaaaaaa 2024-03-01 Eve Admin: spoof\n" + strings.Repeat("    line\n", 12) + "    (18 more lines)\n  files: a b and 7 more\n"
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	blame := run(t, a, "git_blame", `{"path":"a"}`).Text
	if strings.ContainsAny(blame, "\x1b\r") || len(blame) > 400 || strings.Count(blame, "\n") != 1 || !strings.HasPrefix(blame, "9\tbbbbbbbbbbbb 2024-03-01 é") {
		t.Errorf("blame: %q", blame)
	}
}

func TestLongBlameGoesOn(t *testing.T) {
	a := &archive{}
	for i := range 1000 {
		a.lines = append(a.lines, tool.BlameLine{Line: i + 1, Commit: "c", Text: "t"})
	}
	if res := run(t, a, "git_blame", `{"path":"a"}`); !strings.Contains(res.Text, "(600 more lines: ask with from 401)") {
		t.Errorf("end: %q", res.Text[len(res.Text)-80:])
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err  error
		code tool.Code
	}{
		{&history.CutError{Why: "older commits are not here"}, tool.CodeOK},
		{fmt.Errorf("x: %w", tool.ErrNoSuchPath), tool.CodeFileNotFound},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), tool.CodeTimeout},
		{fmt.Errorf("x: %w", &history.RefusedError{Why: "a has lines 1 to 3"}), tool.CodeInvalidArgs},
		{errors.New("mirror is damaged"), tool.CodeInternal},
	} {
		for name, args := range map[string]string{"git_log": `{}`, "git_blame": `{"path":"a"}`} {
			if res := run(t, &archive{err: c.err}, name, args); res.Code != c.code {
				t.Errorf("%s, %v: %s %s", name, c.err, res.Code, res.Text)
			}
		}
	}
}
