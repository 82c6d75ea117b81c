package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// find is the record of a job that is named by its id or its run's; nil for a
// run that only the archive knows. vcs.ErrNotFound for neither.
func (r *Runs) find(ctx context.Context, name string) (*store.JobRecord, jobs.RunID, error) {
	rec, redisErr := r.recordOf(ctx, name)
	if rec != nil {
		return rec, rec.Run, nil
	}
	_, err := r.archive.Journal(ctx, jobs.RunID(name))
	switch {
	case err == nil:
		return nil, jobs.RunID(name), nil
	case !errors.Is(err, vcs.ErrNotFound) && !errors.Is(err, vcs.ErrInvalid):
		return nil, "", err
	case redisErr != nil:
		return nil, "", fmt.Errorf("%q is no run in %s, and %w", name, r.archive.place, redisErr)
	}
	return nil, "", fmt.Errorf("%w: %q is neither a job nor a run", vcs.ErrNotFound, name)
}

// recordOf looks in Redis: nil without an error where it has no such record.
func (r *Runs) recordOf(ctx context.Context, name string) (*store.JobRecord, error) {
	st, err := r.records(ctx)
	if err != nil {
		return nil, err
	}
	rec, err := st.Job(ctx, jobs.JobID(name))
	if err == nil {
		return &rec, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	live, err := st.Live(ctx)
	if err != nil {
		return nil, err
	}
	recent, err := st.Recent(ctx, listAll)
	if err != nil {
		return nil, err
	}
	for _, rec := range append(live, recent...) {
		if string(rec.Run) == name {
			return &rec, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// lines are a run's journal: what Redis has, and in front of it what only the
// archive has.
func (r *Runs) lines(ctx context.Context, run jobs.RunID) ([][]byte, error) {
	var live [][]byte
	if st, err := r.records(ctx); err == nil {
		if live, err = st.JournalLines(ctx, run); err != nil {
			return nil, err
		}
	}
	lines, err := r.archive.Joined(ctx, run, live)
	if err == nil && len(lines) == 0 {
		err = fmt.Errorf("%w: no journal of run %s", vcs.ErrNotFound, run)
	}
	return lines, err
}
