package sandbox

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
)

// Mount makes a host path visible inside, read-only.
type Mount struct {
	Source string `yaml:"source"` // absolute path on the host
	Target string `yaml:"target"` // absolute path inside
}

// Spec describes a sandbox.
type Spec struct {
	RunID string
	// Root is a host directory with the files of an image, shown read-only at
	// /; empty shows the host's own /usr and a few files of /etc.
	Root string
	// Workspace is the host directory bound writable at WorkspaceDir.
	Workspace string
	// ReadOnly are paths below the workspace, slash-separated, that are there
	// and cannot be changed from inside: what the host's own programs believe.
	ReadOnly []string
	// Scratch is a host directory, private to the run and outside the
	// workspace, for the home and temporary directories; Close removes them.
	Scratch string
	// Env is added to the environment, which is otherwise made from nothing.
	Env []string
	// Path is put before the default PATH.
	Path   []string
	Mounts []Mount
	Limits Limits
	// Filter, if set, stands between a command's output and everything that
	// keeps or shows it; what it holds back it gives when it is closed.
	Filter func(dst io.Writer) io.WriteCloser
	// Gateway carries the connections of commands that ask for the network;
	// nil closes it to all.
	Gateway Gateway
}

// Validate refuses a Spec that no driver could hold.
func (s Spec) Validate() error {
	var errs []error
	for name, dir := range map[string]string{"workspace": s.Workspace, "scratch": s.Scratch} {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			errs = append(errs, fmt.Errorf("sandbox %s %q: want a clean absolute path", name, dir))
		}
	}
	if s.Root != "" && (!filepath.IsAbs(s.Root) || filepath.Clean(s.Root) != s.Root) {
		errs = append(errs, fmt.Errorf("sandbox root %q: want a clean absolute path", s.Root))
	}
	for _, m := range s.Mounts {
		if !filepath.IsAbs(m.Source) || !filepath.IsAbs(m.Target) {
			errs = append(errs, fmt.Errorf("sandbox mount %q at %q: both must be absolute paths", m.Source, m.Target))
		}
	}
	for _, rel := range s.ReadOnly {
		if !filepath.IsLocal(rel) || path.Clean(rel) != rel || rel == "." {
			errs = append(errs, fmt.Errorf("sandbox read-only path %q: want a clean path below the workspace", rel))
		}
	}
	return errors.Join(errs...)
}

// Protected lists host and inside paths of ReadOnly.
func (s Spec) Protected() []Mount {
	out := make([]Mount, 0, len(s.ReadOnly))
	for _, rel := range s.ReadOnly {
		out = append(out, Mount{Source: filepath.Join(s.Workspace, filepath.FromSlash(rel)), Target: path.Join(WorkspaceDir, rel)})
	}
	return out
}
