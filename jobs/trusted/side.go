package trusted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/history"
	"github.com/greenwright/greenwright/agent/tool/restore"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// HistoryDepth is how many commits of history are brought into a mirror that
// holds less when history is first asked for: enough to tell where lines come
// from, and seconds even for large repositories.
const HistoryDepth = 1000

// Config is what a side is made of.
type Config struct {
	Mirror    *git.Mirror
	Workspace *git.Workspace
	// Snapshots of the workspace; nil keeps none, and Restore and Take fail.
	Snapshots *git.Snapshots
	// Deepen brings [HistoryDepth] commits behind the workspace's base into
	// the mirror. It is asked once, when history is first read. Nil, or an
	// error: history is as long as the mirror has it.
	Deepen func(context.Context) error
}

// Side is the trusted side of one workspace. It is safe for concurrent use.
type Side struct {
	cfg Config

	mu     sync.Mutex // guards deepen and shallow
	deepen bool       // was asked
	why    string     // why the history is not longer
}

// New makes the side.
func New(cfg Config) *Side { return &Side{cfg: cfg} }

// Diff implements [tool.Differ].
func (s *Side) Diff(ctx context.Context, paths []string) (string, error) {
	set, err := s.cfg.Workspace.Changes(ctx)
	if err != nil {
		return "", fmt.Errorf("comparing with the base: %w", err)
	}
	return s.cfg.Workspace.Diff(ctx, set, paths...)
}

// TreeHash names the state of the files (agent.TreeHasher).
func (s *Side) TreeHash(ctx context.Context) (string, error) { return s.cfg.Workspace.TreeHash(ctx) }

// ready brings history in, once.
func (s *Side) ready(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deepen || s.cfg.Deepen == nil {
		return nil
	}
	if err := s.cfg.Deepen(ctx); err != nil {
		if ctx.Err() != nil { // a call that was ended may be made again
			return fmt.Errorf("bringing history in: %w", err)
		}
		s.why = "older history could not be fetched"
	}
	s.deepen = true
	return nil
}

// Log implements [tool.Historian]. With an answer that is not whole comes a
// [*history.CutError].
func (s *Side) Log(ctx context.Context, q tool.LogQuery) ([]tool.Commit, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	base := s.cfg.Workspace.Base()
	got, err := s.cfg.Mirror.Log(ctx, base, git.LogQuery{Path: q.Path, Text: q.Text, Limit: q.Limit})
	if err = s.told(err); err != nil && !isCut(err) {
		return nil, err
	}
	out := make([]tool.Commit, len(got))
	for i, e := range got {
		out[i] = tool.Commit(e)
	}
	return out, err
}

// Blame implements [tool.Historian], as Log does.
func (s *Side) Blame(ctx context.Context, path string, from, to int) ([]tool.BlameLine, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	got, err := s.cfg.Mirror.Blame(ctx, s.cfg.Workspace.Base(), path, from, to)
	if err = s.told(err); err != nil && !isCut(err) {
		return nil, err
	}
	out := make([]tool.BlameLine, len(got))
	for i, l := range got {
		out[i] = tool.BlameLine(l)
	}
	return out, err
}

func isCut(err error) bool {
	var cut *history.CutError
	return errors.As(err, &cut)
}

// told puts an error into the words of the seam.
func (s *Side) told(err error) error {
	var cut *git.CutError
	switch {
	case errors.As(err, &cut):
		s.mu.Lock()
		defer s.mu.Unlock()
		return &history.CutError{Why: strings.TrimPrefix(s.why+"; "+cut.Why, "; ")}
	case errors.Is(err, vcs.ErrNotFound):
		return fmt.Errorf("%w: %w", tool.ErrNoSuchPath, err)
	case errors.Is(err, vcs.ErrInvalid), errors.Is(err, git.ErrTooLarge):
		return &history.RefusedError{Why: err.Error()}
	}
	return err
}

// errNoSnapshots says that nothing is kept in this run.
var errNoSnapshots = errors.New("no snapshots are kept")

// Take keeps the present state (agent.Snapshotter).
func (s *Side) Take(ctx context.Context, label string) (string, error) {
	if s.cfg.Snapshots == nil {
		return "", errNoSnapshots
	}
	return s.cfg.Snapshots.Take(ctx, label)
}

// Snapshots implements [tool.Restorer]. A label says what is not kept.
func (s *Side) Snapshots(context.Context) ([]tool.Snapshot, error) {
	if s.cfg.Snapshots == nil {
		return nil, errNoSnapshots
	}
	var out []tool.Snapshot
	for _, k := range s.cfg.Snapshots.List() {
		label := k.Label
		if len(k.Left) > 0 {
			label += " (without: " + strings.Join(texts(k.Left, maxNamed), "; ") + ")"
		}
		out = append(out, tool.Snapshot{ID: k.ID, Label: label})
	}
	return out, nil
}

// maxNamed is how many paths that are not kept a label names.
const maxNamed = 3

// Restore implements [tool.Restorer]. With paths that could not be restored
// comes a [*restore.PartialError] beside the answer.
func (s *Side) Restore(ctx context.Context, id string, paths []string) (tool.Restored, error) {
	if s.cfg.Snapshots == nil {
		return tool.Restored{}, errNoSnapshots
	}
	if !s.kept(id) {
		return tool.Restored{}, fmt.Errorf("%w: %q", tool.ErrNoSuchSnapshot, id)
	}
	got, err := s.cfg.Snapshots.Restore(ctx, id, paths)
	out := tool.Restored{Before: got.Before}
	for _, f := range got.Files {
		out.Effects = append(out.Effects, tool.FileEffect{Path: tool.Clean(f.Path), Before: f.Before, After: f.After})
	}
	if errors.Is(err, vcs.ErrNotFound) || errors.Is(err, vcs.ErrInvalid) {
		err = fmt.Errorf("%w: %w", tool.ErrNoSuchPath, err)
	}
	if err == nil && len(got.Left) > 0 {
		err = &restore.PartialError{Left: texts(got.Left, len(got.Left))}
	}
	return out, err
}

func (s *Side) kept(id string) bool {
	for _, k := range s.cfg.Snapshots.List() {
		if k.ID == id {
			return true
		}
	}
	return false
}

// texts are a few paths with why each was left.
func texts(left []git.Left, limit int) []string {
	var out []string
	for i, l := range left {
		if i == limit {
			return append(out, fmt.Sprintf("and %d more", len(left)-i))
		}
		out = append(out, strings.Join(strings.Fields(tool.Clean(l.Path)), " ")+": "+tool.Clean(l.Why))
	}
	return out
}
