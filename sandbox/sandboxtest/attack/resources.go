package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// resources are attacks that take more than a limit: of bytes in mebibytes, of
// other things by number. Each holds what it has for a while.
func resources() table {
	return table{
		"memory":    func(a []string) error { return mapped(unix.MAP_PRIVATE, number(a, 0)) },
		"shared":    func(a []string) error { return mapped(unix.MAP_SHARED, number(a, 0)) },
		"memories":  memories,
		"memfd":     memfd,
		"sysv":      sysv,
		"file":      file,
		"manyfiles": manyFiles,
		"bigfiles":  bigFiles,
		"removed":   removed,
		"sparse":    sparse,
		"forks":     forks,
		"threads":   threads,
		"zombies":   zombies,
		"open":      openMany,
		"spin":      spin,
		"rlimits":   rlimits,
	}
}

const mebi = 1 << 20

// long is how long it holds what it took: some looks of a watcher.
const long = 600 * time.Millisecond

func held() error {
	hold(long)
	return nil
}

// touch writes to each page.
func touch(b []byte) {
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
}

func mapped(flags, size int) error {
	b, err := unix.Mmap(-1, 0, size*mebi, unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_ANON)
	if err != nil {
		return err
	}
	touch(b)
	return held()
}

// memories takes memory in several processes: number, then size of each.
func memories(args []string) error {
	return children(number(args, 0), "memory", word(args, 1))
}

// children runs this program several times and waits for all.
func children(n int, args ...string) error {
	var all []*exec.Cmd
	defer func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}()
	for range n {
		c, err := child(args...)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// memfd fills files that have no name: number, then size of each.
func memfd(args []string) error {
	for range number(args, 0) {
		fd, err := unix.MemfdCreate("attack", 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "memfd")
		if err := fill(f, number(args, 1)); err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
	}
	return held()
}

func fill(f *os.File, size int) error {
	block := bytes.Repeat([]byte{1}, mebi)
	for range size {
		if _, err := f.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// sysv takes shared memory segments and gives them back.
func sysv(args []string) error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, number(args, 0)*mebi, unix.IPC_CREAT|0o600)
	if err != nil {
		return err
	}
	b, err := unix.SysvShmAttach(id, 0, 0)
	_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if err != nil {
		return err
	}
	touch(b)
	return held()
}

// file writes one file of a size and removes it.
func file(args []string) error {
	f, err := os.Create(word(args, 0))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	if err := fill(f, number(args, 1)); err != nil {
		return err
	}
	return held()
}

// bigFiles writes several files: directory, number, size of each.
func bigFiles(args []string) error {
	for i := range number(args, 1) {
		f, err := os.Create(filepath.Join(word(args, 0), "big-"+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(f.Name()) }()
		if err := fill(f, number(args, 2)); err != nil {
			return err
		}
		_ = f.Close()
	}
	return held()
}

// removed holds files open that no directory names any more.
func removed(args []string) error {
	for i := range number(args, 1) {
		f, err := os.Create(filepath.Join(word(args, 0), "removed-"+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
		if err := fill(f, number(args, 2)); err != nil {
			return err
		}
	}
	return held()
}

// manyFiles makes empty files.
func manyFiles(args []string) error {
	dir, err := os.MkdirTemp(word(args, 0), "many-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for i := range number(args, 1) {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600); err != nil {
			return err
		}
	}
	return held()
}

// sparse makes a file of a terabyte without content.
func sparse(args []string) error {
	f, err := os.Create(word(args, 0))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	return f.Truncate(1 << 40)
}

// forks keeps a number of processes.
func forks(args []string) error {
	var all []*os.Process
	defer func() {
		for _, p := range all {
			_ = p.Kill()
			_, _ = p.Wait()
		}
	}()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return err
	}
	for range number(args, 0) {
		p, err := os.StartProcess(sleep, []string{"sleep", "60"}, &os.ProcAttr{})
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	return nil
}

// threads keeps a number of threads, each asleep in the kernel. A program in
// Go dies when it cannot make one: it runs as a child.
func threads(args []string) error {
	if len(args) == 1 {
		c, err := child("threads", args[0], "now")
		if err != nil {
			return err
		}
		return c.Wait()
	}
	n := number(args, 0)
	for range n {
		go func() { _ = unix.Nanosleep(&unix.Timespec{Sec: 60}, nil) }()
	}
	for range 300 {
		if entries, err := os.ReadDir("/proc/self/task"); err == nil && len(entries) >= n {
			return nil
		}
		hold(10 * time.Millisecond)
	}
	return errors.New("not as many")
}

// zombies makes processes that nobody waits for.
func zombies(args []string) error {
	for range number(args, 0) {
		if _, err := os.StartProcess("/proc/self/exe", []string{"attack"}, &os.ProcAttr{}); err != nil {
			return err
		}
	}
	return held()
}

func openMany(args []string) error {
	for range number(args, 0) {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return err
		}
	}
	return nil
}

// spin works without a pause, and has more than the given percentage of a
// processor in the best of three seconds. It counts by the clock: the time in
// which it was kept from working shows as a leap, whatever a kernel says of it.
func spin(args []string) error {
	best := time.Duration(0)
	for range 3 {
		best = max(best, worked(time.Second))
	}
	share := int(best * 100 / time.Second)
	if share <= number(args, 0) {
		return fmt.Errorf("%d percent of a processor", share)
	}
	return nil
}

// leap is longer than a look at the clock, and shorter than a scheduler's turn.
const leap = 500 * time.Microsecond

func worked(within time.Duration) time.Duration {
	var sum time.Duration
	begun := time.Now()
	for last := begun; last.Sub(begun) < within; {
		now := time.Now()
		if d := now.Sub(last); d < leap {
			sum += d
		}
		last = now
	}
	return sum
}

// rlimits raises what this process may have above what it was given.
func rlimits([]string) error {
	var last error
	for _, which := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_NPROC, unix.RLIMIT_FSIZE, unix.RLIMIT_CORE} {
		var lim unix.Rlimit
		if err := unix.Getrlimit(which, &lim); err != nil {
			return err
		}
		if lim.Max == unix.RLIM_INFINITY {
			continue
		}
		lim.Max++
		if last = unix.Setrlimit(which, &lim); last == nil {
			return nil
		}
	}
	if last == nil || os.Geteuid() == 0 && errors.Is(last, syscall.EPERM) {
		return fmt.Errorf("%w: limits, or root's right to raise them (CAP_SYS_RESOURCE)", errMissing)
	}
	return last
}
