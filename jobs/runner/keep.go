package runner

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

// keeper takes the states of the work room and puts them where another machine
// finds them.
type keeper struct {
	s *session
}

// Take implements agent.Snapshotter.
func (k keeper) Take(ctx context.Context, label string) (string, error) {
	id, err := k.s.work.side.Take(ctx, label)
	if err != nil {
		return "", err
	}
	return id, k.s.keep(ctx, id)
}

// keep puts a state into the bucket, once: what it is made of first, then what
// names it.
func (s *session) keep(ctx context.Context, id string) error {
	if _, done := s.kept[id]; done || !s.ctl.Resumable {
		return nil
	}
	kept, err := s.work.snaps.Export(ctx, id)
	if err != nil {
		return fmt.Errorf("packing state %s: %w", id, err)
	}
	if err := s.store(ctx, kept); err != nil {
		s.work.snaps.Unexport(id)
		return err
	}
	s.kept[id] = kept.Sum()
	return nil
}

// store puts what a state is made of into the bucket.
func (s *session) store(ctx context.Context, kept git.Kept) error {
	if err := s.overtaken(ctx); err != nil {
		return err
	}
	if len(kept.Pack) > 0 {
		if err := s.cfg.Archive.Save(ctx, s.ctl.Run, journal.SnapPack(kept.ID), kept.Pack); err != nil {
			return err
		}
	}
	return s.cfg.Archive.Save(ctx, s.ctl.Run, journal.SnapManifest(kept.ID), kept.Manifest)
}

// fetchKept reads states of a run; without them what was done is lost.
func (s *session) fetchKept(ctx context.Context, run jobs.RunID, snaps []agent.SnapshotRecord) ([]git.Kept, error) {
	kept, err := ReadKept(ctx, s.cfg.Archive, run, snaps)
	if err != nil {
		return nil, &lostError{"the kept states of its files cannot be had", err}
	}
	return kept, nil
}

// ReadKept reads states of a run's files from the archive, each once, in the
// order in which they were kept. What the journal does not vouch for is not
// used: vcs.ErrInvalid; vcs.ErrNotFound for what is not there any more.
func ReadKept(ctx context.Context, archive *journal.Archive, run jobs.RunID, snaps []agent.SnapshotRecord) ([]git.Kept, error) {
	var out []git.Kept
	seen := map[string]bool{}
	for _, r := range snaps {
		if seen[r.ID] {
			continue
		}
		seen[r.ID] = true
		kept, err := readOne(ctx, archive, run, r.ID)
		if err == nil && kept.Sum() != r.Sum {
			err = fmt.Errorf("%w: it is not the one that the journal names", vcs.ErrInvalid)
		}
		if err != nil {
			return nil, fmt.Errorf("reading state %s of the files of run %s: %w", r.ID, run, err)
		}
		out = append(out, kept)
	}
	return out, nil
}

func readOne(ctx context.Context, archive *journal.Archive, run jobs.RunID, id string) (git.Kept, error) {
	manifest, err := archive.Read(ctx, run, journal.SnapManifest(id))
	if err != nil {
		return git.Kept{}, err
	}
	pack, err := archive.Read(ctx, run, journal.SnapPack(id))
	if err != nil && !errors.Is(err, vcs.ErrNotFound) {
		return git.Kept{}, err
	}
	return git.Kept{ID: id, Manifest: manifest, Pack: pack}, nil
}
