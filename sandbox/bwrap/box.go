package bwrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/process"
)

// box is the sandbox of one run.
type box struct {
	driver  *Driver
	spec    sandbox.Spec
	account *account

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
	cancels map[*context.CancelFunc]struct{} // under mu
}

func (b *box) home() string { return filepath.Join(b.spec.Scratch, "home") }
func (b *box) temp() string { return filepath.Join(b.spec.Scratch, "tmp") }

func (b *box) prepare() error {
	if err := os.MkdirAll(b.spec.Scratch, 0o711); err != nil { //nolint:gosec // the run's account passes through it
		return fmt.Errorf("preparing the sandbox: %w", err)
	}
	for _, dir := range []string{b.home(), b.temp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("preparing the sandbox: %w", err)
		}
		if err := b.account.give(dir); err != nil {
			return fmt.Errorf("preparing the sandbox: %w", err)
		}
	}
	if err := b.account.give(b.spec.Workspace); err != nil {
		return fmt.Errorf("preparing the sandbox: %w", err)
	}
	return nil
}

// Owner is the run's account.
func (b *box) Owner() (uid, gid int) { return b.account.uid, b.account.gid }

// enter registers a command, so that Close can end it.
func (b *box) enter(ctx context.Context) (context.Context, func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, sandbox.ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	if b.cancels == nil {
		b.cancels = map[*context.CancelFunc]struct{}{}
	}
	b.cancels[&cancel] = struct{}{}
	b.running.Add(1)
	return ctx, func() {
		cancel()
		b.mu.Lock()
		delete(b.cancels, &cancel)
		b.mu.Unlock()
		b.running.Done()
	}, nil
}

// Exec runs one command in a bubblewrap process of its own.
func (b *box) Exec(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	if why := unable(cmd); why != "" {
		return sandbox.Result{Cause: sandbox.Exited, ExitCode: cannotRun, Output: sandbox.Output{Head: []byte(why + "\n"), TotalBytes: int64(len(why) + 1), TotalLines: 1}}, nil
	}
	limits := b.spec.Limits
	if cmd.Timeout > 0 {
		limits.WallClock = cmd.Timeout
	}
	if cmd.Idle > 0 {
		limits.Idle = cmd.Idle
	}
	var fds descriptors
	defer fds.close()
	argv, err := b.argv(cmd, limits, &fds)
	if err == nil {
		err = seal()
	}
	if err != nil {
		return sandbox.Result{}, err
	}
	res, err := process.Run(ctx, process.Spec{
		Argv: argv, Files: fds.files, Attr: b.account.attr(), Limits: limits, OnOutput: cmd.OnOutput, Artifact: cmd.Artifact,
	})
	if err != nil {
		return res, fmt.Errorf("running bubblewrap: %w", err)
	}
	return settle(res, fds.status)
}

// argv puts everything but descriptor numbers and the command's own words
// into memory files.
func (b *box) argv(cmd sandbox.Cmd, limits sandbox.Limits, fds *descriptors) ([]string, error) {
	l := layout{links: b.driver.links, home: b.home(), temp: b.temp()}
	for i, f := range madeUp {
		fd, err := fds.add(filepath.Base(f.path), []byte(f.text))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			l.dataFD = fd
		}
	}
	var err error
	if l.seccFD, err = fds.add("seccomp", b.driver.seccomp); err != nil {
		return nil, err
	}
	statusFD, err := fds.add("status", nil)
	if err != nil {
		return nil, err
	}
	fds.status = fds.files[len(fds.files)-1]
	argsFD, err := fds.add("args", joinArgs(arguments(b.spec, cmd, l)))
	if err != nil {
		return nil, err
	}
	argv := []string{b.driver.binary, "--json-status-fd", strconv.Itoa(statusFD), "--args", strconv.Itoa(argsFD), "--"}
	return append(argv, command(cmd, limits, b.account.own)...), nil
}

// settle takes the exit code from bubblewrap's own report, and waits until
// the last process of the sandbox is gone.
func settle(res sandbox.Result, statusFile *os.File) (sandbox.Result, error) {
	st, err := readStatus(statusFile)
	if err != nil {
		return res, err
	}
	awaitGone(st.childPID)
	if res.Cause != sandbox.Exited {
		return res, nil
	}
	if !st.exited {
		return res, fmt.Errorf("bubblewrap ended with %d: %s%s", res.ExitCode, lastLine(res.Output.String()), remedy(res.Output.String()))
	}
	res.ExitCode = st.exitCode
	if sig := st.exitCode - 128; sig > 0 && sig < 65 {
		res.Signal = unix.SignalName(unix.Signal(sig))
	}
	return res, nil
}

// goneLimit bounds the wait for a killed sandbox; the kernel needs
// milliseconds to end a pid namespace.
const goneLimit = 5 * time.Second

func awaitGone(pid int) {
	if pid <= 0 {
		return
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // gone, or a kernel before 5.3
	}
	defer func() { _ = unix.Close(fd) }()
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(goneLimit.Milliseconds())) //nolint:gosec // a descriptor fits
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// remedy names what helps against the refusals that hosts are known for.
func remedy(out string) string {
	switch {
	case strings.Contains(out, "No permissions to create"), strings.Contains(out, "uid map"):
		return " (user namespaces are not allowed here: on Ubuntu 24.04 set sysctl kernel.apparmor_restrict_unprivileged_userns=0 or give bwrap an AppArmor profile; in Docker run with --security-opt seccomp=unconfined)"
	case strings.Contains(out, "Can't mount proc"):
		return " (/proc is masked: in Docker run with --security-opt systempaths=unconfined)"
	case strings.Contains(out, "Can't find source path"), strings.Contains(out, "Permission denied"):
		return " (the run's account cannot reach its directories: put data_dir where every account may pass, such as /var/lib/greenwright)"
	}
	return ""
}

// Close ends what runs and removes the private directories.
func (b *box) Close(context.Context) error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	for cancel := range b.cancels {
		(*cancel)()
	}
	b.mu.Unlock()
	b.running.Wait()
	if !first {
		return nil
	}
	err := makeRemovable(b.spec.Scratch)
	return errors.Join(err, os.RemoveAll(b.spec.Scratch), b.account.release())
}

// makeRemovable opens directories that a tool left without write permission
// (Go's module cache does), so that they can be removed.
func makeRemovable(dir string) error {
	if os.Geteuid() == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("clearing the sandbox: %w", err)
	}
	defer func() { _ = root.Close() }()
	return openDirs(root, ".", 0)
}

// maxDepth bounds the walk; deeper trees are left to RemoveAll.
const maxDepth = 512

func openDirs(root *os.Root, name string, depth int) error {
	if depth > maxDepth {
		return nil
	}
	if err := root.Chmod(name, 0o700); err != nil {
		return nil //nolint:nilerr // gone or a link meanwhile: RemoveAll has the last word
	}
	d, err := root.Open(name)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	entries, err := d.ReadDir(-1)
	_ = d.Close()
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := openDirs(root, filepath.Join(name, e.Name()), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
