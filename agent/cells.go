package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/window"
)

// The names of cells; those with a slash at their end begin the names of many.
const (
	cellRun     = "run"
	cellPlan    = "plan"
	cellSummary = "summary"
	cellUsed    = "used"
	cellEnd     = "end"
	cellProof   = "proof/"
	cellSyntax  = "syntax/"
	cellBack    = "sent_back/"
	cellStuck   = "stuck/"
	cellMemory  = "memory/"
)

// runCell is what changes with nearly every step.
type runCell struct {
	Phase        Phase          `json:"phase"`
	PhaseSteps   int            `json:"phase_steps"`
	Held         bool           `json:"held,omitempty"`
	Steps        int            `json:"steps"`
	ToolCalls    int            `json:"tool_calls"`
	Compactions  int            `json:"compactions,omitempty"`
	Usage        model.Usage    `json:"usage"`
	CostMicroUSD int64          `json:"cost_micro_usd,omitempty"`
	Tree         string         `json:"tree,omitempty"`
	Kept         string         `json:"kept,omitempty"`
	Writes       int            `json:"writes,omitempty"`
	Edits        int            `json:"edits,omitempty"`
	CompactAgain int            `json:"compact_again,omitempty"`
	Nudges       int            `json:"nudges,omitempty"`
	FormatErrors int            `json:"format_errors,omitempty"`
	Cuts         int            `json:"cuts,omitempty"`
	Empty        int            `json:"empty,omitempty"`
	Reviewed     string         `json:"reviewed,omitempty"`
	Reviews      int            `json:"reviews,omitempty"`
	Refusals     int            `json:"refusals,omitempty"`
	CheckRuns    int            `json:"check_runs,omitempty"`
	WrapUpSaid   bool           `json:"wrap_up_said,omitempty"`
	Status       string         `json:"status,omitempty"`
	Window       window.Figures `json:"window"`
}

// endCell is how a run has ended.
type endCell struct {
	State      State             `json:"state"`
	Reason     string            `json:"reason"`
	Summary    string            `json:"summary,omitempty"`
	Answer     string            `json:"answer,omitempty"`
	Unverified string            `json:"unverified,omitempty"`
	Question   string            `json:"question,omitempty"`
	Replies    map[string]string `json:"replies,omitempty"`
}

// cells is all that a later step depends on besides the transcript: texts of
// JSON by name, or, for those of [cellStuck] and [cellMemory], plain texts.
func (r *run) cells() (map[string]string, error) {
	out := make(map[string]string)
	for name, text := range r.stuck.Keep() {
		out[cellStuck+name] = text
	}
	var faults []error
	put := func(name string, v any) {
		data, err := json.Marshal(v)
		faults = append(faults, err)
		out[name] = string(data)
	}
	put(cellRun, r.runCell())
	put(cellUsed, slices.Sorted(maps.Keys(r.used)))
	if len(r.plan.Items) > 0 || r.plan.Check != "" || len(r.plan.Files) > 0 {
		put(cellPlan, r.plan)
	}
	if r.summary != "" {
		put(cellSummary, r.summary)
	}
	if o := r.out; o.State != "" {
		put(cellEnd, endCell{o.State, o.Reason, o.Summary, o.Answer, o.Unverified, o.Question, o.Replies})
	}
	for id, p := range r.proofs {
		put(cellProof+id, p)
	}
	for path, fault := range r.syntax {
		put(cellSyntax+path, fault)
	}
	for id := range r.sentBack {
		put(cellBack+id, true)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("encoding the state of the run: %w", err)
	}
	return out, nil
}

func (r *run) runCell() runCell {
	return runCell{
		Phase: r.phase.now, PhaseSteps: r.phase.steps, Held: r.phase.held,
		Steps: r.out.Steps, ToolCalls: r.out.ToolCalls, Compactions: r.out.Compactions, Usage: r.out.Usage, CostMicroUSD: r.out.CostMicroUSD,
		Tree: r.tree, Kept: r.kept, Writes: r.writes, Edits: r.edits, CompactAgain: r.compactAgain,
		Nudges: r.nudges, FormatErrors: r.formatErrors, Cuts: r.cuts, Empty: r.empty,
		Reviewed: r.reviewed, Reviews: r.reviews, Refusals: r.refusals, CheckRuns: r.checkRuns,
		WrapUpSaid: r.wrapUpSaid, Status: r.status, Window: r.window.Figures(),
	}
}

// newMemory is the cells of the tools' memory that are not recorded yet.
func (r *run) newMemory() map[string]json.RawMessage {
	if len(r.agent.cfg.Memory) == 0 {
		return nil
	}
	now := make(map[string]string)
	for name, keeper := range r.agent.cfg.Memory {
		for k, text := range keeper.Keep() {
			now[cellMemory+name+"/"+k] = text
		}
	}
	out := changed(r.memory, now)
	r.memory = now
	return out
}

// restoreMemory gives the tools their cells back.
func (r *run) restoreMemory(cells map[string]string) {
	for name, keeper := range r.agent.cfg.Memory {
		mine := make(map[string]string)
		for cell, text := range cells {
			if k, ok := strings.CutPrefix(cell, cellMemory+name+"/"); ok {
				mine[k] = text
			}
		}
		keeper.Restore(mine)
	}
}

// plainCell says that a cell holds a text that is no JSON.
func plainCell(name string) bool {
	return strings.HasPrefix(name, cellStuck) || strings.HasPrefix(name, cellMemory)
}

// changed is the cells of now that differ from before, null for what is gone.
func changed(before, now map[string]string) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage)
	for name, text := range now {
		if old, there := before[name]; there && old == text {
			continue
		}
		out[name] = json.RawMessage(text)
		if plainCell(name) {
			out[name] = quoted(text)
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			out[name] = json.RawMessage("null")
		}
	}
	return out
}

func quoted(text string) json.RawMessage {
	data, err := json.Marshal(text)
	if err != nil { // cannot happen: every string has a JSON form
		return json.RawMessage(`""`)
	}
	return data
}

// applied puts changes on cells.
func applied(cells map[string]string, changes map[string]json.RawMessage) {
	for name, raw := range changes {
		text := string(raw)
		if text == "null" || text == "" {
			delete(cells, name)
			continue
		}
		if plainCell(name) && json.Unmarshal(raw, &text) != nil {
			continue
		}
		cells[name] = text
	}
}
