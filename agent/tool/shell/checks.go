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
		Description: strings.TrimSpace(checksDescription),
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
	runs, err := c.all(ctx, picked)
	res := tool.OKText(c.report(picked, runs))
	if err != nil {
		res = tool.Failf(tool.CodeSpawnFailed, "%s could not be run: %v", picked[len(runs)].Name, err).WithDetail(res.Text)
	}
	res.Data = runs
	return res
}

// all runs checks in order until one cannot be run.
func (c checks) all(ctx context.Context, picked []model.Check) ([]Run, error) {
	runs := make([]Run, 0, len(picked))
	for len(runs) < len(picked) && ctx.Err() == nil {
		ran, err := c.one(ctx, picked[len(runs)])
		if err != nil {
			return runs, err
		}
		runs = append(runs, ran)
	}
	return runs, nil
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
		before := len(picked)
		for _, k := range c.known {
			if k.Name == n || strings.TrimSpace(k.Command) == strings.TrimSpace(n) {
				picked = append(picked, k)
			}
		}
		if len(picked) == before {
			res := tool.Failf(tool.CodeInvalidArgs, "there is no check %q; there are: %s", n, strings.Join(all, ", "))
			return nil, &res
		}
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
	if check.Unable != "" && exec.Cause == tool.CauseExited && exec.ExitCode != 0 { // what could run before the change is the change's own
		ran.Infrastructure = c.missing(exec.ExitCode, string(exec.Head)+string(exec.Tail))
	}
	return ran, nil
}

// report says how each check ended. Those that are not green share what may be
// shown.
func (c checks) report(picked []model.Check, runs []Run) string {
	notGreen := 0
	for _, ran := range runs {
		if !ran.green() {
			notGreen++
		}
	}
	var b strings.Builder
	for i, check := range picked {
		if i >= len(runs) {
			fmt.Fprintf(&b, "%s: not run\n", check.Name)
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", check.Name, Headline(runs[i].Execution))
		if runs[i].Infrastructure != "" {
			fmt.Fprintf(&b, "cannot run here, which says nothing about your change: %s\n", runs[i].Infrastructure)
		}
		if !runs[i].green() {
			b.WriteString(c.output(runs[i].Execution, maxChecksShown/notGreen))
		}
	}
	return b.String()
}

// maxChecksShown is what all checks of a call may show together.
const maxChecksShown = 32_000

func (c checks) output(e tool.Execution, room int) string {
	shown, _ := render(e, wholeOf(c.ex, e))
	shown, _ = tool.Cut(shown, room, 0.3) // the verdict is at the end
	if shown != "" && !strings.HasSuffix(shown, "\n") {
		shown += "\n"
	}
	return shown
}

func (r Run) green() bool { return r.Execution.Cause == tool.CauseExited && r.Execution.ExitCode == 0 }
