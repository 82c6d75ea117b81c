package box

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/cgroup"
	"github.com/greenwright/greenwright/sandbox/link"
)

// lowPriority is what commands get where no control group holds processors.
const lowPriority = 10

// SetupOf tells the guest what the Spec asks for.
func SetupOf(spec sandbox.Spec, writable []string, groups *cgroup.Controller) link.Setup {
	l := spec.Limits
	s := link.Setup{
		Protocol:  link.Protocol,
		FileBytes: l.FileBytes, OpenFiles: l.OpenFiles, Processes: l.Processes, MemoryBytes: l.MemoryBytes, RemovedBytes: min(l.WorkspaceBytes, l.TempBytes),
		Proxy: spec.Gateway != nil, Writable: writable,
	}
	if _, _, cpu := groups.Enforces(); !cpu {
		s.Nice = lowPriority
	}
	return s
}

// GroupName is a control group's name, which says which process it belongs to.
func GroupName() string {
	return fmt.Sprintf("%s-%d-%s", pidNamespace(), os.Getpid(), rand.Text()[:12])
}

// pidNamespace tells workers apart that count processes differently.
func pidNamespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "0"
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
}

// GroupAlive reports whether the process that a group's name tells of lives.
// What cannot be judged from here lives.
func GroupAlive(name string) bool {
	parts := strings.Split(name, "-")
	const space, process, all = 0, 1, 3
	if len(parts) != all || parts[space] != pidNamespace() {
		return true
	}
	pid, err := strconv.Atoi(parts[process])
	if err != nil || pid <= 0 {
		return true
	}
	return syscall.Kill(pid, 0) != syscall.ESRCH
}
