package bwrap

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// allowedFamilies are the socket families that a network namespace confines
// and that programs use. All others are refused: vsock, which no namespace
// confines, and what is attack surface only.
var allowedFamilies = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// terminalCalls are the ioctls that put input into a terminal (CVE-2017-5226).
var terminalCalls = []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD}

// Offsets in struct seccomp_data (linux/seccomp.h). Both architectures are
// little-endian: the low word of an argument comes first.
const (
	nrOffset   = 0
	archOffset = 4
	argsOffset = 16
	argSize    = 8
)

// refused is what a call gets that is not let through.
const refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

// wordGuards judge the arguments that the kernel cuts to 32 bits by those 32
// bits. The library compares all 64, and a call with anything in the upper
// half would pass (the like of CVE-2019-10063).
func wordGuards() []bpf.Instruction {
	var out []bpf.Instruction
	for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		out = append(out, onlyWords(call, 0, allowedFamilies)...)
	}
	return append(out, noWords(unix.SYS_IOCTL, 1, terminalCalls)...)
}

// onlyWords refuses a call unless the argument is one of the values.
func onlyWords(call, arg uint32, values []uint32) []bpf.Instruction {
	return judged(call, arg, append(found(values, 1), bpf.RetConstant{Val: refused}))
}

// noWords refuses a call if the argument is one of the values.
func noWords(call, arg uint32, values []uint32) []bpf.Instruction {
	return judged(call, arg, append(found(values, 1), bpf.Jump{Skip: 1}, bpf.RetConstant{Val: refused}))
}

// judged loads an argument of one call and runs the judgement, which is passed
// over for all other calls.
func judged(call, arg uint32, judgement []bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: nrOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: uint8(1 + len(judgement))}, //nolint:gosec // a dozen
		bpf.LoadAbsolute{Off: argsOffset + argSize*arg, Size: 4},
	}, judgement...)
}

// found jumps over what follows it, and as much more, when the argument is one
// of the values.
func found(values []uint32, more int) []bpf.Instruction {
	var out []bpf.Instruction
	for i, v := range values {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(values) - 1 - i + more)}) //nolint:gosec // a dozen
	}
	return out
}
