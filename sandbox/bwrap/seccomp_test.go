package bwrap_test

import (
	"encoding/binary"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox/bwrap"
)

// call is a system call as a filter sees it.
type call struct {
	arch uint32
	nr   uint32
	args [6]uint64
}

// packet lays it out for the test machine, which reads big-endian words where
// the kernel reads the machine's own.
func (c call) packet() []byte {
	var b []byte
	b = binary.BigEndian.AppendUint32(b, c.nr)
	b = binary.BigEndian.AppendUint32(b, c.arch)
	b = binary.BigEndian.AppendUint64(b, 0)
	for _, a := range c.args {
		b = binary.BigEndian.AppendUint32(b, uint32(a))
		b = binary.BigEndian.AppendUint32(b, uint32(a>>32))
	}
	return b
}

func TestFilter(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the cases name calls of amd64")
	}
	filter, err := bwrap.Filter()
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(filter)
	if err != nil {
		t.Fatal(err)
	}
	const amd64, i386, upper = 0xC000003E, 0x40000003, 1 << 32
	const allow, kill = int(unix.SECCOMP_RET_ALLOW), int(unix.SECCOMP_RET_KILL_PROCESS)
	eperm, enosys := unix.SECCOMP_RET_ERRNO|int(unix.EPERM), unix.SECCOMP_RET_ERRNO|int(unix.ENOSYS)
	args := func(a ...uint64) (out [6]uint64) { copy(out[:], a); return out }
	for name, c := range map[string]struct {
		call
		want int
	}{
		"read":                          {call{amd64, unix.SYS_READ, args(0)}, allow},
		"tcp":                           {call{amd64, unix.SYS_SOCKET, args(unix.AF_INET, 1)}, allow},
		"unix":                          {call{amd64, unix.SYS_SOCKET, args(unix.AF_UNIX, 1)}, allow},
		"netlink":                       {call{amd64, unix.SYS_SOCKET, args(unix.AF_NETLINK, 3)}, allow},
		"ipv6 with an upper half":       {call{amd64, unix.SYS_SOCKET, args(upper|unix.AF_INET6, 1)}, allow},
		"vsock":                         {call{amd64, unix.SYS_SOCKET, args(unix.AF_VSOCK, 1)}, eperm},
		"vsock with an upper half":      {call{amd64, unix.SYS_SOCKET, args(upper|unix.AF_VSOCK, 1)}, eperm},
		"alg with an upper half":        {call{amd64, unix.SYS_SOCKET, args(upper|unix.AF_ALG, 5)}, eperm},
		"x25":                           {call{amd64, unix.SYS_SOCKET, args(unix.AF_X25, 5)}, eperm},
		"nfc":                           {call{amd64, unix.SYS_SOCKET, args(39, 5)}, eperm},
		"a family of the future":        {call{amd64, unix.SYS_SOCKET, args(200, 1)}, eperm},
		"socket pair":                   {call{amd64, unix.SYS_SOCKETPAIR, args(unix.AF_UNIX, 1)}, allow},
		"socket pair of tipc":           {call{amd64, unix.SYS_SOCKETPAIR, args(upper|unix.AF_TIPC, 1)}, eperm},
		"terminal size":                 {call{amd64, unix.SYS_IOCTL, args(0, unix.TIOCGWINSZ)}, allow},
		"terminal input":                {call{amd64, unix.SYS_IOCTL, args(0, unix.TIOCSTI)}, eperm},
		"terminal input, upper half":    {call{amd64, unix.SYS_IOCTL, args(0, upper|unix.TIOCSTI)}, eperm},
		"console, upper half":           {call{amd64, unix.SYS_IOCTL, args(0, 1<<63|unix.TIOCLINUX)}, eperm},
		"fork":                          {call{amd64, unix.SYS_CLONE, args(uint64(unix.SIGCHLD))}, allow},
		"user namespace":                {call{amd64, unix.SYS_CLONE, args(unix.CLONE_NEWUSER)}, eperm},
		"user namespace, upper half":    {call{amd64, unix.SYS_CLONE, args(upper | unix.CLONE_NEWUSER)}, eperm},
		"clone3":                        {call{amd64, unix.SYS_CLONE3, args()}, enosys},
		"own limits":                    {call{amd64, unix.SYS_PRLIMIT64, args(0, 7)}, allow},
		"limits of pid 1":               {call{amd64, unix.SYS_PRLIMIT64, args(1, 7)}, eperm},
		"limits of pid 1, upper half":   {call{amd64, unix.SYS_PRLIMIT64, args(upper|1, 7)}, eperm},
		"ptrace":                        {call{amd64, unix.SYS_PTRACE, args()}, eperm},
		"io_uring":                      {call{amd64, unix.SYS_IO_URING_SETUP, args()}, eperm},
		"32-bit entry":                  {call{i386, 102, args()}, kill},
		"x32 entry":                     {call{amd64, 0x40000000 | unix.SYS_READ, args()}, kill},
		"x32 entry of the largest kind": {call{amd64, 0xffffffff, args()}, kill},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := vm.Run(c.packet())
			if err != nil || uint32(got) != uint32(c.want) {
				t.Errorf("got %#x, %v; want %#x", uint32(got), err, uint32(c.want))
			}
		})
	}
}
