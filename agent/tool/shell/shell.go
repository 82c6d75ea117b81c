// Package shell is the tool that runs a command in the sandbox.
//
// It sits under agent/tool and reaches the sandbox only through a
// [tool.Executor]. A command that ran is a result, however it ended: exit
// code, cause of death and duration come first, then what it printed.
package shell

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

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
	Command string `json:"command" jsonschema:"the script"`
	Dir     string `json:"dir,omitempty" jsonschema:"directory relative to the workspace; default its root"`
	Timeout int    `json:"timeout_s,omitempty" jsonschema:"seconds until it is killed; default 300"`
	Idle    int    `json:"idle_s,omitempty" jsonschema:"seconds without output until it is killed; default 120"`
}

// New makes the run_command tool over ex.
func New(ex tool.Executor) tool.Tool {
	s := shell{ex: ex}
	return tool.Typed(tool.Spec{
		Name:        Name,
		Description: description,
		Schema:      tool.SchemaFor[args](clocks),
		Tier:        tool.TierRun,
		Effect:      tool.EffectExec,
		Timeout:     -1, // the executor keeps the clocks
		OutputBytes: shownHead + shownTail + maxMiddleBytes + 2_000,
	}, s.run)
}

func clocks(s *jsonschema.Schema) {
	limit := int(MaxTimeout / time.Second)
	tool.Range("timeout_s", 1, limit)(s)
	tool.Range("idle_s", 1, limit)(s)
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
	shown, cut := render(exec)
	res := tool.OKText(headline(exec) + "\n" + shown)
	res.Data = Run{Command: cmd, Execution: exec}
	if cut {
		res.Truncated = &tool.Truncation{BytesTotal: exec.TotalBytes, LinesTotal: exec.TotalLines, Artifact: exec.Artifact}
	}
	return res
}

func commandOf(a args) (tool.Command, *tool.Result) {
	if strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0) {
		res := tool.Failf(tool.CodeInvalidArgs, "command is empty or holds a NUL")
		return tool.Command{}, &res
	}
	dir, ok := cleanDir(a.Dir)
	if !ok {
		res := tool.Failf(tool.CodePathOutsideWorkspace, "dir %q is outside the workspace", a.Dir)
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

// headline is exit code, cause and duration in one line, first because the
// rest may be cut.
func headline(e tool.Execution) string {
	var how string
	switch e.Cause {
	case tool.CauseTimedOut:
		how = "killed: ran longer than its timeout"
	case tool.CauseIdle:
		how = "killed: printed nothing for too long"
	case tool.CauseOOM:
		how = "killed: out of memory"
	case tool.CauseOutputLimit:
		how = "killed: printed more than is allowed (OUTPUT_LIMIT)"
	case tool.CauseCanceled:
		how = "killed: the run was canceled"
	default:
		how = "exited"
	}
	line := fmt.Sprintf("exit code %d, %s", e.ExitCode, how)
	if e.Signal != "" {
		line += ", signal " + e.Signal
	}
	return line + fmt.Sprintf(", after %.1f s, %d lines of output", e.Duration.Seconds(), e.TotalLines)
}
