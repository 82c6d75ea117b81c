package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Forms of references to files of the host.
const (
	layoutPrefix  = "oci:"
	archivePrefix = "docker-archive:"
)

// IsLocal reports whether a reference is to files of the host, which only an
// operator may name.
func IsLocal(ref string) bool {
	return strings.HasPrefix(ref, layoutPrefix) || strings.HasPrefix(ref, archivePrefix)
}

// Pull gives an image of a registry, by tag or digest, from the cache or by
// unpacking it there. A tag is looked up each time; a digest that is in the
// cache needs no registry. Pulling the same image at once does the work once.
//
// The error wraps ErrHostile, ErrTooLarge or ErrCorrupt where the image is to
// blame. The Image must be released.
func (s *Store) Pull(ctx context.Context, ref string) (*Image, error) {
	img, err := s.pull(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("pulling image %q: %w", printable(ref), err)
	}
	return img, nil
}

func (s *Store) pull(ctx context.Context, ref string) (*Image, error) {
	r, err := s.parse(ref)
	if err != nil {
		return nil, err
	}
	if img, err := s.pinned(ctx, r); img != nil || err != nil {
		return img, err
	}
	src, err := s.registrySource(ctx, r)
	if err != nil {
		return nil, err
	}
	s.remember(r, src)
	return s.get(ctx, src)
}

// Resolve looks a reference up in its registry and returns the digest of the
// image for this platform, without unpacking it.
func (s *Store) Resolve(ctx context.Context, ref string) (string, error) {
	r, err := s.parse(ref)
	if err != nil {
		return "", fmt.Errorf("resolving image %q: %w", printable(ref), err)
	}
	src, err := s.registrySource(ctx, r)
	if err != nil {
		return "", fmt.Errorf("resolving image %q: %w", printable(ref), err)
	}
	return src.digest.String(), nil
}

// Load gives the image in an OCI layout directory ("oci:DIR", with several
// images "oci:DIR@DIGEST") or in a file of docker save ("docker-archive:FILE").
// It is like Pull otherwise. The reference must come from the operator.
func (s *Store) Load(ctx context.Context, ref string) (*Image, error) {
	var src *source
	var err error
	switch {
	case strings.HasPrefix(ref, layoutPrefix):
		src, err = layoutSource(strings.TrimPrefix(ref, layoutPrefix))
	case strings.HasPrefix(ref, archivePrefix):
		src, err = archiveSource(strings.TrimPrefix(ref, archivePrefix))
	default:
		err = errors.New("want oci:DIR or docker-archive:FILE")
	}
	if err != nil {
		return nil, fmt.Errorf("loading image %q: %w", printable(ref), err)
	}
	img, err := s.get(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("loading image %q: %w", printable(ref), err)
	}
	return img, nil
}

// get returns the image of a source, unpacking it if need be.
func (s *Store) get(ctx context.Context, src *source) (*Image, error) {
	key := keyOf(src.digest)
	for {
		if img, err := s.cached(ctx, key); img != nil || err != nil {
			return img, err
		}
		l, err := s.lock(ctx, key, unix.LOCK_EX)
		if err != nil {
			return nil, err
		}
		if !s.has(key) {
			err = s.make(ctx, key, src)
		}
		l.close()
		if err != nil {
			return nil, err
		}
	}
}

// cached returns an image that is there, and nil if it is not.
func (s *Store) cached(ctx context.Context, key string) (*Image, error) {
	if !s.has(key) {
		return nil, nil
	}
	l, err := s.lock(ctx, key, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	if !s.has(key) { // swept before the lock was ours
		l.close()
		return nil, nil
	}
	img, err := s.load(key, l)
	if err != nil {
		l.close()
	}
	return img, err
}

func (s *Store) has(key string) bool {
	_, err := os.Lstat(s.path("roots", key)) //nolint:gosec // a key is the name of a digest that was parsed
	return err == nil
}

// make unpacks an image and puts it in its place. The exclusive lock is held,
// so what earlier attempts left is nobody's.
func (s *Store) make(ctx context.Context, key string, src *source) (err error) {
	s.discard(key)
	tmp, err := os.MkdirTemp(s.path("tmp"), key+".")
	if err != nil {
		return fmt.Errorf("making a directory for the image: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(tmp)
		}
	}()
	img := describe(src.digest.String(), src.config)
	if img.Skipped, err = s.unpack(ctx, filepath.Join(tmp, "root"), src); err != nil {
		return err
	}
	content, err := json.Marshal(img)
	if err != nil {
		return fmt.Errorf("describing the image: %w", err)
	}
	for name, content := range map[string][]byte{"image.json": content, "used": nil} {
		if err := os.WriteFile(filepath.Join(tmp, name), content, 0o600); err != nil {
			return fmt.Errorf("describing the image: %w", err)
		}
	}
	if err := settle(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, s.path("roots", key)); err != nil {
		return fmt.Errorf("putting the image in its place: %w", err)
	}
	s.log.InfoContext(ctx, "image unpacked", "digest", img.Digest, "skipped", img.Skipped)
	return nil
}

// settle opens the directory to all and writes everything to the disk, so that
// not even a loss of power leaves a root that only looks whole.
func settle(tmp string) error {
	if err := os.Chmod(tmp, 0o755); err != nil { //nolint:gosec // runs have accounts of their own
		return fmt.Errorf("opening the image to its readers: %w", err)
	}
	d, err := os.Open(tmp)
	if err != nil {
		return fmt.Errorf("writing the image to disk: %w", err)
	}
	defer func() { _ = d.Close() }()
	if err := unix.Syncfs(int(d.Fd())); err != nil {
		return fmt.Errorf("writing the image to disk: %w", err)
	}
	return nil
}

// discard removes what unfinished attempts at an image left.
func (s *Store) discard(key string) {
	left, err := filepath.Glob(s.path("tmp", key+".*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("an unfinished image could not be removed", "error", err)
		}
	}
}
