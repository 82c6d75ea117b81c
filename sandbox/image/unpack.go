package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
)

// unpack writes the layers of a source, in order, into a new directory, and
// then what sandboxes mount on. It returns how many entries were skipped.
func (s *Store) unpack(ctx context.Context, dir string, src *source) (int, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, fmt.Errorf("making the root: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, fmt.Errorf("opening the root: %w", err)
	}
	defer func() { _ = root.Close() }()
	u := &unpacker{
		root: root, bytes: s.cfg.MaxBytes, files: s.cfg.MaxFiles,
		seed: maphash.MakeSeed(), buf: make([]byte, copyBuffer),
	}
	for i, l := range src.layers {
		if err := u.layer(ctx, l, s.cfg); err != nil {
			return 0, fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	if err := u.mountPoints(); err != nil {
		return 0, fmt.Errorf("making mount points: %w", err)
	}
	if err := root.Chmod(".", 0o755); err != nil {
		return 0, fmt.Errorf("opening the root to its readers: %w", err)
	}
	return u.skipped, nil
}

const copyBuffer = 256 << 10

// unpacker writes into one root.
type unpacker struct {
	root    *os.Root
	bytes   int64 // what may still be written
	files   int64 // how many entries may still come
	skipped int
	seed    maphash.Seed
	buf     []byte
	// made are hashes of the paths that this layer has made, which its
	// whiteouts do not concern.
	made map[uint64]struct{}
	// known are directories that have been resolved, until a link or a removal
	// may have changed that.
	known map[string]string
}

// layer applies one layer. Everything in it is read to its end, since only
// then is it known to be what its digest says.
func (u *unpacker) layer(ctx context.Context, l layer, limits Config) error {
	stream, err := openLayer(ctx, l, limits)
	if err != nil {
		return err
	}
	defer stream.close()
	u.made, u.known = map[uint64]struct{}{}, map[string]string{}
	entries := tar.NewReader(stream)
	for {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		if err := u.entry(h, entries); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name[:min(len(h.Name), 200)], err)
		}
	}
	return stream.finish()
}

// entry applies one entry of a layer.
func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return u.spend(0)
	}
	name, err := inside(h.Name)
	if err != nil {
		return err
	}
	if err := u.spend(h.Size); err != nil {
		return err
	}
	if hidden, ok, err := whiteout(name); ok || err != nil {
		return errors.Join(err, u.hide(hidden))
	}
	if name == "." {
		return nil
	}
	path, err := u.place(name)
	if err != nil {
		return err
	}
	return u.put(path, h, content)
}

// put makes an entry at a resolved path, in place of what was there.
func (u *unpacker) put(path string, h *tar.Header, content io.Reader) error {
	u.note(path)
	switch h.Typeflag {
	case tar.TypeDir:
		return u.directory(path, h)
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		return u.file(path, h, content)
	case tar.TypeLink:
		return u.hardLink(path, h)
	case tar.TypeSymlink:
		return u.symlink(path, h.Linkname)
	default: // devices, FIFOs and what no image needs
		u.skipped++
		return u.clear(path)
	}
}

// spend takes an entry's cost off what is left, before it is written. Skipped
// entries cost too: a small archive can hold very many.
func (u *unpacker) spend(size int64) error {
	u.files--
	u.bytes -= max(size, 0)
	if u.files < 0 || u.bytes < 0 {
		return fmt.Errorf("%w: more bytes or files than the limit", ErrTooLarge)
	}
	return nil
}

func (u *unpacker) note(path string) {
	u.made[maphash.String(u.seed, path)] = struct{}{}
}

func (u *unpacker) isNew(path string) bool {
	_, ok := u.made[maphash.String(u.seed, path)]
	return ok
}
