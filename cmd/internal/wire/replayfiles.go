package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
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

// keptEarlier are the states of the run that this one goes on from, which its
// own build on; none for the empty one.
func (r *Runs) keptEarlier(ctx context.Context, run jobs.RunID) ([]git.Kept, error) {
	if run == "" {
		return nil, nil
	}
	lines, err := r.lines(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("reading the journal of run %s, which this one goes on from: %w", run, err)
	}
	records, err := journal.Parse(lines)
	if err != nil {
		return nil, err
	}
	was, err := readPlayed(records)
	if err != nil {
		return nil, err
	}
	return r.kept(ctx, run, was.before(was.Steps+1))
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

// kept reads states from the archive, each once; what the journal does not
// vouch for is not used.
func (r *Runs) kept(ctx context.Context, run jobs.RunID, entries []agent.Entry) ([]git.Kept, error) {
	var out []git.Kept
	seen := map[string]bool{}
	for _, e := range entries {
		if e.Snapshot == nil || e.Snapshot.Sum == "" || seen[e.Snapshot.ID] {
			continue
		}
		id := e.Snapshot.ID
		seen[id] = true
		manifest, err := r.archive.Read(ctx, run, journal.SnapManifest(id))
		if err != nil {
			return nil, fmt.Errorf("reading state %s of the files: %w", id, err)
		}
		pack, err := r.archive.Read(ctx, run, journal.SnapPack(id))
		if err != nil && !errors.Is(err, vcs.ErrNotFound) {
			return nil, fmt.Errorf("reading state %s of the files: %w", id, err)
		}
		k := git.Kept{ID: id, Manifest: manifest, Pack: pack}
		if k.Sum() != e.Snapshot.Sum {
			return nil, fmt.Errorf("%w: state %s of the files is not the one that the journal names", vcs.ErrInvalid, id)
		}
		out = append(out, k)
	}
	return out, nil
}
