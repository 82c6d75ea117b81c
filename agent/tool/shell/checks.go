package shell

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
)

//go:embed run_checks.md
var checksDescription string

// The clocks of a verifying command (RUNTIME 1.8).
const (
	CheckTimeout = 900 * time.Second
	CheckIdle    = 300 * time.Second
)

// Infrastructure says what is missing where a failed command ran, when that
// and not the project is why it failed; empty otherwise.
type Infrastructure func(exitCode int, output string) string

type checksArgs struct {
	Names []string `json:"names,omitempty"`
}

type checks struct {
	ex      tool.Executor
	known   []model.Check
	missing Infrastructure
}

// NewChecks makes the run_checks tool, which runs the verifying commands of a
// task in order. Its Data is a []Run. missing may be nil.
func NewChecks(ex tool.Executor, known []model.Check, missing Infrastructure) tool.Tool {
	if missing == nil {
		missing = func(int, string) string { return "" }
	}
	c := checks{ex: ex, known: known, missing: missing}
	return tool.Typed(tool.Spec{
		Name:        ChecksName,
		Description: checksDescription,
		Tier:        tool.TierTest,
		Effect:      tool.EffectExec,
		Timeout:     -1, // the executor keeps the clocks
	}, c.run)
}

func (c checks) run(ctx context.Context, a checksArgs) tool.Result {
	picked, failed := c.pick(a.Names)
	if failed != nil {
		return *failed
	}
	var runs []Run
	var b strings.Builder
	room := tool.DefaultOutputBytes / len(picked)
	for _, check := range picked {
		if ctx.Err() != nil {
			fmt.Fprintf(&b, "%s: not run, the run is being stopped\n", check.Name)
			continue
		}
		ran, err := c.one(ctx, check)
		if err != nil {
			return tool.Failf(tool.CodeSpawnFailed, "%s could not be run: %v", check.Name, err).WithDetail(b.String())
		}
		runs = append(runs, ran)
		writeRun(&b, check, ran, room)
	}
	res := tool.OKText(b.String())
	res.Data = runs
	return res
}

// pick finds the checks by name, all without names.
func (c checks) pick(names []string) ([]model.Check, *tool.Result) {
	if len(c.known) == 0 {
		res := tool.Failf(tool.CodeInvalidArgs, "no verifying command is known here").Suggest("run_command with the project's test command")
		return nil, &res
	}
	if len(names) == 0 {
		return c.known, nil
	}
	var picked []model.Check
	var all []string
	for _, k := range c.known {
		all = append(all, k.Name)
	}
	for _, n := range names {
		at := -1
		for i, k := range c.known {
			if k.Name == n || strings.TrimSpace(k.Command) == strings.TrimSpace(n) {
				at = i
			}
		}
		if at < 0 {
			res := tool.Failf(tool.CodeInvalidArgs, "there is no check %q; there are: %s", n, strings.Join(all, ", "))
			return nil, &res
		}
		picked = append(picked, c.known[at])
	}
	return picked, nil
}

func (c checks) one(ctx context.Context, check model.Check) (Run, error) {
	cmd := tool.Command{Script: check.Command, Dir: strings.Trim(check.Dir, "/"), Env: check.Env, Timeout: CheckTimeout, Idle: CheckIdle}
	exec, err := c.ex.Execute(ctx, cmd)
	if err != nil {
		return Run{}, err
	}
	ran := Run{Command: cmd, Execution: exec}
	if exec.Cause == tool.CauseExited && exec.ExitCode != 0 {
		ran.Infrastructure = c.missing(exec.ExitCode, string(exec.Head)+string(exec.Tail))
	}
	return ran, nil
}

// writeRun writes one check: green ones by a line.
func writeRun(b *strings.Builder, check model.Check, ran Run, room int) {
	fmt.Fprintf(b, "%s: %s", check.Name, headline(ran.Execution))
	if ran.Infrastructure != "" {
		b.WriteString("; cannot run here: " + ran.Infrastructure)
	}
	b.WriteString("\n")
	if ran.Execution.Cause == tool.CauseExited && ran.Execution.ExitCode == 0 {
		return
	}
	shown, _ := render(ran.Execution)
	shown, _ = tool.Cut(shown, room, 0.3)
	b.WriteString(shown)
	if !strings.HasSuffix(shown, "\n") {
		b.WriteString("\n")
	}
}
