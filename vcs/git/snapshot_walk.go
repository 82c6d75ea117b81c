package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// snapWalk looks at everything in a workspace that is the run's.
type snapWalk struct {
	walker
	s     *Snapshots
	first bool // what is ignored now is foreign
	list  []seenNode
	left  []Left
	// within is how much of the ignored directory that is being walked was met.
	within int
}

// seenNode is a path with what stands there; files are not read yet.
type seenNode struct {
	node
	foundFile
}

// errCrowded says that an ignored directory holds too much to be told apart.
var errCrowded = errors.New("too many files")

func (k *snapWalk) walk(ctx context.Context) error {
	top, err := k.root.OpenRoot(".")
	if err != nil {
		return fmt.Errorf("opening workspace: %w", err)
	}
	defer top.Close()
	return k.dir(ctx, top, "", nil, nil, place{})
}

// place is where in the tree the walk is.
type place struct {
	depth   int
	ignored bool // in an ignored directory
}

func (k *snapWalk) dir(ctx context.Context, d *os.Root, rel string, info fs.FileInfo, stack ignoreStack, at place) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	names, err := k.names(d, info)
	if err != nil {
		if errors.Is(err, ErrTooLarge) || rel == "" {
			return err
		}
		k.drop(rel)
		k.unkept(rel, "cannot be listed: %v", errno(err))
		return nil
	}
	if at.ignored {
		if k.within += len(names); k.within > k.s.opts.MaxIgnored {
			return errCrowded
		}
	} else if stack, err = k.rules(d, rel, names, stack); err != nil {
		return err
	}
	for _, name := range names {
		if err := k.entry(ctx, d, join(rel, name), name, stack, at); err != nil {
			return err
		}
	}
	return nil
}

func (k *snapWalk) entry(ctx context.Context, d *os.Root, p, name string, stack ignoreStack, at place) error {
	if isDotGit(name) || k.w.base.files[p].mode == filemode.Submodule || k.s.foreign[p] == foreignOpaque {
		return nil
	}
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		k.unkept(p, "cannot be looked at: %v", errno(err))
		return nil
	}
	ignored := at.ignored || !k.tracked(p) && stack.ignored(p, info.IsDir())
	switch {
	case ignored && k.first:
		k.s.foreign[p] = foreignEntry
	case k.s.foreign[p] != 0:
		ignored = true
	case info.IsDir():
	default:
		k.file(d, p, name, info)
		return nil
	}
	if !info.IsDir() {
		return nil
	}
	return k.subdir(ctx, d, p, name, info, stack, place{at.depth + 1, ignored}, !at.ignored && ignored)
}

func (k *snapWalk) tracked(p string) bool {
	if _, ok := k.w.base.files[p]; ok {
		return true
	}
	_, ok := k.w.base.dirs[p]
	return ok
}

// subdir walks a directory; top is whether it is an ignored one in one that is
// not.
func (k *snapWalk) subdir(ctx context.Context, d *os.Root, p, name string, info fs.FileInfo, stack ignoreStack, at place, top bool) error {
	if k.s.opaque[p] || at.depth > k.w.limits.MaxDepth || len(p) > maxLink {
		k.unkept(p, "holds too many files or directories")
		return nil
	}
	sub, err := d.OpenRoot(name)
	if err != nil {
		k.unkept(p, "cannot be opened: %v", errno(err))
		return nil
	}
	defer sub.Close()
	mark, leftMark := len(k.list), len(k.left)
	if k.s.foreign[p] == 0 {
		k.list = append(k.list, seenNode{node: node{kind: nodeDir, perm: info.Mode().Perm()}, foundFile: foundFile{path: p, info: info}})
	}
	if top {
		k.within = 0
	}
	err = k.dir(ctx, sub, p, info, stack, at)
	if top && errors.Is(err, errCrowded) {
		k.list, k.left = k.list[:mark], k.left[:leftMark]
		k.crowded(p)
		return nil
	}
	return err
}

// crowded leaves an ignored directory alone from now on.
func (k *snapWalk) crowded(p string) {
	if k.first || k.s.foreign[p] != 0 {
		k.s.foreign[p] = foreignOpaque
		return
	}
	k.s.opaque[p] = true
	k.unkept(p, "ignored, and holds more than %d files", k.s.opts.MaxIgnored)
}

// drop takes back the directory that was noted last, if it is the one.
func (k *snapWalk) drop(p string) {
	if n := len(k.list); n > 0 && k.list[n-1].path == p {
		k.list = k.list[:n-1]
	}
}

func (k *snapWalk) unkept(p, format string, args ...any) {
	k.list = append(k.list, seenNode{node: node{kind: nodeUnkept}, foundFile: foundFile{path: p}})
	k.left = append(k.left, Left{p, fmt.Sprintf(format, args...)})
}

func (k *snapWalk) file(d *os.Root, p, name string, info fs.FileInfo) {
	n := seenNode{foundFile: foundFile{path: p, info: info}, node: node{kind: nodeFile, perm: info.Mode().Perm()}}
	n.stamp, n.links, _, _, n.known = stampOf(info)
	switch {
	case n.isLink():
		target, err := d.Readlink(name)
		if err != nil || len(target) > maxLink {
			k.unkept(p, "link cannot be read")
			return
		}
		n.link, n.node = target, node{kind: nodeLink}
	case !info.Mode().IsRegular():
		n.node = node{kind: nodeSpecial}
		k.left = append(k.left, Left{p, "not a file: " + info.Mode().Type().String()})
	case n.links > 1:
		k.inodes[[2]uint64{n.stamp.dev, n.stamp.ino}]++
	}
	k.list = append(k.list, n)
}
