package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/stuck"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/window"
)

// Config is what an agent works with. Model and Tools are required; the rest
// may be left out.
type Config struct {
	Model model.Model
	// Tools in fixed order, each already wrapped by whatever policy applies.
	Tools []tool.Tool
	// Recorder is the journal; nil records nothing.
	Recorder Recorder
	// Inbox hands over later messages; nil means that none come.
	Inbox Inbox
	// Roles are models for other roles than edit.
	Roles Roles
	// Tree names the state of the files; nil makes the loop count edits instead.
	Tree TreeHasher
	// Snapshots keeps states of the files; nil keeps none.
	Snapshots Snapshotter
	// Differ makes the difference that the first finish shows; nil shows none.
	Differ tool.Differ
	// TextEdits takes edits that are written into the text of a reply for
	// calls: for models without working tool calls.
	TextEdits bool
	// Memory is what the tools remember, by name, to be kept over a resume;
	// it may be nil. A name has no slash.
	Memory map[string]tool.Keeper
	// Yield is asked before every step and before every group of calls of a
	// reply, where all that was done is recorded. Its error ends the run with
	// [StateYielded]: [Agent.Resume] goes on. It may be nil.
	Yield func() error
	// Shared is how much is used of a ceiling that several runs share, and its
	// name: the share counts like that of a limit of the run's own. It may be
	// nil.
	Shared func() (share float64, what string)
	Now    func() time.Time
	Log    *slog.Logger
}

// Agent runs tasks. It is safe for concurrent use if its tools are; usually
// tools belong to one workspace and so does the agent.
type Agent struct {
	cfg      Config
	registry *tool.Registry
	specs    []model.ToolSpec
}

// New checks the configuration and the tools' schemas.
func New(cfg Config) (*Agent, error) {
	if cfg.Model == nil {
		return nil, errors.New("agent: no model")
	}
	registry, err := tool.NewRegistry(cfg.Tools...)
	if err != nil {
		return nil, fmt.Errorf("checking tools: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{cfg: cfg, registry: registry}
	for _, s := range registry.Offered() {
		schema, err := json.Marshal(s.Schema)
		if err != nil {
			return nil, fmt.Errorf("writing schema of %s: %w", s.Name, err)
		}
		a.specs = append(a.specs, model.ToolSpec{Name: s.Name, Description: s.Description, Schema: schema})
	}
	return a, nil
}

// Run works on the task until it ends. Every end is an Outcome; the error is
// set only with [StateYielded], when it is that of Config.Yield, and with
// [StateFailed], when something outside of the agent failed (the journal, the
// inbox, the model's service): errors.As finds the [*model.Error] whose
// RetryAfter says when to come back. [Agent.Resume] goes on from the entries.
func (a *Agent) Run(ctx context.Context, task Task) (Outcome, error) {
	return a.newRun(task).work(ctx)
}

// work runs to the end, and records it.
func (r *run) work(ctx context.Context) (Outcome, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, r.hardEnd(), errTimeLimit)
	defer cancel()
	err := r.loop(ctx)
	if errors.Is(err, errDiverged) {
		return r.out, err
	}
	if err != nil {
		r.endBy(ctx, err)
	}
	if sealErr := r.seal(ctx); sealErr != nil {
		r.end(StateFailed, sealErr.Error())
		err = sealErr
	}
	notice := fmt.Sprintf(endedMark+"%s: %s", r.out.State, r.out.Reason)
	if recErr := r.note(ctx, notice); recErr != nil && r.out.State != StateFailed {
		r.end(StateFailed, recErr.Error())
		err = recErr
	}
	r.agent.cfg.Log.Info("agent run ended", "run_id", r.task.ID, "state", string(r.out.State), "step", r.out.Steps,
		"tool_calls", r.out.ToolCalls, "input_tokens", r.out.Usage.InputTotal(), "output_tokens", r.out.Usage.Output)
	if r.out.State == StateFailed || r.out.State == StateYielded {
		return r.out, err
	}
	return r.out, nil
}

// endedMark begins the last notice of a run.
const endedMark = "ended "

func (a *Agent) newRun(task Task) *run {
	limits := task.Limits.withDefaults(task.Kind)
	r := &run{
		agent:    a,
		task:     task,
		limits:   limits,
		since:    a.cfg.Now(),
		tape:     newTape(nil),
		segment:  newSegment(),
		heard:    make(map[string]bool),
		softEnd:  time.Now().Add(limits.WallClock),
		window:   window.New(limits.ContextTokens),
		phase:    phases{now: PhaseLocate},
		stuck:    stuck.New(),
		ids:      model.NewCallIDs(),
		proofs:   make(map[string]Proof),
		syntax:   make(map[string]string),
		used:     make(map[string]bool),
		sentBack: make(map[string]bool),
		out:      Outcome{Replies: map[string]string{}},
	}
	r.system = systemOf(task, r.window.Bytes(instructionShare))
	r.window.SetFixed(r.system, a.specs)
	return r
}
