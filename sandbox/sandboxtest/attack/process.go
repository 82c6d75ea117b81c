package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processes are attacks on other processes; the first argument is a pid.
func processes() table {
	return table{
		"wait":        wait,
		"environ":     func(a []string) error { return contentOf("environ", a) },
		"maps":        func(a []string) error { return contentOf("maps", a) },
		"environs":    environs,
		"cmdlines":    cmdlines,
		"mem":         mem,
		"fds":         fds,
		"root":        root,
		"vmread":      vmread,
		"vmwrite":     vmwrite,
		"steal":       steal,
		"ptrace":      func(a []string) error { return seize(number(a, 0)) },
		"ptracechild": ptraceChild,
		"prlimit":     prlimit,
		"killed":      killed,
		"stopped":     stopped,
		"killall":     func([]string) error { return syscall.Kill(-1, syscall.SIGKILL) },
		"sockets":     heldSockets,
		"hide":        hide,
		"beat":        beat,
	}
}

// wait is a process to be attacked: it does nothing for long.
func wait([]string) error {
	hold(time.Hour)
	return nil
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

func contentOf(name string, args []string) error {
	b, err := os.ReadFile(procFile(number(args, 0), name))
	if err == nil && len(b) == 0 {
		return errors.New("empty")
	}
	return err
}

// search looks for a text in a file of every process.
func search(name, text string) error {
	files, err := filepath.Glob("/proc/[0-9]*/" + name)
	if err != nil {
		return err
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(text)) && !strings.HasPrefix(file, procFile(os.Getpid(), "")) {
			return nil
		}
	}
	return fmt.Errorf("%q is in none of %d", text, len(files))
}

// environs looks for a variable's name in the environment of all others.
func environs(args []string) error { return search("environ", word(args, 0)+"=") }

// cmdlines looks for a text, given in two halves, in all command lines.
func cmdlines(args []string) error { return search("cmdline", word(args, 0)+word(args, 1)) }

// textAddress is where a static Go program begins (cmd/link, -T).
const textAddress = 0x400000

func mem(args []string) error {
	f, err := os.Open(procFile(number(args, 0), "mem"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = f.ReadAt(make([]byte, 16), textAddress)
	return err
}

func fds(args []string) error {
	names, err := filepath.Glob(procFile(number(args, 0), "fd/*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := os.Readlink(name); err == nil {
			return nil
		}
	}
	return fmt.Errorf("none of %d", len(names))
}

func root(args []string) error {
	pid := number(args, 0)
	for _, name := range []string{"root", "cwd", "exe"} {
		if _, err := os.Readlink(procFile(pid, name)); err == nil {
			return nil
		}
	}
	_, err := os.ReadDir(procFile(pid, "root/"))
	return err
}

func vmread(args []string) error {
	buf := make([]byte, 16)
	local := []unix.Iovec{{Base: &buf[0], Len: 16}}
	remote := []unix.RemoteIovec{{Base: textAddress, Len: 16}}
	_, err := unix.ProcessVMReadv(number(args, 0), local, remote, 0)
	return err
}

// vmwrite writes into its own memory, as into another's.
func vmwrite([]string) error {
	from, to := []byte{1}, []byte{0}
	local := []unix.Iovec{{Base: &from[0], Len: 1}}
	remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&to[0])), Len: 1}}
	_, err := unix.ProcessVMWritev(os.Getpid(), local, remote, 0)
	runtime.KeepAlive(to)
	return err
}

// steal takes a descriptor out of another process.
func steal(args []string) error {
	fd, err := unix.PidfdOpen(number(args, 0), 0)
	if err != nil {
		return err
	}
	for n := range 64 {
		if _, err = unix.PidfdGetfd(fd, n, 0); err == nil {
			return nil
		}
	}
	return err
}

// seize attaches a tracer (ptrace(2), PTRACE_SEIZE).
func seize(pid int) error {
	runtime.LockOSThread()
	_, err := call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid))
	return err
}

// child starts this program to do something else.
func child(args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd, cmd.Start()
}

func ptraceChild([]string) error {
	cmd, err := child("wait")
	if err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Kill() }()
	return seize(cmd.Process.Pid)
}

// prlimit lowers what another process may open by one.
func prlimit(args []string) error {
	pid := number(args, 0)
	var lim unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &lim); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &lim, nil)
}

// state is the letter that /proc shows of a process, 0 when it is gone.
func state(pid int) byte {
	b, err := os.ReadFile(procFile(pid, "stat"))
	if i := bytes.LastIndexByte(b, ')'); err == nil && i > 0 && len(b) > i+2 {
		return b[i+2]
	}
	return 0
}

// signalled sends a signal and reports whether the process changed.
func signalled(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); err != nil {
		return err
	}
	for range 8 {
		if s := state(pid); s == 0 || s == 'Z' || s == 'T' {
			return nil
		}
		hold(2 * time.Millisecond)
	}
	return fmt.Errorf("signal %d did nothing", sig)
}

// stopped stops a process.
func stopped(args []string) error {
	pid := number(args, 0)
	err := signalled(pid, syscall.SIGSTOP)
	_ = syscall.Kill(pid, syscall.SIGCONT)
	return err
}

// killed sends every signal that ends a process, SIGKILL last.
func killed(args []string) error {
	pid := number(args, 0)
	var err error
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch sig {
		case syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGKILL:
			continue
		}
		if err = signalled(pid, sig); err == nil {
			return nil
		}
	}
	return signalled(pid, syscall.SIGKILL)
}

// heldSockets looks for a socket or a file of the host among what this process
// was given, and talks into it.
func heldSockets([]string) error {
	for fd := range 1024 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
			continue
		}
		if _, err := unix.Getpeername(fd); err == nil {
			_, err := unix.Write(fd, []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4})
			return err
		}
	}
	return errors.New("no descriptor is a connection")
}

// hide starts a daemon that clears what it could be known by and, if a second
// argument is given, takes that for its cookie.
func hide(args []string) error {
	cmd := exec.Command("/proc/self/exe", "beat", word(args, 0))
	cmd.Env = []string{}
	if cookie := word(args, 1); cookie != "" {
		cmd.Env = []string{cookie}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	hold(300 * time.Millisecond)
	return nil
}

// beat writes a file again and again.
func beat(args []string) error {
	for n := 0; ; n++ {
		if err := os.WriteFile(word(args, 0), []byte(strconv.Itoa(n)), 0o600); err != nil {
			return err
		}
		hold(20 * time.Millisecond)
	}
}
