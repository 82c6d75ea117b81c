// Package workspace is the tools' access to the files of a run: every path is
// resolved beneath one directory handle, only regular files of bounded size
// are opened, and what the model was shown of which file is remembered.
//
// It sits under agent/tool and is imported by the tools that touch files
// (files, edit, search); it is the place to change when files are served from
// somewhere else than the worker's disk.
//
// Invariants: the workspace is hostile. Whether a path is inside is never
// decided by comparing strings (that only makes an absolute path relative); symlinks are resolved by hand and must stay inside; `.git` (and what a file system takes for it) at any
// depth is out of bounds, in any case; FIFOs, sockets and devices are never
// opened; nothing in the workspace is executed or interpreted. Writes go to a
// new file that is renamed, and keep mode and owner; several at once are made
// all or none ([Workspace.Commit]).
package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/greenwright/greenwright/agent/tool"
)

const (
	// Mount is where the sandbox sees the workspace; paths below it, or below
	// the directory that was opened, are accepted and made relative.
	Mount = "/workspace"
	// MaxFileBytes is the largest file that is read or written (RUNTIME 2).
	MaxFileBytes = 10 << 20
	maxPath      = 4096
	maxName      = 255
	maxLinks     = 40 // what Linux allows in one path
)

// FaultError is why a file could not be used, with the code the model is told.
type FaultError struct {
	Code    tool.Code
	Message string
}

// Error is the message.
func (f *FaultError) Error() string { return f.Message }

// Result is the fault as a tool's result; an error that is no [FaultError] becomes
// INTERNAL.
func Result(err error) tool.Result {
	if f, ok := errors.AsType[*FaultError](err); ok {
		return tool.Failf(f.Code, "%s", f.Message)
	}
	return tool.Failf(tool.CodeInternal, "%v", err)
}

func faultf(code tool.Code, format string, args ...any) *FaultError {
	return &FaultError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Workspace is one directory tree. It is safe for concurrent use.
type Workspace struct {
	root  *os.Root
	dir   string // where the root is; only for recognising absolute paths
	reads *Reads

	mu    sync.Mutex // guards locks and names
	locks map[string]*sync.Mutex
	names map[string]named
}

// Open opens the tree at dir. Close releases it.
func Open(dir string) (*Workspace, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening workspace: %w", err), root.Close())
	}
	return &Workspace{root: root, dir: filepath.ToSlash(full), reads: newReads(), locks: make(map[string]*sync.Mutex), names: make(map[string]named)}, nil
}

// Close releases the directory handle.
func (w *Workspace) Close() error { return w.root.Close() }

// Reads is what the model was shown.
func (w *Workspace) Reads() *Reads { return w.reads }

// Lock keeps others from editing the resolved path until the returned
// function is called.
func (w *Workspace) Lock(real string) (unlock func()) {
	w.mu.Lock()
	m := w.locks[real]
	if m == nil {
		m = new(sync.Mutex)
		w.locks[real] = m
	}
	w.mu.Unlock()
	m.Lock()
	return m.Unlock
}

// Path is a resolved path.
type Path struct {
	// Name is what was asked for, relative and clean.
	Name string
	// Real is where it leads, without symlinks. Nothing need exist there.
	Real string
}

// Linked says that a symlink was followed.
func (p Path) Linked() bool { return p.Name != p.Real }

// Resolve checks a path as a model wrote it and follows its symlinks by hand.
func (w *Workspace) Resolve(name string) (Path, error) {
	clean, err := w.relative(name)
	if err != nil {
		return Path{}, err
	}
	real, err := w.follow(clean)
	if err != nil {
		return Path{}, err
	}
	return Path{Name: clean, Real: real}, nil
}

