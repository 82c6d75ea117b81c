package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

// Audit checks the journal of a run in the archive, or a journal file: a name
// that is that of a file is meant as one. load is asked for the configuration
// only where the archive is needed. An error says that nothing could be looked
// at.
func Audit(ctx context.Context, load func() (config.Config, error), name, head string, log *slog.Logger) (journal.AuditReport, error) {
	content, err := journal.ReadFile(name)
	switch {
	case err == nil:
		return journal.Audit(content, head), nil
	case !errors.Is(err, os.ErrNotExist):
		return journal.AuditReport{}, fmt.Errorf("reading a journal: %w", err)
	}
	cfg, err := load()
	if err != nil {
		return journal.AuditReport{}, err
	}
	a, err := openArchive(ctx, cfg, log)
	if err != nil {
		return journal.AuditReport{}, err
	}
	defer a.close()
	content, err = a.Journal(ctx, jobs.RunID(name))
	if errors.Is(err, vcs.ErrNotFound) || errors.Is(err, vcs.ErrInvalid) {
		return journal.AuditReport{}, fmt.Errorf("%w: %q is neither a file nor a run in %s", vcs.ErrNotFound, name, a.place)
	}
	if err != nil {
		return journal.AuditReport{}, err
	}
	return journal.Audit(content, head), nil
}
