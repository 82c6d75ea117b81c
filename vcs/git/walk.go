package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// foundFile is a regular file or link in a workspace, not read yet.
type foundFile struct {
	path  string
	info  fs.FileInfo
	stamp stamp
	known bool   // the stamp can be trusted to tell changes
	links uint64 // names of the file, anywhere
	link  string // target, of a link
}

func (f foundFile) isLink() bool { return f.info.Mode()&fs.ModeSymlink != 0 }

// walker goes through a workspace without following a link.
type walker struct {
	w       *Workspace
	objects *objects
	root    *os.Root
	notes   *notes
	entries int
	found   []foundFile
	refused []string // paths that keep the base's state, with all below them
	inodes  map[[2]uint64]uint64
}

// refuse leaves the base's state at path and under it.
func (k *walker) refuse(kind NoteKind, path, format string, args ...any) {
	k.notes.add(kind, path, format, args...)
	k.refused = append(k.refused, path)
}

func (k *walker) walk(ctx context.Context) error {
	k.inodes = map[[2]uint64]uint64{}
	top, err := k.root.OpenRoot(".")
	if err != nil {
		return fmt.Errorf("opening workspace: %w", err)
	}
	defer top.Close()
	return k.dir(ctx, top, "", nil, nil, 0)
}

// dir looks at everything in one directory, which d holds open and which has
// to be the one that info describes, if given.
func (k *walker) dir(ctx context.Context, d *os.Root, rel string, info fs.FileInfo, stack ignoreStack, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	names, err := k.names(d, info)
	if err != nil {
		if errors.Is(err, ErrTooLarge) {
			return err
		}
		if errors.Is(err, errMoved) {
			k.refuse(NoteMoving, rel, "directory was exchanged while it was read")
			return nil
		}
		k.refuse(NoteUnreadable, rel, "directory cannot be listed: %v", errno(err))
		return nil
	}
	stack, err = k.rules(d, rel, names, stack)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := k.entry(ctx, d, rel, name, stack, depth); err != nil {
			return err
		}
	}
	return nil
}

// readBatch is how many names are read at once, so that a directory with too
// many is noticed before they fill memory.
const readBatch = 4096

// names lists a directory, sorted; errMoved when it is not the one that info
// describes.
func (k *walker) names(d *os.Root, info fs.FileInfo) ([]string, error) {
	f, err := d.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info != nil {
		if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
			return nil, errMoved
		}
	}
	var all []string
	for {
		names, err := f.Readdirnames(readBatch)
		all = append(all, names...)
		if k.entries += len(names); k.entries > k.w.limits.MaxEntries {
			return nil, fmt.Errorf("%w: workspace holds more than %d files", ErrTooLarge, k.w.limits.MaxEntries)
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(all)
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// rules adds a directory's .gitignore: the base's, and the workspace's own
// where it differs. It can only leave untracked files out.
func (k *walker) rules(d *os.Root, rel string, names []string, stack ignoreStack) (ignoreStack, error) {
	p := join(rel, ".gitignore")
	var lists []ignoreList
	if e, ok := k.w.base.files[p]; ok && e.regular() {
		data, err := k.objects.blob(e.hash, maxRuleFile)
		if err != nil && !isTooLarge(err) {
			return nil, err
		}
		lists = append(lists, parseIgnore(rel, data))
	}
	if _, there := slices.BinarySearch(names, ".gitignore"); !there {
		return stack.with(lists...), nil
	}
	info, err := d.Lstat(".gitignore")
	if err == nil && info.Mode().IsRegular() && info.Size() <= maxRuleFile {
		if data, err := readChecked(d, ".gitignore", info, maxRuleFile); err == nil {
			lists = append(lists, parseIgnore(rel, data))
		}
	}
	return stack.with(lists...), nil
}

func (k *walker) entry(ctx context.Context, d *os.Root, rel, name string, stack ignoreStack, depth int) error {
	p := join(rel, name)
	if isDotGit(name) {
		if p != ".git" {
			k.notes.add(NoteDotGit, p, "left out: it is, or some systems take it for, a repository's own directory")
		}
		return nil
	}
	base, tracked := k.w.base.files[p]
	if tracked && base.mode == filemode.Submodule {
		return nil // kept whatever stands there
	}
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		k.refuse(NoteUnreadable, p, "cannot be looked at: %v", errno(err))
		return nil
	}
	if info.IsDir() {
		return k.subdir(ctx, d, p, name, info, stack, depth)
	}
	if !tracked && stack.ignored(p, false) {
		k.notes.add(NoteIgnored, p, "untracked and ignored: left out")
		return nil
	}
	k.file(d, p, name, info)
	return nil
}

func (k *walker) subdir(ctx context.Context, d *os.Root, p, name string, info fs.FileInfo, stack ignoreStack, depth int) error {
	if _, tracked := k.w.base.dirs[p]; !tracked && stack.ignored(p, true) {
		k.notes.add(NoteIgnored, p, "untracked and ignored: left out")
		return nil
	}
	if depth+1 > k.w.limits.MaxDepth || len(p) > maxLink {
		k.refuse(NoteTooDeep, p, "deeper than %d directories", k.w.limits.MaxDepth)
		return nil
	}
	sub, err := d.OpenRoot(name)
	if err != nil {
		k.refuse(NoteUnreadable, p, "directory cannot be opened: %v", errno(err))
		return nil
	}
	defer sub.Close()
	return k.dir(ctx, sub, p, info, stack, depth+1)
}

func (k *walker) file(d *os.Root, p, name string, info fs.FileInfo) {
	f := foundFile{path: p, info: info}
	f.stamp, f.links, _, _, f.known = stampOf(info)
	switch {
	case f.isLink():
		target, err := d.Readlink(name)
		if err != nil {
			k.refuse(NoteUnreadable, p, "link cannot be read: %v", errno(err))
			return
		}
		f.link = target
	case !info.Mode().IsRegular():
		k.refuse(NoteSpecial, p, "not a file: %s", info.Mode().Type())
		return
	}
	if f.links > 1 {
		k.inodes[[2]uint64{f.stamp.dev, f.stamp.ino}]++
	}
	if !plainName(name) {
		k.notes.add(NoteName, p, "name is not plain text; kept byte by byte")
	}
	k.found = append(k.found, f)
}

func plainName(name string) bool {
	if !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}

// errMoved says that what was opened is not what was looked at.
var errMoved = errors.New("changed while it was read")

// readChecked reads the regular file that info describes. It does not wait
// for a FIFO's writer and refuses anything that took the file's place, so
// name may go through directories that a hostile process exchanges.
func readChecked(d *os.Root, name string, info fs.FileInfo, limit int64) ([]byte, error) {
	f, err := d.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !now.Mode().IsRegular() || !os.SameFile(info, now) {
		return nil, errMoved
	}
	if now.Size() > limit {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, now.Size())
	}
	buf := make([]byte, now.Size()+1)
	n, err := io.ReadFull(f, buf)
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, cmp.Or(err, errMoved)
	}
	return buf[:n], nil
}

// errno gives an error without the path, which is in the note already.
func errno(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
