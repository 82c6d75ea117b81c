package mechanic

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

// Name is the driver's name in configuration.
const Name = "mechanic/auto"

// The tools that it calls.
const (
	runTool    = "run_command"
	finishTool = "finish"
)

// Mechanic is the driver. Its zero value is ready.
type Mechanic struct{}

// New makes a Mechanic.
func New() *Mechanic { return &Mechanic{} }

// Name is "mechanic/auto".
func (*Mechanic) Name() string { return Name }

// step is one command that the mechanic runs.
type step struct {
	Command string `json:"command"`
	Dir     string `json:"dir,omitempty"`
}

// Complete gives the next call: the first step of the plan that the transcript
// does not hold yet, or finish.
func (*Mechanic) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	if err := ctx.Err(); err != nil {
		return model.Response{}, err
	}
	var checks []model.Check
	if req.Task != nil {
		checks = req.Task.Checks
	}
	steps, repairs := plan(checks)
	done := len(ran(req.Messages))
	if req.NoCalls || done >= len(steps) {
		return finish(req, repairs)
	}
	return call(done, runTool, steps[done])
}

// repair is one red check that a rule knows.
type repair struct {
	check model.Check
	fix   string
}

// plan lists the commands to run: every fix, in the order of the checks, then
// every check that was red, to see.
func plan(checks []model.Check) ([]step, []repair) {
	var steps []step
	var repairs []repair
	seen := map[step]bool{}
	for _, c := range checks {
		if !c.Red {
			continue
		}
		fix, ok := fixFor(c)
		if !ok {
			continue
		}
		repairs = append(repairs, repair{check: c, fix: fix})
		if s := (step{Command: withEnv(c.Env, fix), Dir: c.Dir}); !seen[s] {
			seen[s] = true
			steps = append(steps, s)
		}
	}
	for _, r := range repairs {
		steps = append(steps, step{Command: withEnv(r.check.Env, r.check.Command), Dir: r.check.Dir})
	}
	return steps, repairs
}

// withEnv puts a check's environment before a script.
func withEnv(env []string, script string) string {
	if len(env) == 0 {
		return script
	}
	var b strings.Builder
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if ok {
			fmt.Fprintf(&b, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
		}
	}
	return b.String() + script
}

// ran lists the calls of run_command that the transcript holds.
func ran(messages []model.Message) []model.ToolCall {
	var out []model.ToolCall
	for _, m := range messages {
		for _, c := range m.Calls() {
			if c.Name == runTool {
				out = append(out, c)
			}
		}
	}
	return out
}

func call(n int, name string, args any) (model.Response, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return model.Response{}, &model.Error{Class: model.ClassFatal, Message: "encoding a call", Err: err}
	}
	c := model.ToolCall{ID: fmt.Sprintf("mechanic_%s_%d", name, n), Name: name, Arguments: raw}
	return model.Response{
		Message:    model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Kind: model.PartToolCall, Call: &c}}},
		StopReason: model.StopToolUse,
	}, nil
}

// finish submits, with what was run as the account of it.
func finish(req model.Request, repairs []repair) (model.Response, error) {
	summary := "No tool that repairs by itself is known for what is red."
	if len(repairs) > 0 {
		var lines []string
		for _, r := range repairs {
			lines = append(lines, fmt.Sprintf("`%s` was red: ran `%s`.", oneLine(r.check.Command), oneLine(r.fix)))
		}
		summary = strings.Join(lines, "\n")
	}
	if req.NoCalls {
		return model.Response{Message: model.Text(model.RoleAssistant, summary), StopReason: model.StopEnd}, nil
	}
	finishes := 0
	for _, m := range req.Messages {
		for _, c := range m.Calls() {
			if c.Name == finishTool {
				finishes++
			}
		}
	}
	return call(finishes, finishTool, struct {
		Summary string `json:"summary"`
	}{summary})
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
