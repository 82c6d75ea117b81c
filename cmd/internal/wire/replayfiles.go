package wire

import (
	"context"
	"fmt"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// restoreReplay brings the files to what they were before a step.
func (r *Runs) restoreReplay(ctx context.Context, room *replayRoom, p Played, from int) error {
	before := p.before(from)
	last, ok := agent.LastSnapshot(before)
	if !ok || last.Sum == "" && last.ID == git.FirstSnapshot && p.job.Continues == "" {
		return nil // the files of the commit
	}
	if last.Sum == "" {
		return fmt.Errorf("%w: the run kept no states of its files (those without a queue keep none): only --from-step 1 can be done", vcs.ErrNotFound)
	}
	kept, err := r.keptEarlier(ctx, p.job.Continues)
	if err != nil {
		return err
	}
	own, err := r.kept(ctx, p.Records[0].Run, before)
	if err != nil {
		return err
	}
	if err := room.snaps.Import(ctx, append(kept, own...)); err != nil {
		return fmt.Errorf("reading the kept states of the files: %w", err)
	}
	got, err := room.snaps.Resume(ctx, last.ID)
	if err != nil {
		return fmt.Errorf("restoring state %s of the files: %w", last.ID, err)
	}
	if len(got.Left) > 0 {
		r.log.Warn("not everything was restored", "left", len(got.Left), "first", got.Left[0].Path)
	}
	tree, err := room.side.TreeHash(ctx)
	if err == nil && last.Tree != "" && tree != last.Tree {
		err = fmt.Errorf("%w: the restored files are not those that were kept", vcs.ErrConflict)
	}
	return err
}

// keptEarlier are the states of the runs that this one goes on from, the first
// one's first, which its own build on; none for the empty one.
func (r *Runs) keptEarlier(ctx context.Context, run jobs.RunID) ([]git.Kept, error) {
	var out []git.Kept
	for back := 0; run != "" && back <= runner.MaxBefore; back++ {
		was, err := r.played(ctx, run)
		if err != nil {
			return nil, fmt.Errorf("reading the journal of run %s, which this one goes on from: %w", run, err)
		}
		kept, err := r.kept(ctx, run, was.before(was.Steps+1))
		if err != nil && back == 0 {
			return nil, err
		}
		if err != nil { // whether it is missed shows when the others are used
			r.log.Warn("states of a run before cannot be had", "run_id", run, "error", err)
		}
		out = append(kept, out...)
		run = was.job.Continues
	}
	return out, nil
}

// played is the journal of a run, checked and read.
func (r *Runs) played(ctx context.Context, run jobs.RunID) (Played, error) {
	lines, err := r.lines(ctx, run)
	if err != nil {
		return Played{}, err
	}
	records, err := journal.Parse(lines)
	if err != nil {
		return Played{}, err
	}
	return readPlayed(records)
}

// before are the entries of a run before a step.
func (p Played) before(step int) []agent.Entry {
	var out []agent.Entry
	for _, t := range p.turns {
		if t.first > step {
			break
		}
		if t.anew {
			out = nil
		}
		out = append(out, t.until(step)...)
	}
	return out
}

// until are the entries of a turn before a step.
func (t turn) until(step int) []agent.Entry {
	for i, s := range t.steps {
		if s >= step {
			return t.entries[:i]
		}
	}
	return t.entries
}

// kept reads the states of a run that its entries name.
func (r *Runs) kept(ctx context.Context, run jobs.RunID, entries []agent.Entry) ([]git.Kept, error) {
	var snaps []agent.SnapshotRecord
	for _, e := range entries {
		if e.Snapshot != nil && e.Snapshot.Sum != "" {
			snaps = append(snaps, *e.Snapshot)
		}
	}
	return runner.ReadKept(ctx, r.archive.Archive, run, snaps)
}
