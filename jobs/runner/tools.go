package runner

import (
	"context"
	"fmt"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/symbols"
	"github.com/greenwright/greenwright/agent/tool/toolbox"
	"github.com/greenwright/greenwright/agent/tool/workspace"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/sandbox"
)

// tools are what the agent may use; a question gets no tool that changes.
func (s *session) tools(checks []model.Check) ([]tool.Tool, func(), error) {
	ws, err := workspace.Open(s.work.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the workspace: %w", err)
	}
	s.index = symbols.NewRepository(ws, nil)
	tools := toolbox.New(toolbox.Parts{Workspace: ws, Repository: s.index, Executor: executor{s}, Differ: differ{s}, ReadOnly: !s.job.Kind.Changes(), Checks: checks, Infrastructure: verify.Environment})
	return tools, func() { _ = ws.Close() }, nil
}

// executor runs the agent's commands in the work room.
type executor struct{ s *session }

func (e executor) Execute(ctx context.Context, c tool.Command) (tool.Execution, error) {
	return Execute(ctx, e.s.work.box, c)
}

// Execute runs a tool's command in a sandbox.
func Execute(ctx context.Context, box sandbox.Sandbox, c tool.Command) (tool.Execution, error) {
	res, err := box.Exec(ctx, sandbox.Cmd{Script: c.Script, Dir: c.Dir, Env: c.Env, Timeout: c.Timeout, Idle: c.Idle})
	if err != nil {
		return tool.Execution{}, err
	}
	return tool.Execution{
		ExitCode: res.ExitCode, Signal: res.Signal, Cause: tool.Cause(res.Cause), Duration: res.Duration,
		Head: res.Output.Head, Tail: res.Output.Tail, TotalBytes: res.Output.TotalBytes, TotalLines: res.Output.TotalLines,
	}, nil
}

// differ makes the difference from the trusted side.
type differ struct{ s *session }

func (d differ) Diff(ctx context.Context, paths []string) (string, error) {
	set, err := d.s.work.ws.Changes(ctx)
	if err != nil {
		return "", err
	}
	return d.s.work.ws.Diff(ctx, set, paths...)
}

// treeHash names the state of the workspace.
type treeHash struct{ s *session }

func (t treeHash) TreeHash(ctx context.Context) (string, error) { return t.s.work.ws.TreeHash(ctx) }

// Record puts the agent's entries into the journal and shows what it does.
func (s *session) Record(ctx context.Context, e agent.Entry) error {
	if err := s.records.Append(ctx, journal.TypeAgent, e); err != nil {
		return err
	}
	s.status.change(func(st *progress.Status) {
		switch e.Kind {
		case agent.EntryReply:
			st.Steps++
			if e.Reply != nil {
				st.Tokens += e.Reply.Usage.InputTotal() + e.Reply.Usage.Output
			}
		case agent.EntryIntended:
			st.Calls++
			if e.Call != nil {
				st.Now = e.Call.Call.Name + " " + brief(string(e.Call.Call.Arguments))
			}
		case agent.EntryMessage, agent.EntryRequest, agent.EntryFinished, agent.EntrySnapshot, agent.EntryNotice:
		}
	})
	return nil
}

// maxBrief keeps the current step to a line.
const maxBrief = 100

func brief(s string) string {
	if r := []rune(s); len(r) > maxBrief {
		return string(r[:maxBrief]) + "…"
	}
	return s
}
