package runner

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/untrusted"
	"github.com/greenwright/greenwright/vcs"
)

// guideFiles are where maintainers write rules for whoever writes code, and
// nestedGuides what they may have in other directories.
var (
	guideFiles   = []string{"AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"}
	nestedGuides = []string{"AGENTS.md", "CLAUDE.md"}
	// foreignDirs hold other people's code, and other people's rules.
	foreignDirs = []string{"vendor", "node_modules", "third_party", "testdata"}
)

const (
	// maxGuide bounds each file.
	maxGuide = 24 << 10
	// maxNested bounds the nested ones together, about 6,000 tokens.
	maxNested = 24 << 10
	// maxUnread is how many names of files that are left out are listed.
	maxUnread = 50
)

// guide is the maintainers' rules being put together.
type guide struct {
	s      *session
	text   strings.Builder
	seen   map[[sha256.Size]byte]bool // one text under two names is given once
	nested int                        // bytes of nested files so far
	unread []string                   // nested files that are left out
}

// readGuides reads the maintainers' instruction files from the base branch,
// never from the head under review: those at the top whole, nested ones in the
// order of their paths as far as the budget goes. Imports (@file) in them are
// not followed.
func (s *session) readGuides(ctx context.Context) error {
	g := &guide{s: s, seen: map[[sha256.Size]byte]bool{}}
	top := slices.Concat(guideFiles, s.config.Instructions)
	for _, name := range top {
		content, err := g.read(ctx, path.Clean(name))
		if err != nil {
			return err
		}
		if content != "" {
			fmt.Fprintf(&g.text, "## %s\n\n%s\n\n", name, content)
		}
	}
	if err := g.readNested(ctx, top); err != nil {
		return err
	}
	s.guides = g.text.String()
	return nil
}

// read is a file's text as a model may see it; empty when there is none, or
// none that was not given already.
func (g *guide) read(ctx context.Context, name string) (string, error) {
	content, err := g.s.mirror.ReadFile(ctx, g.s.trusted, name, maxGuide)
	if errors.Is(err, vcs.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", g.s.note(ctx, journal.NoteNotice, "%s was not read: %v", name, err)
	}
	sum := sha256.Sum256(content)
	if g.seen[sum] {
		return "", nil
	}
	g.seen[sum] = true
	return untrusted.Visible(string(content)), nil
}

func (g *guide) readNested(ctx context.Context, top []string) error {
	names, err := g.s.mirror.FindFiles(ctx, g.s.trusted, nestedGuides...)
	if err != nil {
		return fmt.Errorf("looking for instruction files: %w", err)
	}
	for _, name := range names {
		if slices.Contains(top, name) || foreign(name) {
			continue
		}
		content, err := g.read(ctx, name)
		if err != nil {
			return err
		}
		if content == "" {
			continue
		}
		if g.nested+len(content) > maxNested {
			g.unread = append(g.unread, name)
			continue
		}
		g.nested += len(content)
		fmt.Fprintf(&g.text, "## %s (for work below %s)\n\n%s\n\n", untrusted.Visible(name), untrusted.Visible(path.Dir(name)), content)
	}
	g.nameUnread()
	return nil
}

// foreign reports a path in other people's code.
func foreign(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains(foreignDirs, part) {
			return true
		}
	}
	return false
}

// nameUnread says which files there are besides.
func (g *guide) nameUnread() {
	if len(g.unread) == 0 {
		return
	}
	g.text.WriteString("## Not shown for their length\n\nRead these before you change anything below their directories:\n")
	for i, name := range g.unread {
		if i == maxUnread {
			fmt.Fprintf(&g.text, "and %d more\n", len(g.unread)-i)
			return
		}
		g.text.WriteString("- " + untrusted.Visible(name) + "\n")
	}
}
