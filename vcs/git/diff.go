package git

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

const (
	// diffContext is the unchanged lines shown around a change, as git's.
	diffContext = 3
	// MaxDiff is the size in bytes at which a diff ends, between files, with
	// a line that says so.
	MaxDiff = 8 << 20
	// abbrev is the length of object names in a diff.
	abbrev = 12
)

// Diff prints the changes as a unified diff in git's format, fit for git
// apply except for binary files, which are only named. With paths, only those
// and what is under them. At MaxDiff bytes it ends with a notice.
func (w *Workspace) Diff(ctx context.Context, set *ChangeSet, paths ...string) (string, error) {
	return w.mirror.Diff(ctx, set.Files, paths...)
}

// Diff prints file changes as Workspace.Diff does; their blobs are in the mirror.
func (m *Mirror) Diff(ctx context.Context, files []FileChange, paths ...string) (string, error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	var out strings.Builder
	for i, fc := range files {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if !selected(fc.Path, paths) {
			continue
		}
		text, err := o.diffFile(fc)
		if err != nil {
			return "", m.markDamaged(err)
		}
		if out.Len()+len(text) > MaxDiff {
			fmt.Fprintf(&out, "# cut: %d of %d files are not shown\n", len(files)-i, len(files))
			break
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// DiffCommits lists how the tree of commit to differs from that of from. Both
// have to be in the mirror.
func (m *Mirror) DiffCommits(ctx context.Context, from, to string) ([]FileChange, error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var trees [2]*flatTree
	for i, sha := range []string{from, to} {
		c, err := o.commit(sha)
		if err != nil {
			return nil, err
		}
		if trees[i], err = o.flatten(ctx, c.TreeHash); err != nil {
			return nil, m.markDamaged(err)
		}
	}
	var out []FileChange
	for _, p := range differing(trees[0].files, trees[1].files) {
		fc, err := o.describe(p, trees[0].files[p], trees[1].files[p])
		if err != nil {
			return nil, m.markDamaged(err)
		}
		out = append(out, fc)
	}
	return out, nil
}

func selected(p string, paths []string) bool {
	if len(paths) == 0 {
		return true
	}
	for _, want := range paths {
		want = strings.TrimSuffix(want, "/")
		if p == want || strings.HasPrefix(p, want+"/") {
			return true
		}
	}
	return false
}

// diffFile prints one change. A change of type is a deletion and an addition,
// as git prints it.
func (o *objects) diffFile(fc FileChange) (string, error) {
	before, err := parseEntry(fc.OldMode, fc.OldHash)
	if err != nil {
		return "", err
	}
	after, err := parseEntry(fc.NewMode, fc.NewHash)
	if err != nil {
		return "", err
	}
	if before != (entry{}) && after != (entry{}) && before.regular() != after.regular() {
		gone, err := o.diffEntries(fc.Path, before, entry{})
		if err != nil {
			return "", err
		}
		come, err := o.diffEntries(fc.Path, entry{}, after)
		return gone + come, err
	}
	return o.diffEntries(fc.Path, before, after)
}

func (o *objects) diffEntries(p string, before, after entry) (string, error) {
	var out strings.Builder
	oldName, newName := quotePath("a/"+p), quotePath("b/"+p)
	fmt.Fprintf(&out, "diff --git %s %s\n", oldName, newName)
	suffix := ""
	switch {
	case before == (entry{}):
		fmt.Fprintf(&out, "new file mode %s\n", modeText(after.mode))
		oldName = "/dev/null"
	case after == (entry{}):
		fmt.Fprintf(&out, "deleted file mode %s\n", modeText(before.mode))
		newName = "/dev/null"
	case before.mode != after.mode:
		fmt.Fprintf(&out, "old mode %s\nnew mode %s\n", modeText(before.mode), modeText(after.mode))
	default:
		suffix = " " + modeText(after.mode)
	}
	if before.hash == after.hash {
		return out.String(), nil
	}
	fmt.Fprintf(&out, "index %s..%s%s\n", short(before.hash), short(after.hash), suffix)
	a, b, ok, err := o.diffContents(before, after)
	if err != nil {
		return "", err
	}
	if !ok || isBinary(a) || isBinary(b) {
		fmt.Fprintf(&out, "Binary files %s and %s differ\n", oldName, newName)
		return out.String(), nil
	}
	body := hunks(splitLines(a), splitLines(b))
	if body != "" {
		fmt.Fprintf(&out, "--- %s\n+++ %s\n%s", tabbed(oldName), tabbed(newName), body)
	}
	return out.String(), nil
}

// diffContents reads both sides; a submodule's is the line git shows.
func (o *objects) diffContents(before, after entry) (a, b []byte, ok bool, err error) {
	if before.mode != filemode.Submodule && after.mode != filemode.Submodule {
		return o.contents(before, after)
	}
	line := func(e entry) []byte {
		if e == (entry{}) {
			return nil
		}
		return []byte("Subproject commit " + e.hash.String() + "\n")
	}
	return line(before), line(after), true, nil
}

func short(h plumbing.Hash) string { return h.String()[:abbrev] }

// tabbed ends names with blanks in a tab, as git does for patch(1).
func tabbed(name string) string {
	if strings.Contains(name, " ") && !strings.HasPrefix(name, `"`) {
		return name + "\t"
	}
	return name
}

// quotePath spells a name as git does (quote.c): in C quotes when it holds
// control characters, quotes, backslashes or bytes beyond ASCII.
func quotePath(p string) string {
	var out strings.Builder
	plain := true
	for _, c := range []byte(p) {
		if i := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); i >= 0 {
			out.WriteString(`\` + `abtnvfr"\`[i:i+1])
			plain = false
		} else if c < ' ' || c >= 0x7f {
			fmt.Fprintf(&out, `\%03o`, c)
			plain = false
		} else {
			out.WriteByte(c)
		}
	}
	if plain {
		return p
	}
	return `"` + out.String() + `"`
}

// hunks prints the edits between two files with their context.
func hunks(a, b [][]byte) string {
	var out bytes.Buffer
	edits := diffLines(a, b)
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].a1-edits[n-1].a2 <= 2*diffContext {
			n++
		}
		writeHunk(&out, a, b, edits[:n])
		edits = edits[n:]
	}
	return out.String()
}

func writeHunk(out *bytes.Buffer, a, b [][]byte, edits []edit) {
	first, last := edits[0], edits[len(edits)-1]
	lead := min(diffContext, first.a1)
	a1, b1 := first.a1-lead, first.b1-lead
	trail := min(diffContext, len(a)-last.a2)
	a2, b2 := last.a2+trail, last.b2+trail
	fmt.Fprintf(out, "@@ -%s +%s @@\n", lineRange(a1, a2), lineRange(b1, b2))
	at := a1
	for _, e := range edits {
		writeLines(out, ' ', a[at:e.a1])
		writeLines(out, '-', a[e.a1:e.a2])
		writeLines(out, '+', b[e.b1:e.b2])
		at = e.a2
	}
	writeLines(out, ' ', a[at:a2])
}

// lineRange is "start,count", 1-based; an empty range names the line before.
func lineRange(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *bytes.Buffer, mark byte, lines [][]byte) {
	for _, l := range lines {
		out.WriteByte(mark)
		out.Write(l)
		if l[len(l)-1] != '\n' {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
