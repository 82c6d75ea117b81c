package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/greenwright/greenwright/agent/tool/ignore"
)

const (
	// MaxWalked is how many entries one walk visits.
	MaxWalked = 100_000
	maxDepth  = 100
	maxIgnore = 256 << 10 // bytes of one .gitignore
)

// ErrWalkLimit is returned by Walk when it stopped at [MaxWalked] entries.
var ErrWalkLimit = errors.New("workspace: too many files")

// SkipAll is returned by the function given to Walk to end the walk without
// error.
var SkipAll = fs.SkipAll //nolint:errname,gochecknoglobals // the standard library's own name for it

// Entry is one file, directory or symlink met on a walk.
type Entry struct {
	Path string // relative, slash-separated
	Info fs.FileInfo
}

// Walk calls visit for what is below dir, in order of name, directories before
// what they hold. It leaves out .git, what the repository's .gitignore files
// ignore (unless all), and never follows a symlink.
func (w *Workspace) Walk(ctx context.Context, dir string, all bool, visit func(Entry) error) error {
	k := &walk{w: w, ctx: ctx, all: all, visit: visit}
	var rules *ignore.List
	if !all {
		rules = k.above(dir)
	}
	err := k.directory(dir, rules, 0)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

type walk struct {
	w     *Workspace
	ctx   context.Context // of the one call to Walk
	all   bool
	visit func(Entry) error
	count int
}

// above collects the rules of the directories over dir.
func (k *walk) above(dir string) *ignore.List {
	var rules *ignore.List
	if dir == "." {
		return rules
	}
	rules = k.rules(rules, ".")
	at := ""
	parts := strings.Split(dir, "/")
	for _, part := range parts[:len(parts)-1] {
		at = path.Join(at, part)
		rules = k.rules(rules, at)
	}
	return rules
}

func (k *walk) rules(above *ignore.List, dir string) *ignore.List {
	name := path.Join(dir, ".gitignore")
	info, err := k.w.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnore {
		return above
	}
	f, err := k.w.Read(Path{Name: name, Real: name})
	if err != nil {
		return above
	}
	if dir == "." {
		dir = ""
	}
	return above.With(dir, string(f.Bytes))
}

func (k *walk) directory(dir string, rules *ignore.List, depth int) error {
	if depth > maxDepth {
		return nil
	}
	entries, err := k.list(dir)
	if err != nil && depth > 0 {
		return nil // unreadable or gone in the meantime
	}
	if err != nil {
		return err
	}
	if !k.all {
		rules = k.rules(rules, dir)
	}
	for _, e := range entries {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		if err := k.entry(path.Join(dir, e.Name()), e, rules, depth); err != nil {
			return err
		}
	}
	return nil
}

// list reads a directory. It is opened as one and without blocking, because a
// command may put a FIFO in its place at any moment.
func (k *walk) list(dir string) ([]fs.DirEntry, error) {
	d, err := k.w.openDir(dir)
	if err != nil {
		return nil, notFound(Path{Name: dir}, err)
	}
	defer d.Close()
	entries, err := d.ReadDir(MaxWalked)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func (w *Workspace) openDir(dir string) (*os.File, error) {
	return w.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
}

func (k *walk) entry(name string, e fs.DirEntry, rules *ignore.List, depth int) error {
	if isGit(e.Name()) || (!k.all && rules.Ignored(name, e.IsDir())) {
		return nil
	}
	if k.count++; k.count > MaxWalked {
		return ErrWalkLimit
	}
	info, err := k.w.root.Lstat(name)
	if err != nil {
		return nil //nolint:nilerr // gone in the meantime
	}
	if err := k.visit(Entry{Path: name, Info: info}); err != nil {
		return err
	}
	if !info.IsDir() {
		return nil
	}
	return k.directory(name, rules, depth+1)
}
