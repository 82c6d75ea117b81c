package runner

import (
	"context"

	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/repoconfig"
	"github.com/greenwright/greenwright/vcs/git"
)

// Guides is what a run on the commit is given of the maintainers' rules.
func Guides(ctx context.Context, m *git.Mirror, commit string, records *journal.Writer, also ...string) (string, error) {
	s := &session{mirror: m, records: records, config: repoconfig.Config{Instructions: also}}
	s.trusted = commit
	err := s.readGuides(ctx)
	return s.guides, err
}

// BranchWords is branchWords.
var BranchWords = branchWords

// Hides says why a command cannot be shown to people as it is.
func Hides(command string) string { return hides(command, maxCommandLine) }
