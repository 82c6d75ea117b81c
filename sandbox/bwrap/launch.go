package bwrap

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/cgroup"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/sandbox/output"
)

// launcher starts bubblewrap for one run.
type launcher struct {
	driver  *Driver
	spec    sandbox.Spec
	dirs    layout.Dirs
	account *account.Account
	group   *cgroup.Group
}

// Launch starts one bubblewrap process whose pid 1 is the guest.
func (l *launcher) Launch(_ context.Context, control *os.File) (box.Running, error) {
	var fds descriptors
	defer fds.close()
	argv, err := l.argv(&fds)
	if err == nil {
		err = seal()
	}
	if err != nil {
		return nil, err
	}
	r := &running{group: l.group, status: fds.status, done: make(chan struct{})}
	r.cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx // Kill ends it; its start alone is bounded by the context
	r.cmd.Env = []string{}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = control, &r.said, &r.said
	r.cmd.ExtraFiles = fds.files
	r.cmd.SysProcAttr = l.account.Attr()
	r.cmd.SysProcAttr.Setpgid = true
	r.cmd.WaitDelay = time.Second
	if err := l.group.Start(r.cmd); err != nil {
		return nil, fmt.Errorf("starting bubblewrap: %w", err)
	}
	fds.keepStatus()
	go r.wait()
	return r, nil
}

// argv puts everything but descriptor numbers and the guest's own words into
// memory files.
func (l *launcher) argv(fds *descriptors) ([]string, error) {
	p := place{links: l.driver.links, dirs: l.dirs, guest: l.driver.guest}
	if l.spec.Root != "" {
		var err error
		if p.image, err = layout.TopLevel(l.spec.Root); err != nil {
			return nil, err
		}
	}
	for i, f := range layout.MadeUp() {
		fd, err := fds.add(filepath.Base(f.Path), []byte(f.Text))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			p.dataFD = fd
		}
	}
	var err error
	if p.seccFD, err = fds.add("seccomp", l.driver.seccomp); err != nil {
		return nil, err
	}
	argsFD, err := fds.add("args", joinArgs(arguments(l.spec, p)))
	if err != nil {
		return nil, err
	}
	statusFD, err := fds.add("status", nil)
	if err != nil {
		return nil, err
	}
	fds.status = fds.files[len(fds.files)-1]
	argv := []string{l.driver.binary, "--json-status-fd", strconv.Itoa(statusFD), "--args", strconv.Itoa(argsFD), "--"}
	return append(argv, command()...), nil
}

// running is a bubblewrap process.
type running struct {
	cmd    *exec.Cmd
	group  *cgroup.Group
	said   output.Tail
	status *os.File
	done   chan struct{}
}

// wait ends when bubblewrap and the last process in it are gone.
func (r *running) wait() {
	_ = r.cmd.Wait()
	if pid, err := childPID(r.status); err == nil {
		awaitGone(pid)
	}
	_ = r.status.Close()
	close(r.done)
}

// Done is closed when all is gone.
func (r *running) Done() <-chan struct{} { return r.done }

// Kill ends pid 1, and the kernel all others with it, then bubblewrap if it
// stays.
func (r *running) Kill(ctx context.Context) error {
	return box.EndProgram(ctx, "bubblewrap", r.done, r.killGuest, r.cmd.Process.Kill)
}

// killGuest kills pid 1. It takes hold of the process before it looks whose
// child it is, so that one that has come by the same number is not hit.
func (r *running) killGuest() bool {
	pid, err := childPID(r.status)
	if err != nil {
		return false // not yet started, or all over
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(stat, ')')
	if err != nil || i < 0 {
		return false
	}
	f := bytes.Fields(stat[i+1:])
	const parent = 1
	return len(f) > parent && string(f[parent]) == strconv.Itoa(r.cmd.Process.Pid) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// Diagnose is what bubblewrap or the guest said.
func (r *running) Diagnose() string {
	said := lastLine(r.said.String())
	return said + remedy(said)
}

// OOMKills counts what the kernel ended for memory.
func (r *running) OOMKills() int64 { return r.group.Usage().OOMKills }

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
		return " (user namespaces are not allowed here: on Ubuntu 24.04 set sysctl kernel.apparmor_restrict_unprivileged_userns=0 or give bwrap an AppArmor profile; in Docker run with --security-opt seccomp=unconfined; in Kubernetes give the pod securityContext.seccompProfile.type Unconfined and a node that allows user namespaces)"
	case strings.Contains(out, "Can't mount proc"):
		return " (/proc is masked: in Docker run with --security-opt systempaths=unconfined; in Kubernetes set procMount: Unmasked)"
	case strings.Contains(out, "Can't find source path"), strings.Contains(out, "Permission denied"):
		return " (the run's account cannot reach its directories: put data_dir where every account may pass, such as /var/lib/greenwright)"
	}
	return ""
}
