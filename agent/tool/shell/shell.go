// Package shell has the tools that run commands in the sandbox to their end:
// run_command and run_checks.
//
// It sits under agent/tool and reaches the sandbox only through a
// [tool.Executor]. A command that ran is a result, however it ended: exit
// code, cause of death and duration come first, then what it printed; of a
// long output its start, its end, and the lines between that look like
// failures, found in the whole of it where the executor is an [Opener].
//
// To add a word that failures are known by: a line in failures.go.
package shell

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/tool"
)

//go:embed shell.md
var description string

// The clocks of RUNTIME 1.8.
const (
	DefaultTimeout = 300 * time.Second
	MaxTimeout     = 1800 * time.Second
	DefaultIdle    = 120 * time.Second
)

// The tools' names. The loop runs the checks itself at a submission.
const (
	Name       = "run_command"
	ChecksName = "run_checks"
)

// Run is the Data of a result: what was asked and how it ended.
type Run struct {
	Command   tool.Command   `json:"command"`
	Execution tool.Execution `json:"execution"`
	// Infrastructure says what is missing where it ran, when that and not the
	// project is why it failed; empty otherwise.
	Infrastructure string `json:"infrastructure,omitempty"`
}

type args struct {
	Command string `json:"command"`
	Dir     string `json:"dir,omitempty"`
	Timeout int    `json:"timeout_s,omitempty"`
	Idle    int    `json:"idle_s,omitempty"`
}

// New makes the run_command tool over ex, which may be an [Opener].
func New(ex tool.Executor) tool.Tool {
	s := shell{ex: ex}
	return tool.Typed(tool.Spec{
		Name:        Name,
		Description: strings.TrimSpace(description),
		Tier:        tool.TierRun,
		Effect:      tool.EffectExec,
		Timeout:     -1, // the executor keeps the clocks
		OutputBytes: shownHead + shownTail + maxMiddleBytes + 2_000,
	}, s.run)
}

type shell struct{ ex tool.Executor }

func (s shell) run(ctx context.Context, a args) tool.Result {
	cmd, failed := commandOf(a)
	if failed != nil {
		return *failed
	}
	exec, err := s.ex.Execute(ctx, cmd)
	if err != nil {
		return tool.Failf(tool.CodeSpawnFailed, "the command could not be run: %v", err)
	}
	shown, cut := render(exec, wholeOf(s.ex, exec))
	head := Headline(exec)
	if cut {
		head += fmt.Sprintf(", %d lines", exec.TotalLines)
	}
	if _, opens := s.ex.(Opener); cut && opens && exec.Artifact != "" {
		head += "; read_process " + exec.Artifact + " reads all of it"
	}
	res := tool.OKText(head + "\n" + shown)
	res.Data = Run{Command: cmd, Execution: exec}
	if cut {
		res.Truncated = &tool.Truncation{BytesTotal: exec.TotalBytes, LinesTotal: exec.TotalLines, Artifact: exec.Artifact}
	}
	return res
}

// wholeOf opens an execution's whole output; nil where none is kept.
func wholeOf(ex tool.Executor, e tool.Execution) func() (io.ReadSeekCloser, error) {
	o, opens := ex.(Opener)
	if !opens || e.Artifact == "" {
		return nil
	}
	return func() (io.ReadSeekCloser, error) { return o.Open(e.Artifact) }
}

func commandOf(a args) (tool.Command, *tool.Result) {
	if strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0) {
		res := tool.Failf(tool.CodeInvalidArgs, "command is empty or holds a NUL")
		return tool.Command{}, &res
	}
	dir, ok := Dir(a.Dir)
	if !ok {
		res := tool.Failf(tool.CodePathOutsideWorkspace, "dir %q is outside the workspace", a.Dir)
		return tool.Command{}, &res
	}
	if limit := int(MaxTimeout / time.Second); min(a.Timeout, a.Idle) < 0 || max(a.Timeout, a.Idle) > limit {
		res := tool.Failf(tool.CodeInvalidArgs, "timeout_s and idle_s go from 1 to %d", limit)
		return tool.Command{}, &res
	}
	cmd := tool.Command{Script: a.Command, Dir: dir, Timeout: DefaultTimeout, Idle: DefaultIdle}
	if a.Timeout > 0 {
		cmd.Timeout = time.Duration(a.Timeout) * time.Second
	}
	if a.Idle > 0 {
		cmd.Idle = time.Duration(a.Idle) * time.Second
	}
	return cmd, nil
}

// workspaceMount is where the sandbox sees the workspace; models use it in
// absolute paths.
const workspaceMount = "/workspace"

// Dir makes a command's directory relative to the workspace; ok is false for
// one that is outside.
func Dir(dir string) (clean string, ok bool) {
	if rest, ok := strings.CutPrefix(dir, workspaceMount); ok && (rest == "" || rest[0] == '/') {
		dir = strings.TrimLeft(rest, "/")
	}
	if path.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", false
	}
	dir = path.Clean(dir)
	if dir == "." {
		return "", true
	}
	return dir, dir != ".." && !strings.HasPrefix(dir, "../")
}

// causes say why a command did not end by itself.
var causes = map[tool.Cause]string{
	tool.CauseTimedOut:    "killed: longer than its timeout_s",
	tool.CauseIdle:        "killed: no output for longer than its idle_s",
	tool.CauseOOM:         "killed: out of memory",
	tool.CauseOutputLimit: "killed: more output than is allowed",
	tool.CauseDiskLimit:   "killed: the disk that the sandbox may use is full; remove what is not needed",
	tool.CauseLost: "the sandbox is gone: all processes have ended, files outside the workspace may be missing. " +
		"Nothing is run again; the next command gets a new sandbox",
	tool.CauseCanceled: "killed: the run is being stopped",
}

// worthTelling is how long a command must take for its duration to be told:
// every byte of a result is sent again with each later step.
const worthTelling = time.Second

// Headline is exit code, cause and duration in one line, first because the
// rest may be cut.
func Headline(e tool.Execution) string {
	after := ""
	if e.Duration >= worthTelling {
		after = fmt.Sprintf(" after %.1f s", e.Duration.Seconds())
	}
	if cause, known := causes[e.Cause]; known {
		return string(e.Cause) + after + ", " + cause
	}
	line := fmt.Sprintf("exit %d", e.ExitCode)
	if e.Signal != "" {
		line += " (" + e.Signal + ")"
	}
	return line + after
}
