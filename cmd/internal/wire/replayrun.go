package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/process"
	"github.com/greenwright/greenwright/agent/tool/toolbox"
	"github.com/greenwright/greenwright/agent/tool/workspace"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/policy/script"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/vcs"
)

// ReplayOptions say what of a run is done again.
type ReplayOptions struct {
	From int    // the first step
	Repo string // a checkout that has the commit; empty is the mirror in the data directory
	// Told is told of every call, Say prints a line for a person.
	Told func(Replayed)
	Say  func(format string, args ...any)
}

// Replay does the calls of a run again from a step on, turn after turn, and
// compares their results with the recorded ones.
func (r *Runs) Replay(ctx context.Context, p Played, opts ReplayOptions, log *slog.Logger) (sum Replay, err error) {
	if opts.From < 1 || opts.From > p.Steps {
		return sum, fmt.Errorf("%w: step %d: the run has %d steps", vcs.ErrInvalid, opts.From, p.Steps)
	}
	at := slices.IndexFunc(p.turns, func(t turn) bool { return opts.From <= t.last })
	if at < 0 {
		return sum, fmt.Errorf("%w: step %d is in no turn", vcs.ErrInvalid, opts.From)
	}
	room, err := r.openReplay(ctx, p, opts, log)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, room.close(ctx)) }()
	if p.setUp {
		opts.Say("note: the run's set-up commands are not run: what they had installed is missing")
	}
	for i, t := range p.turns[at:] {
		if i > 0 && t.anew {
			opts.Say("note: the run began again at step %d, for what it had done was lost: do the rest by --from-step %d", t.first, t.first)
			break
		}
		if err := r.replayTurn(ctx, room, p, t, opts, &sum, log); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// replayTurn lets the agent go on where the turn stood before the step.
func (r *Runs) replayTurn(ctx context.Context, room *replayRoom, p Played, t turn, opts ReplayOptions, sum *Replay, log *slog.Logger) error {
	before := t.until(opts.From)
	rest, steps := t.entries[len(before):], t.steps[len(before):]
	if opts.From <= t.first { // what the turn began with is as it was
		before = t.until(t.first)
		rest, steps = t.entries[len(before):], t.steps[len(before):]
	}
	compared := newComparer(rest, steps, sum, opts.Told)
	kit, err := r.replayTools(room, p, t)
	if err != nil {
		return err
	}
	defer kit.close(ctx)
	answers := newSpoken(t.model, rest)
	cfg := agent.Config{
		Tools: kit.tools, Memory: kit.memory, Recorder: compared, Inbox: compared, Tree: room.side, Differ: room.side, Snapshots: room.side,
		TextEdits: t.textEdits(), Now: time.Now, Log: log,
	}
	cfg.Model, cfg.Roles = answers.roles()
	a, err := agent.New(cfg)
	if err != nil {
		return fmt.Errorf("making the agent: %w", err)
	}
	_, err = a.Resume(ctx, r.replayTask(p, t), before)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if me, ok := errors.AsType[*model.Error](err); err != nil && !ok {
		return err
	} else if ok {
		log.Info("the replay of a turn ended", "error", me)
	}
	compared.rest()
	return nil
}

// kit is what the agent may use, and its end.
type kit struct {
	tools  []tool.Tool
	memory map[string]tool.Keeper
	close  func(context.Context)
}

// replayTools are the tools that the run had, behind a gate that decides as the
// policy does now; where a person was asked, as that person has.
func (r *Runs) replayTools(room *replayRoom, p Played, t turn) (kit, error) {
	gate, err := r.replayGate(p)
	if err != nil {
		return kit{}, err
	}
	ws, err := workspace.Open(room.ws.Dir())
	if err != nil {
		return kit{}, fmt.Errorf("opening the workspace: %w", err)
	}
	commands := runner.NewCommands(
		func() string { return filepath.Join(room.dir, "outputs") },
		func(context.Context) (sandbox.Sandbox, error) { return room.box, nil },
	)
	processes := process.New(commands)
	parts := toolbox.Parts{
		Workspace: ws, Executor: commands, Processes: processes.Tools(), Checks: factsOf(t.facts(p)), Infrastructure: verify.Environment,
		Differ: room.side, Historian: room.side, Restorer: room.side, ReadOnly: !p.job.Kind.Changes(),
	}
	if t.calls("apply_patch") {
		parts.Format = toolbox.FormatPatch
	}
	return kit{
		tools: gate.Wrap(toolbox.New(parts)), memory: map[string]tool.Keeper{"files": ws, "processes": processes, "outputs": commands},
		close: func(ctx context.Context) { processes.Close(context.WithoutCancel(ctx)); _ = ws.Close() },
	}, nil
}

func (r *Runs) replayGate(p Played) (*runner.Gate, error) {
	tier, why := r.cfg.Policy.Tier(policy.Work{Kind: p.job.Kind, Permission: p.job.Permission})
	g := &runner.Gate{Tier: tier, Why: why, Ask: r.cfg.Policy.Ask}
	for _, c := range p.checks {
		g.Own = append(g.Own, c.Command)
	}
	var err error
	if g.Scripts, err = r.cfg.Policy.Scripts(); err != nil {
		return nil, err
	}
	if g.Allowed, err = script.NewAllowlist(g.Own); err != nil {
		return nil, fmt.Errorf("reading the commands of tier test: %w", err)
	}
	g.MayRun = func(_ context.Context, d runner.Decided) (tool.Result, bool) {
		if p.answers[d.Script] {
			return tool.Result{}, true
		}
		return tool.Failf(tool.CodePolicyDenied, "no person has approved it, as the journal says"), false
	}
	return g, nil
}

// replayTask is the task as far as the results of calls depend on it: the
// messages are the recorded ones.
func (r *Runs) replayTask(p Played, t turn) agent.Task {
	task := agent.Task{ID: string(p.Records[0].Run), Instruction: p.job.Command.Text, Kind: agent.KindChange, Checks: factsOf(t.facts(p)), Limits: r.cfg.Limits.Agent()}
	if !p.job.Kind.Changes() {
		task.Kind = agent.KindAnswer
	}
	task.Limits.WallClock = replayClock // what took long then does not end it now
	task.Limits.InputTokens, task.Limits.OutputTokens, task.Limits.CostMicroUSD = 0, 0, 0
	if m, err := newModels(r.cfg, nil, slog.New(slog.DiscardHandler)); err == nil {
		if c, err := m.Model(t.model, runner.Telling{}); err == nil && c.Window > 0 && task.Limits.ContextTokens == 0 {
			task.Limits.ContextTokens = min(c.Window, runner.UsefulWindow)
		}
	}
	return task
}

// replayClock is above what any run takes.
const replayClock = 24 * time.Hour

// facts are the verifying commands as the turn was told of them: those of the
// proof before it, or of the baseline.
func (t turn) facts(p Played) []journal.CheckRan {
	if len(t.checks) > 0 {
		return t.checks
	}
	return p.checks
}

func factsOf(runs []journal.CheckRan) []model.Check {
	var out []model.Check
	for _, c := range runs {
		out = append(out, model.Check{
			Name: c.Name, Command: c.Command, Dir: c.Dir, ExitCode: c.ExitCode, Output: c.Output, Red: !c.Green() && c.Environment == "", Unable: c.Environment,
		})
	}
	return out
}

// calls reports whether the turn has a call of a tool.
func (t turn) calls(name string) bool {
	return slices.ContainsFunc(t.entries, func(e agent.Entry) bool {
		return e.Kind == agent.EntryIntended && e.Call != nil && e.Call.Call.Name == name
	})
}

// textEdits reports whether edits were taken out of the text of replies: calls
// ran that no reply holds.
func (t turn) textEdits() bool {
	written := map[string]bool{}
	for _, e := range t.entries {
		switch {
		case e.Reply != nil:
			for _, c := range e.Reply.Message.Calls() {
				written[c.ID] = true
			}
		case e.Kind == agent.EntryIntended && e.Call != nil && !written[e.Call.Call.ID] && !agent.PlatformCall(e.Call.Call.ID):
			return true
		}
	}
	return false
}
