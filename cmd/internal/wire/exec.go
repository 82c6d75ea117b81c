package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/vcs"
)

// ExecOptions are one command in a sandbox of its own.
type ExecOptions struct {
	Workspace string // empty is an empty directory
	Image     string
	Egress    egress.Policy
	Limits    sandbox.Limits // over the configured ones where set
	Cmd       sandbox.Cmd
	// Told, if set, is told what became of each connection.
	Told func(egress.Decision)
}

// Exec runs it, in the sandbox that a run would get.
func Exec(ctx context.Context, cfg config.Config, opts ExecOptions, log *slog.Logger) (res sandbox.Result, err error) {
	h := &handBox{cfg: cfg, opts: opts, log: log}
	defer func() { err = errors.Join(err, h.close(ctx)) }()
	box, err := h.started(ctx)
	if err != nil {
		return res, err
	}
	return box.Exec(ctx, opts.Cmd)
}

// execSpec puts the parts together; release gives the image back.
func execSpec(ctx context.Context, cfg config.Config, opts ExecOptions, d dirs, dir string, log *slog.Logger) (sandbox.Spec, func(), error) {
	release := func() {}
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // the run's account passes through it
		return sandbox.Spec{}, release, err
	}
	spec, err := boxSpec(cfg, log)
	if err != nil {
		return spec, release, err
	}
	spec.RunID, spec.Scratch, spec.Limits = "exec", filepath.Join(dir, "scratch"), over(spec.Limits, opts.Limits)
	if !opts.Egress.Empty() {
		told := opts.Told
		if told == nil {
			told = func(egress.Decision) {}
		}
		spec.Gateway = egress.New(opts.Egress, egress.OnDecision(told))
	}
	if spec.Workspace = opts.Workspace; spec.Workspace != "" {
		if spec.ReadOnly, err = believed(spec.Workspace); err != nil {
			return spec, release, err
		}
	}
	if spec.Workspace == "" {
		spec.Workspace = filepath.Join(dir, "workspace")
		if err := os.Mkdir(spec.Workspace, 0o700); err != nil {
			return spec, release, err
		}
	}
	ref := opts.Image
	if ref == "" {
		ref = cfg.Sandbox.Image
	}
	if ref == "" {
		return spec, release, nil
	}
	store, err := openImages(d, cfg.Sandbox, log)
	if err != nil {
		return spec, release, err
	}
	img, err := store.Pull(ctx, ref)
	if err != nil {
		return spec, release, err
	}
	img.Apply(&spec)
	return spec, img.Release, nil
}

// believed is what of a directory the host's own git would act on: a setting or
// a hook that a command wrote there would run outside of the sandbox.
func believed(dir string) ([]string, error) {
	const dotGit = ".git"
	st, err := os.Lstat(filepath.Join(dir, dotGit))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !st.IsDir() && !st.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s in %s is neither a directory nor a file: a command could lead git elsewhere by it", vcs.ErrInvalid, dotGit, dir)
	}
	return []string{dotGit}, nil
}

// namedWorkspace is the directory that was named, where runs' accounts can
// reach it; empty if none was.
func namedWorkspace(named string, d dirs) (string, map[string]string, error) {
	if named == "" {
		return "", nil, nil
	}
	ws, err := filepath.Abs(named)
	if err != nil {
		return "", nil, err
	}
	st, err := os.Stat(ws)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, fmt.Errorf("%w: --workspace %s is not there", vcs.ErrInvalid, named)
	case err != nil:
		return "", nil, err
	case !st.IsDir():
		return "", nil, fmt.Errorf("%w: --workspace %s is not a directory", vcs.ErrInvalid, named)
	}
	if ws, err = filepath.EvalSymlinks(ws); err != nil {
		return "", nil, err
	}
	if err := lendable(ws, filepath.Dir(d.sandbox)); err != nil {
		return "", nil, err
	}
	places, err := makeReachable(d.sandbox, ws)
	if place, bound := places[ws]; bound {
		ws = place
	}
	return ws, places, err
}

// over takes from more what is set.
func over(l, more sandbox.Limits) sandbox.Limits {
	if more.MemoryBytes > 0 {
		l.MemoryBytes = more.MemoryBytes
	}
	if more.Processes > 0 {
		l.Processes = more.Processes
	}
	if more.CPUs > 0 {
		l.CPUs = more.CPUs
	}
	if more.WorkspaceBytes > 0 {
		l.WorkspaceBytes = more.WorkspaceBytes
	}
	return l
}
