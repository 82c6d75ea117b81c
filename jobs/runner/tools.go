package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/process"
	"github.com/greenwright/greenwright/agent/tool/symbols"
	"github.com/greenwright/greenwright/agent/tool/toolbox"
	"github.com/greenwright/greenwright/agent/tool/workspace"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/policy/script"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/repoconfig"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/sandbox"
)

// toolkit is what the agent may use in a turn.
type toolkit struct {
	tools  []tool.Tool
	memory map[string]tool.Keeper // what they remember, for whoever goes on
	close  func()                 // ends what they have started
}

// tools are what the agent may use, behind the gate; a question gets no tool
// that changes.
func (s *session) tools(ctx context.Context, who Choice, checks []model.Check) (toolkit, error) {
	gate, err := s.gate()
	if err != nil {
		return toolkit{}, err
	}
	ws, err := workspace.Open(s.work.dir)
	if err != nil {
		return toolkit{}, fmt.Errorf("opening the workspace: %w", err)
	}
	if s.builder == nil { // its contents serve the next turn
		s.builder = outline.NewBuilder(0, nil)
	}
	s.index = symbols.NewRepository(ws, s.builder)
	commands := NewCommands(
		func() string { return filepath.Join(s.dir, "outputs") },
		func(context.Context) (sandbox.Sandbox, error) { return s.work.box, nil },
	)
	processes := process.New(commands)
	parts := toolbox.Parts{
		Workspace: ws, Repository: s.index, Executor: commands, Processes: processes.Tools(), Checks: checks, Infrastructure: verify.Environment,
		Differ: s.work.side, Historian: s.work.side, ReadOnly: !s.job.Kind.Changes(),
	}
	if who.Patches {
		parts.Format = toolbox.FormatPatch
	}
	if s.work.snaps != nil {
		parts.Restorer = s.work.side
	}
	return toolkit{
		tools:  gate.Wrap(toolbox.New(parts)),
		memory: map[string]tool.Keeper{"files": ws, "processes": processes, "outputs": commands},
		close: func() {
			s.endProcesses(context.WithoutCancel(ctx), processes)
			_ = ws.Close()
		},
	}, nil
}

// endLimit bounds the end of the processes that the agent has left.
const endLimit = 15 * time.Second

// endProcesses ends what still runs, and says so.
func (s *session) endProcesses(ctx context.Context, processes *process.Table) {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	for _, left := range processes.Close(ctx) {
		s.log.Info("process was left running and ended", "process", left)
		if err := s.records.Append(ctx, journal.TypeAgent, s.notice("process was left running and ended: "+left)); err != nil {
			s.log.Error("ended process could not be recorded", "error", err)
		}
	}
}

// notice is an entry of the platform's among the agent's.
func (s *session) notice(text string) agent.Entry {
	return agent.Entry{Kind: agent.EntryNotice, Time: s.cfg.Now(), Notice: text}
}

// gate is what stands in front of the run's tools.
func (s *session) gate() (*Gate, error) {
	tier, why := s.cfg.Policy.Tier(policy.Work{
		Kind: s.job.Kind, Permission: s.job.Permission, FromFork: s.pr != nil && s.pr.FromFork(), Repository: s.config.Tier,
	})
	if s.job.Kind.Changes() && tier < tool.TierPatch {
		return nil, end(jobs.Refused, "raise `tier` in "+repoconfig.Path+", or ask the operator to raise policy.tiers.", "nothing may be changed: this run is held to tier %s: %s", policy.TierName(tier), why)
	}
	g := &Gate{Tier: tier, Why: why, Own: s.ownCommands(), Ask: s.cfg.Policy.Ask, Record: s.decided()}
	if s.ctl.Approvals != nil {
		g.MayRun = s.mayRun
	}
	var err error
	if g.Scripts, err = s.cfg.Policy.Scripts(); err != nil {
		return nil, err
	}
	if g.Allowed, err = script.NewAllowlist(g.Own); err != nil {
		return nil, fmt.Errorf("reading the commands of tier test: %w", err)
	}
	return g, nil
}

// ownCommands are those that the repository's settings and CI name, on the
// base branch.
func (s *session) ownCommands() []string {
	var own []string
	for _, c := range slices.Concat(s.plan.Commands, s.setup) {
		for _, line := range []string{strings.TrimSpace(c.Script), c.Line()} {
			if !slices.Contains(own, line) {
				own = append(own, line)
			}
		}
	}
	return own
}

// decided records what the gate decides. A refusal is told in the report, each
// once a turn; what was run although a rule asks is in the journal only.
func (s *session) decided() func(context.Context, Decided) error {
	told := map[string]bool{}
	return func(ctx context.Context, d Decided) error {
		text := fmt.Sprintf("%s: %s: %s (rule %s)", d.Tool, d.Command, d.Reason, d.Rule)
		s.log.Info("policy decided", "tool", d.Tool, "rule", d.Rule, "code", d.Code)
		if d.Code == tool.CodeApprovalNeeded {
			return nil // the approval is a record of its own
		}
		if d.Code == tool.CodeOK {
			return s.records.Append(ctx, journal.TypeAgent, s.notice("policy asks, and the operator lets it run: "+text))
		}
		if told[text] {
			return nil
		}
		told[text] = true
		return s.note(ctx, journal.NoteRefusal, "%s", text)
	}
}

// Record puts the agent's entries into the journal and shows what it does.
func (s *session) Record(ctx context.Context, e agent.Entry) error {
	if e.Snapshot != nil {
		e.Snapshot.Sum = s.kept[e.Snapshot.ID]
	}
	if err := s.records.Append(ctx, journal.TypeAgent, e); err != nil {
		return err
	}
	s.status.change(func(st *progress.Status) {
		switch e.Kind {
		case agent.EntryReply:
			st.Steps++
			if e.Reply != nil {
				st.Tokens += e.Reply.Usage.InputTotal() + e.Reply.Usage.Output
				st.Usage, st.Cost = st.Usage.Add(e.Reply.Usage), st.Cost+e.Reply.CostMicroUSD
			}
		case agent.EntryIntended:
			st.Calls++
			if e.Call != nil {
				st.Now = e.Call.Call.Name + " " + brief(string(e.Call.Call.Arguments))
			}
		default:
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
