package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/trusted"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// openSide makes the trusted side of the work room. Snapshots begin after the
// set-up, so that what it has installed is not taken for the agent's. A run
// without them goes on.
func (s *session) openSide(ctx context.Context) error {
	if s.job.Kind.Changes() {
		dir := filepath.Join(s.dir, "snapshots-"+strconv.Itoa(s.rooms))
		snaps, err := s.work.ws.Snapshots(ctx, git.SnapshotOptions{Dir: dir, Series: s.series()})
		if err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("keeping the workspace's state: %w", err)
			}
			s.log.Warn("no snapshots are kept", "error", err)
			if err := s.note(ctx, journal.NoteNotice, "no snapshots are kept: %v", err); err != nil {
				return err
			}
		}
		s.work.snaps = snaps
	}
	s.work.side = trusted.New(trusted.Config{Mirror: s.mirror, Workspace: s.work.ws, Snapshots: s.work.snaps, Deepen: s.deepen})
	return nil
}

// series sets the names of states apart from those of another run, and of
// another worker that believes that it owns this one.
func (s *session) series() string {
	const tail = 6
	run := strings.ReplaceAll(string(s.ctl.Run), "-", "")
	return run[max(len(run)-tail, 0):] + "x" + strconv.FormatInt(s.ctl.Token, 10)
}

// snapshotter keeps states for the loop; nil keeps none.
func (s *session) snapshotter() agent.Snapshotter {
	if s.work.snaps == nil {
		return nil
	}
	return keeper{s}
}

// deepen brings the history behind the base into the mirror.
func (s *session) deepen(ctx context.Context) error {
	if has, err := s.mirror.HasHistory(ctx, s.base, trusted.HistoryDepth); has || err != nil {
		return err
	}
	remote, err := s.forge.Remote(ctx, s.repo.RepoRef, vcs.Read)
	if err != nil {
		return fmt.Errorf("asking for read access: %w", err)
	}
	return s.mirror.Deepen(ctx, remote, trusted.HistoryDepth, s.base)
}

// coChanged tells which files changed together with others, from the history
// that the mirror has. That of a checkout on this machine is brought in first,
// which costs nothing worth mentioning; a forge is not asked for it.
func (s *session) coChanged(ctx context.Context) outline.CoChanged {
	deepened := s.repo.Forge != vcs.Local
	return func(paths []string) []string {
		if !deepened {
			deepened = true
			if err := s.deepen(ctx); err != nil {
				s.log.Warn("history could not be brought in", "error", err)
			}
		}
		together, err := s.mirror.CoChanged(ctx, s.base, paths)
		if err != nil {
			s.log.Warn("history could not be read", "error", err)
		}
		return together
	}
}
