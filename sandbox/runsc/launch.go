package runsc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/cgroup"
	tail "github.com/greenwright/greenwright/sandbox/output"
)

// launcher starts gVisor for one box.
type launcher struct {
	driver  *Driver
	dir     string
	account *account.Account
	group   *cgroup.Group
}

// Launch starts one "runsc run" whose pid 1 is the guest.
func (l *launcher) Launch(_ context.Context, control *os.File) (box.Running, error) {
	if err := l.freshState(); err != nil {
		return nil, fmt.Errorf("preparing gVisor's state: %w", err)
	}
	state := filepath.Join(l.dir, stateName)
	r := &running{dir: l.dir, group: l.group, done: make(chan struct{})}
	r.cmd = exec.Command(l.driver.binary, arguments(state, l.dir, filepath.Join(state, pidName), filepath.Base(l.dir))...) //nolint:noctx // Kill ends it; its start alone is bounded by the context
	r.cmd.Env = []string{}
	r.cmd.Dir = "/"
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = control, &r.said, &r.said
	r.cmd.SysProcAttr = l.account.Attr()
	r.cmd.SysProcAttr.Setpgid = true
	r.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	r.cmd.WaitDelay = time.Second
	if err := l.group.Start(r.cmd); err != nil {
		return nil, fmt.Errorf("starting gVisor: %w", err)
	}
	go r.wait() //nolint:gosec // lives as long as the sandbox, not as its start
	return r, nil
}

// freshState makes the directory of gVisor's own files, which belongs to the
// run's account.
func (l *launcher) freshState() error {
	state := filepath.Join(l.dir, stateName)
	return errors.Join(os.RemoveAll(state), os.Mkdir(state, 0o700), l.account.Give(state))
}

// running is a "runsc run" process.
type running struct {
	dir   string
	cmd   *exec.Cmd
	group *cgroup.Group
	said  tail.Tail
	done  chan struct{}
}

// goneLimit bounds the wait for the sandbox and its file server, which get
// their parent-death signals within milliseconds.
const goneLimit = 5 * time.Second

// wait ends when gVisor and all it started are gone.
func (r *running) wait() {
	_ = r.cmd.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), goneLimit) //nolint:forbidigo // outlives the start
	defer cancel()
	_ = endProcesses(ctx, r.dir)
	close(r.done)
}

// Done is closed when all is gone.
func (r *running) Done() <-chan struct{} { return r.done }

// Kill ends the sandbox, then runsc itself if it stays.
func (r *running) Kill(ctx context.Context) error {
	return box.EndProgram(ctx, "gVisor", r.done, func() bool {
		pid := r.sandboxPID()
		if pid > 0 {
			killOf(r.dir, pid)
		}
		return pid > 0
	}, r.cmd.Process.Kill)
}

// sandboxPID is what runsc wrote once the sandbox ran, else 0.
func (r *running) sandboxPID() int {
	text, err := os.ReadFile(filepath.Join(r.dir, stateName, pidName))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return 0
	}
	return pid
}

// Diagnose is what gVisor or the guest said.
func (r *running) Diagnose() string {
	lines := strings.Split(strings.TrimSpace(r.said.String()), "\n")
	said := lines[len(lines)-1]
	return said + remedy(said)
}

// OOMKills counts what the kernel ended for memory.
func (r *running) OOMKills() int64 { return r.group.Usage().OOMKills }

// remedy names what helps against the refusals that hosts are known for.
func remedy(out string) string {
	switch {
	case strings.Contains(out, "newuidmap"), strings.Contains(out, "without userns"):
		return " (this runsc cannot start for an unprivileged account: " + howToGet + ")"
	case strings.Contains(out, "operation not permitted") && (strings.Contains(out, "fork/exec") || strings.Contains(out, "gofer")):
		return " (user namespaces are not allowed here: on Ubuntu 24.04 set sysctl kernel.apparmor_restrict_unprivileged_userns=0; in Docker run with --security-opt seccomp=unconfined; in Kubernetes give the pod securityContext.seccompProfile.type Unconfined and a node that allows user namespaces, or run it with RuntimeClass gvisor)"
	case strings.Contains(out, "permission denied"):
		return " (the run's account cannot reach its directories: put data_dir where every account may pass, such as /var/lib/greenwright)"
	}
	return ""
}
