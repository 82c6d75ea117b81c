package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
)

// steadyFS is a git directory that other processes write to. go-git takes a
// directory in which one file vanishes while it is listed for an empty one,
// and a pack whose index is not there yet for an error.
type steadyFS struct {
	billy.Filesystem
	root string
}

func newSteadyFS(gitDir string) *steadyFS {
	return &steadyFS{Filesystem: osfs.New(gitDir, osfs.WithBoundOS()), root: gitDir}
}

// ReadDir implements billy.Dir. It leaves out what vanished and packs without
// index. The path is go-git's own, never one from a tree.
func (s *steadyFS) ReadDir(path string) ([]os.FileInfo, error) {
	if !filepath.IsLocal(path) && path != "" {
		return s.Filesystem.ReadDir(path)
	}
	entries, err := os.ReadDir(filepath.Join(s.root, path))
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
	}
	infos := make([]os.FileInfo, 0, len(entries))
	for _, e := range entries {
		if base, isPack := strings.CutSuffix(e.Name(), ".pack"); isPack && !names[base+".idx"] {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", path, err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// Chmod implements billy.Chmod, which go-git uses to make packs read-only.
func (s *steadyFS) Chmod(name string, mode os.FileMode) error {
	if c, ok := s.Filesystem.(billy.Chmod); ok {
		return c.Chmod(name, mode)
	}
	return nil
}

// Capabilities implements billy.Capable.
func (s *steadyFS) Capabilities() billy.Capability { return billy.Capabilities(s.Filesystem) }
