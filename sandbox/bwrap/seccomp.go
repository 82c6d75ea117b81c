package bwrap

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// deniedCalls are the parts of the kernel that no build or test needs and that
// would widen the attack surface: mounts, namespaces, tracing, keys, modules,
// clocks.
var deniedCalls = []string{
	"acct", "add_key", "adjtimex", "bpf", "chroot", "clock_adjtime", "clock_settime", "delete_module", "fanotify_init",
	"finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "io_uring_enter", "io_uring_register",
	"io_uring_setup", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mbind", "migrate_pages", "mount",
	"mount_setattr", "move_mount", "move_pages", "name_to_handle_at", "nfsservctl", "open_by_handle_at", "open_tree",
	"perf_event_open", "pivot_root", "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace", "quotactl",
	"reboot", "request_key", "set_mempolicy", "setns", "settimeofday", "swapoff", "swapon", "syslog", "umount2", "unshare",
	"userfaultfd", "vhangup",
}

// onlyAMD64 exist on no other architecture, where naming them is an error.
var onlyAMD64 = []string{"ioperm", "iopl", "sysfs", "uselib", "ustat"}

// namespaceFlags are the CLONE_NEW* bits of clone(2).
var namespaceFlags = []uint64{
	unix.CLONE_NEWUSER, unix.CLONE_NEWNS, unix.CLONE_NEWPID, unix.CLONE_NEWNET, unix.CLONE_NEWIPC, unix.CLONE_NEWUTS,
	unix.CLONE_NEWCGROUP, unix.CLONE_NEWTIME,
}

// auditArch is the AUDIT_ARCH_* value of the machine (linux/audit.h).
var auditArch = map[string]uint32{"amd64": 0xC000003E, "arm64": 0xC00000B7}

// x32Bit marks the calls of the x32 interface of amd64.
const x32Bit = 0x40000000

// seccompProgram is the filter as the kernel reads it: an array of struct
// sock_filter, 8 bytes each.
func seccompProgram() ([]byte, error) {
	filter, err := seccompFilter()
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return nil, fmt.Errorf("assembling the seccomp program: %w", err)
	}
	out := make([]byte, 0, 8*len(raw))
	for _, r := range raw {
		out = binary.NativeEndian.AppendUint16(out, r.Op)
		out = append(out, r.Jt, r.Jf)
		out = binary.NativeEndian.AppendUint32(out, r.K)
	}
	return out, nil
}

// seccompFilter puts the guards before the policy.
func seccompFilter() ([]bpf.Instruction, error) {
	guard, err := archGuard(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	policy := seccompPolicy(runtime.GOARCH)
	body, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("assembling the seccomp policy: %w", err)
	}
	return slices.Concat(guard, wordGuards(), body), nil
}

// archGuard kills a process that enters the kernel as another architecture:
// the library would send such calls to the default action, which allows.
func archGuard(goarch string) ([]bpf.Instruction, error) {
	arch, ok := auditArch[goarch]
	if !ok {
		return nil, fmt.Errorf("no seccomp filter for %s", goarch)
	}
	guard := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
	}
	if goarch != "amd64" {
		return guard, nil
	}
	return append(guard,
		bpf.LoadAbsolute{Off: nrOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
	), nil
}

func seccompPolicy(goarch string) seccomp.Policy {
	names := deniedCalls
	if goarch == "amd64" {
		names = append(append([]string{}, names...), onlyAMD64...)
	}
	var conds []seccomp.NameWithConditions
	add := func(call string, arg uint32, op seccomp.Operation, values []uint64) {
		for _, v := range values {
			conds = append(conds, seccomp.NameWithConditions{Name: call, Conditions: seccomp.ArgumentConditions{{Argument: arg, Operation: op, Value: v}}})
		}
	}
	add("clone", 0, seccomp.BitsSet, namespaceFlags)
	// Other processes' limits: pid 1 is of the same account.
	add("prlimit64", 0, seccomp.NotEqual, []uint64{0})
	// clone3 takes its flags by pointer, where no filter can look: ENOSYS
	// makes the C library fall back to clone.
	enosys := seccomp.Action(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	return seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{
			{Action: enosys, Names: []string{"clone3"}},
			{Action: seccomp.ActionErrno, Names: names, NamesWithCondtions: conds},
		},
	}
}
