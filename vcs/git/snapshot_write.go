package git

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// tempPrefix begins the name of a file that is being written.
const tempPrefix = ".greenwright-restore-"

// errInTheWay says that what is needed as a directory is none.
var errInTheWay = errors.New("a directory above it is not there, or is something else: name that as well")

// openDir opens a directory beneath the workspace, each component in turn and
// none through a link, so that nothing lands where a link leads.
func (r *restoring) openDir(dir string) (*os.Root, error) {
	at, err := r.root.OpenRoot(".")
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	for rest := dir; rest != ""; {
		name, more := cutFirst(rest)
		next, err := stepInto(at, name)
		_ = at.Close() // a directory's descriptor
		if err != nil {
			return nil, err
		}
		at, rest = next, more
	}
	return at, nil
}

func cutFirst(p string) (first, rest string) {
	for i := range len(p) {
		if p[i] == '/' {
			return p[:i], p[i+1:]
		}
	}
	return p, ""
}

// stepInto opens the directory of the name in at, which is not a link.
func stepInto(at *os.Root, name string) (*os.Root, error) {
	info, err := at.Lstat(name)
	if err != nil || !info.IsDir() {
		return nil, errInTheWay
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("directory cannot be opened: %w", errno(err))
	}
	now, err := next.Stat(".")
	if err != nil || !os.SameFile(info, now) {
		_ = next.Close() // a directory's descriptor
		return nil, errMoved
	}
	return next, nil
}

func baseName(p string) string { return p[len(dirPrefix(parent(p))):] }

// unmoved refuses to touch what is not as the snapshot before has it.
func (r *restoring) unmoved(d *os.Root, p string) error {
	info, err := d.Lstat(baseName(p))
	switch n := r.present(p); {
	case errors.Is(err, fs.ErrNotExist) && n.kind == nodeAbsent:
		return nil
	case err != nil:
		return fmt.Errorf("cannot be looked at: %w", errno(err))
	case n.kind == nodeAbsent:
		return errors.New("something stands there that is not the run's")
	case n.kind == nodeDir && info.IsDir():
		return nil
	case n.kind == nodeDir || info.IsDir():
		return errMoved
	}
	now, _, _, _, known := stampOf(info)
	if was := r.now.stamps[p]; known && now != was && !sameButLinks(now, was) {
		return errMoved
	}
	return nil
}

// sameButLinks forgives what another name's removal does to a file: its change
// time.
func sameButLinks(a, b stamp) bool {
	a.ctime, b.ctime = 0, 0
	return a == b
}

// remove takes away a file, a link or an empty directory.
func (r *restoring) remove(p string, n node) error {
	d, err := r.openDir(parent(p))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := r.unmoved(d, p); err != nil {
		return err
	}
	err = d.Remove(baseName(p))
	switch {
	case err == nil:
		return nil
	case n.kind == nodeDir && (errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)):
		return errors.New("holds something that is not kept: files ignored from the start, a repository, or what was left")
	}
	return fmt.Errorf("cannot be removed: %w", errno(err))
}

// makeDir makes a directory; its permissions come last.
func (r *restoring) makeDir(p string) error {
	d, err := r.openDir(parent(p))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Mkdir(baseName(p), dirMode); err != nil {
		return fmt.Errorf("cannot be made: %w", errno(err))
	}
	if r.s.w.uid < 0 && r.s.w.gid < 0 {
		return nil
	}
	if err := d.Lchown(baseName(p), r.s.w.uid, r.s.w.gid); err != nil {
		return fmt.Errorf("cannot be given to the run: %w", errno(err))
	}
	return nil
}

// put writes a file or link under another name and renames it into place, so
// that what stood there is exchanged at once and never written through.
func (r *restoring) put(p string, n node) error {
	d, err := r.openDir(parent(p))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := r.free(d, p); err != nil {
		return err
	}
	temp := tempPrefix + rand.Text()
	if n.kind == nodeLink {
		err = r.link(d, temp, n)
	} else {
		err = r.file(d, temp, n)
	}
	if err == nil {
		if err = d.Rename(temp, baseName(p)); err == nil {
			return nil
		}
		err = fmt.Errorf("cannot be put in place: %w", errno(err))
	}
	return errors.Join(err, ignoreMissing(d.Remove(temp)))
}

// free checks that a place is as it is believed to be: a directory there was
// removed before.
func (r *restoring) free(d *os.Root, p string) error {
	if r.present(p).kind != nodeDir {
		return r.unmoved(d, p)
	}
	if _, err := d.Lstat(baseName(p)); !errors.Is(err, fs.ErrNotExist) {
		return errMoved
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (r *restoring) link(d *os.Root, name string, n node) error {
	var target bytes.Buffer
	if err := r.content(n.hash, &target); err != nil {
		return err
	}
	if err := d.Symlink(target.String(), name); err != nil {
		return fmt.Errorf("link cannot be made: %w", errno(err))
	}
	if r.s.w.uid < 0 && r.s.w.gid < 0 {
		return nil
	}
	if err := d.Lchown(name, r.s.w.uid, r.s.w.gid); err != nil {
		return fmt.Errorf("cannot be given to the run: %w", errno(err))
	}
	return nil
}

func (r *restoring) file(d *os.Root, name string, n node) (err error) {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("cannot be written: %w", errno(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := r.content(n.hash, f); err != nil {
		return err
	}
	if r.s.w.uid >= 0 || r.s.w.gid >= 0 {
		if err := f.Chown(r.s.w.uid, r.s.w.gid); err != nil {
			return fmt.Errorf("cannot be given to the run: %w", errno(err))
		}
	}
	if err := f.Chmod(n.perm); err != nil {
		return fmt.Errorf("permissions cannot be set: %w", errno(err))
	}
	return nil
}

// permit sets a directory's permissions.
func (r *restoring) permit(p string) {
	then := r.target(p)
	if then.kind != nodeDir || r.leftAbove(p) {
		return
	}
	d, err := r.openDir(parent(p))
	if err != nil {
		r.left(p, "%s", err)
		return
	}
	defer d.Close()
	f, err := d.OpenFile(baseName(p), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		r.left(p, "permissions cannot be set: %s", errno(err))
		return
	}
	defer f.Close()
	if err := f.Chmod(then.perm); err != nil {
		r.left(p, "permissions cannot be set: %s", errno(err))
		return
	}
	if r.present(p).kind == nodeDir {
		r.out.Dirs++
	}
}
