package store

import (
	"context"
	"errors"

	"github.com/greenwright/greenwright/jobs"
)

// Journal is the live journal of one run, written under its lease.
type Journal struct {
	lease *Lease
	key   string
}

// Journal opens the stream of a run for its lease's holder.
func (l *Lease) Journal(run jobs.RunID) *Journal {
	return &Journal{lease: l, key: key("journal", string(run))}
}

// Append adds the line with the sequence number, which must be above the
// last; jobs.ErrLeaseLost when the lease has gone, a *jobs.GapError when the
// one before it is not there.
func (j *Journal) Append(ctx context.Context, seq uint64, line []byte) error {
	ok, err := j.lease.store.scripts.append.Run(ctx, j.lease.store.redis, []string{j.lease.key, j.key}, j.lease.owner, seq, line, int(journalRetention.Seconds())).Int()
	if err != nil {
		return unavailable("writing the journal", err)
	}
	switch {
	case ok == 0:
		return jobs.ErrLeaseLost
	case ok < 0:
		return &jobs.GapError{Have: uint64(-ok)}
	}
	return nil
}

// JournalLines reads a run's live journal from the beginning.
func (s *Store) JournalLines(ctx context.Context, run jobs.RunID) ([][]byte, error) {
	msgs, err := s.redis.XRange(ctx, key("journal", string(run)), "-", "+").Result()
	if err != nil {
		return nil, unavailable("reading the journal", err)
	}
	var out [][]byte
	for _, m := range msgs {
		line, ok := m.Values["r"].(string)
		if !ok {
			return nil, errors.New("a journal entry has no record")
		}
		out = append(out, []byte(line))
	}
	return out, nil
}

// Archived says that the archive has the run's journal: it is kept here for
// an hour more, for those who are reading it. Appending to it keeps it again.
func (s *Store) Archived(ctx context.Context, run jobs.RunID) error {
	return unavailable("shortening a journal's life", s.redis.Expire(ctx, key("journal", string(run)), archivedRetention).Err())
}
