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
		FileBytes: l.FileBytes, OpenFiles: l.OpenFiles, Processes: l.Processes, MemoryBytes: l.MemoryBytes,
		Proxy: spec.Gateway != nil, Writable: writable,
	}
	if _, _, cpu := groups.Enforces(); !cpu {
		s.Nice = lowPriority
	}
	return s
}

// GroupName is a control group's name, which says which process it belongs to.
func GroupName() string {
	return fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()[:12])
}

// GroupAlive reports whether the process that a group's name tells of lives.
func GroupAlive(name string) bool {
	first, _, _ := strings.Cut(name, "-")
	pid, err := strconv.Atoi(first)
	if err != nil || pid <= 0 {
		return false
	}
	return syscall.Kill(pid, 0) != syscall.ESRCH
}
