package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Resume goes on with a run that was cut off, yielded, or waits for an
// approval, from its entries: all of one run, in order, ended anywhere, as the
// journal gives them back. The files are those of [LastSnapshot], which the
// caller has restored.
//
// What is recorded is not done again and not recorded again: replies are not
// asked for twice, finished calls do not run. A call that was intended and not
// finished is settled by its effect: what reads or keeps records runs again;
// what writes runs if the files are as they were before it; a command does not
// run again, and the model is told that nobody knows how far it came. A call
// that waits for a person is run: whoever stands in front of it decides anew.
// A run that had ended gives the same outcome again.
func (a *Agent) Resume(ctx context.Context, task Task, entries []Entry) (Outcome, error) {
	p := foldPast(entries)
	r, err := a.revive(ctx, task, p)
	if err != nil {
		r, err = a.afresh(ctx, task, p, entries)
		if err != nil {
			r.end(StateFailed, err.Error())
			return r.out, err
		}
	}
	out, err := r.work(ctx)
	if !errors.Is(err, errDiverged) {
		return out, err
	}
	a.cfg.Log.Warn("the records of the run do not follow from its last checkpoint", "run_id", task.ID, "error", err)
	r, err = a.afresh(ctx, task, p, entries)
	if err != nil {
		r.end(StateFailed, err.Error())
		return r.out, err
	}
	return r.work(ctx)
}

// revive makes the run as it was at the last checkpoint, with what came since
// on its tape.
func (a *Agent) revive(ctx context.Context, task Task, p *past) (*run, error) {
	r := a.resumed(ctx, task, p)
	if !p.readable {
		return r, fmt.Errorf("a checkpoint is of a newer version: %w", errDiverged)
	}
	r.tape = newTape(p.tape)
	r.ids.Know(p.ids...)
	for _, id := range p.heard {
		r.heard[id] = true
	}
	r.people = p.people
	if p.begun {
		if err := r.restoreCells(p.cells); err != nil {
			return r, err
		}
		if p.first == nil {
			return r, fmt.Errorf("the task is not among the entries: %w", errDiverged)
		}
		r.begun, r.first, r.asking = true, *p.first, p.asking
		r.window.Restore(p.messages, r.figures)
		r.cellsKept = withoutMemory(p.cells)
	}
	r.memory = onlyMemory(p.memory())
	r.restoreMemory(r.memory)
	r.counted, r.rewritten = len(r.window.Messages()), r.window.Rewritten()
	if last, ok := LastSnapshot(p.tape); ok {
		r.kept = last.Tree
	}
	if r.sealed = r.out.State; r.sealed == "" {
		r.tape.reopen()
	}
	return r, nil
}

// resumed is a run that goes on, with nothing of its state yet.
func (a *Agent) resumed(ctx context.Context, task Task, p *past) *run {
	r := a.newRun(task)
	r.resumed, r.moved = true, p.ran
	r.before = p.elapsed
	r.softEnd = time.Now().Add(r.limits.WallClock - p.elapsed)
	r.confirm = p.everHeard
	r.found = r.lookAtTree(ctx)
	return r
}

// lookAtTree names the files as they were found; empty when that is not known.
func (r *run) lookAtTree(ctx context.Context) string {
	if r.agent.cfg.Tree == nil {
		return ""
	}
	name, err := r.agent.cfg.Tree.TreeHash(ctx)
	if err != nil {
		r.agent.cfg.Log.Warn("work tree could not be named", "run_id", r.task.ID, "error", err)
		return ""
	}
	return name
}

func onlyMemory(cells map[string]string) map[string]string {
	out := make(map[string]string)
	for name, text := range cells {
		if strings.HasPrefix(name, cellMemory) {
			out[name] = text
		}
	}
	return out
}

func withoutMemory(cells map[string]string) map[string]string {
	out := make(map[string]string, len(cells))
	for name, text := range cells {
		if !strings.HasPrefix(name, cellMemory) {
			out[name] = text
		}
	}
	return out
}

// live says that all records are lived through. The first time it notes
// whether the files are those that the records speak of.
func (r *run) live() bool {
	if !r.tape.dry() {
		return false
	}
	if !r.resumed || r.arrived {
		return true
	}
	r.arrived = true
	if r.found != "" && r.tree != "" && r.found != r.tree {
		r.moved, r.misplaced = true, true
		r.tree = r.found
	}
	return true
}

// movedText is what is said first after a resume.
func (r *run) movedText() string {
	var b strings.Builder
	b.WriteString(noticeMark + "the worker that ran this is lost or was replaced, and another one goes on from here in a fresh room. " +
		"Processes that were started are gone, and so are files outside of the workspace and kept outputs: start or make again what you need.")
	if r.misplaced {
		b.WriteString(" The files of the workspace could not be brought back as they were last: look at them before you go on.")
	}
	if r.afresh {
		b.WriteString(" What was said until now cannot be shown any more.")
	}
	return b.String()
}

// confirmHeard tells the inbox again of what the workers before have recorded.
func (r *run) confirmHeard(ctx context.Context) error {
	if r.agent.cfg.Inbox == nil || len(r.confirm) == 0 {
		return nil
	}
	return r.agent.cfg.Inbox.Taken(ctx, r.confirm...)
}
