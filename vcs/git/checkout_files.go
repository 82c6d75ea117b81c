package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sync/errgroup"

	"github.com/greenwright/greenwright/vcs"
)

// batch is some regular files of one directory.
type batch struct {
	dir   string
	paths []string
}

func (c *checkout) batches() []batch {
	open := map[string]int{} // directory → its unfinished batch
	var out []batch
	for _, p := range c.w.base.order {
		if !c.w.base.files[p].regular() {
			continue
		}
		d := parent(p)
		i, ok := open[d]
		if !ok || len(out[i].paths) >= batchFiles {
			i = len(out)
			out = append(out, batch{dir: d})
			open[d] = i
		}
		out[i].paths = append(out[i].paths, p)
	}
	return out
}

func (c *checkout) writeFiles(ctx context.Context) error {
	todo := make(chan batch)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(todo)
		for _, b := range c.batches() {
			select {
			case todo <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range workers() {
		g.Go(func() error {
			o, err := c.w.mirror.open()
			if err != nil {
				return err
			}
			defer o.close()
			for b := range todo {
				if err := c.writeBatch(ctx, o, b); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func (c *checkout) writeBatch(ctx context.Context, o *objects, b batch) error {
	dir := c.root
	if b.dir != "" {
		var err error
		if dir, err = c.root.OpenRoot(b.dir); err != nil {
			return fmt.Errorf("opening directory: %w", err)
		}
		defer dir.Close()
	}
	got := make(map[string]fileStat, len(b.paths))
	for _, p := range b.paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		st, err := c.writeFile(o, dir, p)
		if err != nil {
			return fmt.Errorf("writing %s: %w", p, err)
		}
		got[p] = st
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, st := range got {
		c.stamps[p] = st
	}
	return nil
}

func (c *checkout) writeFile(o *objects, dir *os.Root, p string) (st fileStat, err error) {
	e := c.w.base.files[p]
	mode := fs.FileMode(0o644)
	if e.mode == filemode.Executable {
		mode = 0o755
	}
	f, err := dir.OpenFile(p[len(dirPrefix(parent(p))):], os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := c.w.writeContent(o, f, p, e.hash); err != nil {
		return st, err
	}
	if c.opts.setsOwner() {
		if err := f.Chown(c.opts.owner()); err != nil {
			return st, err
		}
	}
	info, err := f.Stat()
	if err != nil {
		return st, err
	}
	st.taken = time.Now()
	st.stamp, _, st.uid, st.gid, _ = stampOf(info)
	return st, nil
}

// writeContent writes a blob as the workspace has it: streamed, unless line
// ends have to be converted.
func (w *Workspace) writeContent(o *objects, f io.Writer, p string, h plumbing.Hash) error {
	obj, err := o.st.EncodedObject(plumbing.BlobObject, h)
	if err != nil {
		return missing("blob", h, err)
	}
	if rule := eolOf(w.attrs.lookup(p)); rule.crlf && obj.Size() <= w.limits.MaxFileBytes {
		data, err := o.blob(h, obj.Size())
		if err != nil {
			return err
		}
		_, err = f.Write(rule.smudge(data))
		return err
	}
	return copyObject(obj, f)
}

func (c *checkout) makeLinks() error {
	o, err := c.w.mirror.open()
	if err != nil {
		return err
	}
	defer o.close()
	for _, p := range c.w.base.order {
		e := c.w.base.files[p]
		if e.mode != filemode.Symlink {
			continue
		}
		target, err := o.blob(e.hash, maxLink)
		if err != nil {
			return err
		}
		if len(target) == 0 || strings.ContainsRune(string(target), 0) {
			return fmt.Errorf("%w: link %s has no usable target", vcs.ErrInvalid, p)
		}
		if err := c.root.Symlink(string(target), p); err != nil {
			return fmt.Errorf("creating link: %w", err)
		}
		if err := c.own(p); err != nil {
			return err
		}
	}
	return nil
}
