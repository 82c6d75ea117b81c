package main

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mounts are those for mounts and namespaces.
func mounts() table {
	return table{
		"mount":      func([]string) error { return mount("none", "tmpfs", 0) },
		"bind":       func([]string) error { return mount("/", "", unix.MS_BIND) },
		"umount":     func(a []string) error { return past(unix.Unmount(word(a, 0), 0), syscall.EINVAL) },
		"remount":    func(a []string) error { return remount(word(a, 0)) },
		"fsopen":     fsOpen,
		"opentree":   openTree,
		"pivot":      func([]string) error { return past(unix.PivotRoot("/", "/"), syscall.EINVAL, syscall.EBUSY) },
		"chroot":     func([]string) error { return unix.Chroot("/") },
		"setns":      setns,
		"unshare":    func(a []string) error { return unshare(number(a, 0)) },
		"newuser":    func([]string) error { return unshare(unix.CLONE_NEWUSER) },
		"cloneuser":  cloneUser,
		"clone3user": clone3User,
	}
}

// mount mounts over a directory of its own and takes that back.
func mount(source, kind string, flags uintptr) error {
	dir, err := os.MkdirTemp(".", "mount-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }()
	if err := unix.Mount(source, dir, kind, flags, ""); err != nil {
		return err
	}
	return unix.Unmount(dir, unix.MNT_DETACH)
}

// remount makes a mount writable; one that is no mount is past the permission.
func remount(dir string) error {
	return past(unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND, ""), syscall.EINVAL)
}

func fsOpen([]string) error {
	fd, err := unix.Fsopen("tmpfs", 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func openTree([]string) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// setns enters the namespaces of a process, each by itself.
func setns(args []string) error {
	runtime.LockOSThread()
	var last error
	for _, name := range []string{"net", "uts", "ipc", "mnt", "user"} {
		fd, err := unix.Open(procFile(number(args, 0), "ns/"+name), unix.O_RDONLY, 0)
		if err == nil {
			err = unix.Setns(fd, 0)
		}
		if err == nil {
			return nil
		}
		last = err
	}
	return last
}

func unshare(flags int) error {
	if flags == unix.CLONE_NEWUSER {
		// Only a process with one thread may (unshare(2)): a child does.
		return inChild(&syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWUSER})
	}
	runtime.LockOSThread()
	return unix.Unshare(flags)
}

func inChild(attr *syscall.SysProcAttr) error {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"attack"}, &syscall.ProcAttr{Sys: attr})
	if err != nil {
		return err
	}
	_, err = syscall.Wait4(pid, nil, 0, nil)
	return err
}

func cloneUser([]string) error { return inChild(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}) }

// cloneArgs is struct clone_args up to version 0 (clone(2)).
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64
}

// clone3User asks for a thread in a new user namespace, which is refused for
// its arguments (EINVAL) where namespaces are not refused before.
func clone3User([]string) error {
	a := cloneArgs{flags: unix.CLONE_NEWUSER | unix.CLONE_THREAD}
	_, err := call(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a))
	runtime.KeepAlive(&a)
	return past(err, syscall.EINVAL)
}
