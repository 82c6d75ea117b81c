package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are attacks by a system call each.
func calls() table {
	t := table{
		"bpf": bpf, "perf": perf, "userfaultfd": userFault, "uring": uring,
		"keys": keys, "requestkey": requestKey, "modules": modules, "kexec": kexec, "reboot": reboot,
		"acct": acct, "swap": swap, "clock": clock, "adjtime": adjtime, "ports": ports, "fanotify": fanotify,
		"syslog": klog, "vhangup": vhangup, "kcmp": kcmp, "numa": numa, "quota": quota, "madvise": madvise,
		"hostnames": hostNames, "tiocsti": tiocsti, "uppertiocsti": upperTiocsti,
	}
	for name, try := range mounts() {
		t[name] = try
	}
	return t
}

// bpf makes a map (bpf(2), BPF_MAP_CREATE, an array of one).
func bpf([]string) error {
	attr := [32]uint32{2, 4, 4, 1}
	fd, err := call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if err != nil {
		return err
	}
	return unix.Close(int(fd))
}

// perf counts the processor's time of this process.
func perf([]string) error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitExcludeKernel}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// userFault with UFFD_USER_MODE_ONLY, which needs no rights.
func userFault([]string) error {
	fd, err := call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1)
	if err != nil {
		return err
	}
	return unix.Close(int(fd))
}

func uring([]string) error {
	var params [30]uint32
	fd, err := call(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)))
	if err != nil {
		return err
	}
	return unix.Close(int(fd))
}

func keys([]string) error {
	id, err := unix.AddKey("user", "attack", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
	if err != nil {
		return err
	}
	_, err = unix.KeyctlInt(unix.KEYCTL_REVOKE, id, 0, 0, 0)
	return err
}

// requestKey asks for a key that is not there.
func requestKey([]string) error {
	_, err := unix.RequestKey("user", "no-such-key", "", 0)
	return past(err, syscall.ENOKEY, syscall.ENOENT)
}

// modules asks for the removal of one that is not there, and to load nothing.
func modules([]string) error {
	err := unix.DeleteModule("no-such-module", unix.O_NONBLOCK)
	if past(err, syscall.ENOENT) == nil {
		return nil
	}
	if e := unix.InitModule([]byte("x"), ""); past(e, syscall.ENOEXEC, syscall.EINVAL) == nil {
		return nil
	}
	return err
}

// kexec unloads a kernel that was not loaded.
func kexec([]string) error {
	_, err := call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0)
	return err
}

// reboot with a number that is none (EINVAL after the permission).
func reboot([]string) error {
	_, err := call(unix.SYS_REBOOT, 1, 2, 3, 0)
	return past(err, syscall.EINVAL)
}

// acct ends the accounting that is not on.
func acct([]string) error {
	_, err := call(unix.SYS_ACCT, 0)
	return err
}

func swap([]string) error {
	name, err := syscall.BytePtrFromString("/no/such/file")
	if err != nil {
		return err
	}
	_, err = call(unix.SYS_SWAPON, uintptr(unsafe.Pointer(name)), 0)
	return past(err, syscall.ENOENT)
}

// clock sets the time to what it is.
func clock([]string) error {
	now := unix.NsecToTimespec(time.Now().UnixNano())
	return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
}

// adjtime sets the clock's frequency to what it is.
func adjtime([]string) error {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return err
	}
	t.Modes = unix.ADJ_FREQUENCY
	_, err := unix.Adjtimex(&t)
	return err
}

func fanotify([]string) error {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// klog reads the kernel's messages.
func klog([]string) error {
	const readAll = 3
	_, err := unix.Klogctl(readAll, make([]byte, 4096))
	return err
}

// vhangup in a session of its own hangs up nothing.
func vhangup([]string) error {
	_, _ = unix.Setsid()
	_, err := call(unix.SYS_VHANGUP)
	return err
}

// kcmp compares a file of two processes, which are one.
func kcmp([]string) error {
	pid := uintptr(os.Getpid())
	_, err := call(unix.SYS_KCMP, pid, pid, 0, 1, 1)
	return err
}

// numa asks where pages are: move_pages(2) without moving.
func numa([]string) error {
	page := make([]byte, os.Getpagesize())
	page[0] = 1
	addr, status := uintptr(unsafe.Pointer(&page[0])), int32(0)
	_, err := call(unix.SYS_MOVE_PAGES, 0, 1, uintptr(unsafe.Pointer(&addr)), 0, uintptr(unsafe.Pointer(&status)), 0)
	runtime.KeepAlive(page)
	return err
}

// quota asks about what is no device.
func quota([]string) error {
	const sync, user = 0x800001, 0
	name, err := syscall.BytePtrFromString("/dev/null")
	if err != nil {
		return err
	}
	_, err = call(unix.SYS_QUOTACTL, sync<<8|user, uintptr(unsafe.Pointer(name)), 0, 0)
	return past(err, syscall.ENOTBLK, syscall.EINVAL)
}

// madvise advises on the memory of another process, which is this one.
func madvise([]string) error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	vec := unix.Iovec{Base: &page[0], Len: uint64(len(page))}
	_, err = call(unix.SYS_PROCESS_MADVISE, uintptr(fd), uintptr(unsafe.Pointer(&vec)), 1, unix.MADV_COLD, 0)
	runtime.KeepAlive(&vec)
	return err
}

// hostNames sets the name to what it is.
func hostNames([]string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return unix.Sethostname([]byte(name))
}

// tiocsti types into a terminal of its own, as into that of its caller.
func tiocsti([]string) error { return typing(unix.TIOCSTI) }

// upperTiocsti asks for the same call in other words.
func upperTiocsti([]string) error { return typing(upperHalf | unix.TIOCSTI) }

func typing(request uintptr) error {
	signal.Ignore(syscall.SIGHUP) // the terminal's end
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return noFile(err)
	}
	defer func() { _ = unix.Close(master) }()
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	if _, err := unix.Setsid(); err != nil && !errors.Is(err, syscall.EPERM) {
		return err
	}
	slave, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	_ = unix.IoctlSetInt(slave, unix.TIOCSCTTY, 0)
	c := byte('x')
	_, err = call(unix.SYS_IOCTL, uintptr(slave), request, uintptr(unsafe.Pointer(&c)))
	if errors.Is(err, syscall.EIO) { // dev.tty.legacy_tiocsti is 0
		return fmt.Errorf("%w: %w", errMissing, err)
	}
	return err
}