// relative makes name relative to the root and refuses what cannot be.
func (w *Workspace) relative(name string) (string, error) {
	if name == "" || len(name) > maxPath || strings.ContainsRune(name, 0) {
		return "", faultf(tool.CodeInvalidArgs, "path is empty, too long or holds a NUL")
	}
	rel := name
	for _, root := range []string{Mount, w.dir} {
		if rest, ok := strings.CutPrefix(name, root); ok && (rest == "" || rest[0] == '/') {
			rel = path.Join(".", rest)
			break
		}
	}
	if path.IsAbs(rel) {
		return "", faultf(tool.CodePathOutsideWorkspace, "%s is outside the workspace", name)
	}
	rel = path.Clean(rel)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", faultf(tool.CodePathOutsideWorkspace, "%s is outside the workspace", name)
	}
	return rel, protect(rel)
}

// protect refuses what the agent must not touch whatever the policy says.
func protect(rel string) error {
	for part := range strings.SplitSeq(rel, "/") {
		if isGit(part) {
			return faultf(tool.CodeProtectedPath, "%s is inside .git, which is out of bounds", rel)
		}
		if len(part) > maxName {
			return faultf(tool.CodeInvalidArgs, "a name in the path is longer than %d bytes", maxName)
		}
	}
	return nil
}

// follow resolves every symlink of rel; each must lead to a place inside.
func (w *Workspace) follow(rel string) (string, error) {
	done, todo := ".", strings.Split(rel, "/")
	for links := 0; len(todo) > 0; {
		next := path.Join(done, todo[0])
		todo = todo[1:]
		info, err := w.root.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", faultf(tool.CodeSymlinkRefused, "%s: too many symlinks", rel)
		}
		target, err := w.root.Readlink(next)
		if err != nil {
			return "", fmt.Errorf("reading link: %w", err)
		}
		inside, err := w.linkTarget(done, target)
		if f, ok := errors.AsType[*FaultError](err); ok && f.Code == tool.CodeProtectedPath {
			return "", f
		}
		if err != nil {
			return "", faultf(tool.CodeSymlinkRefused, "%s is a symlink that leads outside the workspace", next)
		}
		todo = append(strings.Split(inside, "/"), todo...)
		done = "."
	}
	return done, protect(done)
}

// linkTarget is where a link in dir leads, relative to the root.
func (w *Workspace) linkTarget(dir, target string) (string, error) {
	if path.IsAbs(target) {
		return w.relative(target)
	}
	return w.relative(path.Join(dir, target))
}

// File is what was read.
type File struct {
	Bytes []byte
	Mode  fs.FileMode
	Links uint64 // hard links; more than one is reported to the model
}

// Read returns the whole file at a resolved path.
func (w *Workspace) Read(p Path) (File, error) {
	info, err := w.root.Lstat(p.Real)
	if err != nil {
		return File{}, notFound(p, err)
	}
	if err := checkRegular(p, info); err != nil {
		return File{}, err
	}
	f, err := w.root.OpenFile(p.Real, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return File{}, notFound(p, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return File{}, fmt.Errorf("looking at %s: %w", p.Name, err)
	}
	if err := checkRegular(p, info); err != nil {
		return File{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return File{}, fmt.Errorf("reading %s: %w", p.Name, err)
	}
	if len(data) > MaxFileBytes {
		return File{}, tooLarge(p, int64(len(data)))
	}
	return File{Bytes: data, Mode: info.Mode(), Links: linksOf(info)}, nil
}

func checkRegular(p Path, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return faultf(tool.CodeIsDirectory, "%s is a directory", p.Name)
	case !info.Mode().IsRegular():
		return faultf(tool.CodeProtectedPath, "%s is not a regular file", p.Name)
	case info.Size() > MaxFileBytes:
		return tooLarge(p, info.Size())
	}
	return nil
}

func tooLarge(p Path, size int64) error {
	return faultf(tool.CodeFileTooLarge, "%s has %d bytes, over the limit of %d; look at parts of it with run_command",
		p.Name, size, MaxFileBytes)
}

func notFound(p Path, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return faultf(tool.CodeFileNotFound, "%s does not exist", p.Name)
	}
	return fmt.Errorf("opening %s: %w", p.Name, err)
}

func linksOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // 32 bits wide on some platforms
	}
	return 1
}
