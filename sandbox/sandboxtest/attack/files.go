package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// files are attacks by the file system.
func files() table {
	return table{
		"rewrite":      rewrite,
		"openwrite":    func(a []string) error { return opens(os.O_WRONLY, a) },
		"openread":     func(a []string) error { return opens(os.O_RDONLY, a) },
		"cgroupwrite":  cgroupWrite,
		"byhandle":     byHandle,
		"mknod":        mknod,
		"filecaps":     fileCaps,
		"setuid":       func([]string) error { return syscall.Setresuid(0, 0, 0) },
		"capset":       capSet,
		"effectiveuid": effectiveUID,
		"hostname":     func(a []string) error { return sameHost(word(a, 0)) },
		"symbols":      symbols,
	}
}

// noFile makes a file that is not there a missing thing.
func noFile(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("%w: %w", errMissing, err)
	}
	return err
}

// rewrite writes into a file what is in it.
func rewrite(args []string) error {
	name := word(args, 0)
	b, err := os.ReadFile(name)
	if err != nil {
		return noFile(err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = f.Write(b)
	return err
}

// opens opens the first of several files that can be.
func opens(flag int, names []string) error {
	var errs []error
	for _, name := range names {
		f, err := os.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
		if err == nil {
			return f.Close()
		}
		errs = append(errs, err)
	}
	for _, err := range errs {
		if !errors.Is(noFile(err), errMissing) {
			return err
		}
	}
	return noFile(errors.Join(errs...))
}

// cgroupWrite opens a control file of the control groups, wherever they are.
func cgroupWrite(args []string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	last := fmt.Errorf("%w: no control groups are mounted", errMissing)
	for line := range strings.SplitSeq(string(mounts), "\n") {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(f[2], "cgroup") {
			continue
		}
		names, _ := filepath.Glob(filepath.Join(f[1], word(args, 0)))
		for _, name := range names {
			w, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err == nil {
				return w.Close()
			}
			last = err
		}
	}
	return last
}

// byHandle opens a file of the host by its handle, past every mount.
func byHandle(args []string) error {
	handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, word(args, 0), 0)
	if err != nil {
		return err
	}
	_ = mount
	dir, err := unix.Open(filepath.Dir(word(args, 0)), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// mknod makes the device of the kernel's memory.
func mknod([]string) error {
	name := fmt.Sprintf("device-%d", os.Getpid())
	err := unix.Mknod(name, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(name) }()
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// fileCaps gives a program a capability (capabilities(7), version 2 with
// CAP_SYS_ADMIN, effective).
func fileCaps([]string) error {
	name := fmt.Sprintf("caps-%d", os.Getpid())
	if err := os.WriteFile(name, nil, 0o700); err != nil {
		return err
	}
	defer func() { _ = os.Remove(name) }()
	value := append([]byte{1, 0, 0, 2, 0, 0, 0x20, 0}, bytes.Repeat([]byte{0}, 12)...)
	return unix.Setxattr(name, "security.capability", value, 0)
}

// capSet takes a capability, or keeps the one it has.
func capSet([]string) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	const sysAdmin = 1 << unix.CAP_SYS_ADMIN
	data[0].Permitted |= sysAdmin
	data[0].Effective |= sysAdmin
	return unix.Capset(&head, &data[0])
}

// effectiveUID reports a program that runs with another's rights.
func effectiveUID([]string) error {
	if os.Geteuid() != os.Getuid() {
		return nil
	}
	return errors.New("no rights were gained")
}

func sameHost(want string) error {
	name, err := os.Hostname()
	if err == nil && name != want {
		return fmt.Errorf("the host is called %s", name)
	}
	return err
}

// symbols reads where the kernel's code is.
func symbols([]string) error {
	b, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if line != "" && !strings.HasPrefix(line, "0000000000000000") {
			return nil
		}
	}
	return errors.New("no addresses")
}
