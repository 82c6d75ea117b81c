package disk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox/disk"
)

// du is what coreutils counts.
func du(t *testing.T, dir string) disk.Size {
	t.Helper()
	one := func(args ...string) int64 {
		out, err := exec.Command("du", append(args, "-s", "-x", dir)...).Output()
		if err != nil {
			t.Fatalf("du: %v", err)
		}
		n, err := strconv.ParseInt(strings.Fields(string(out))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return disk.Size{Bytes: one("--block-size=1"), Files: one("--inodes")}
}

func measured(t *testing.T, dir string) disk.Size {
	t.Helper()
	size, err := disk.Measure(t.Context(), dir, disk.Size{})
	if err != nil {
		t.Fatalf("Measure: %v", err)
	}
	return size
}

func write(t *testing.T, path string, bytes int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, bytes), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMeasureCountsLikeDu(t *testing.T) {
	for name, build := range map[string]func(t *testing.T, dir string){
		"empty": func(*testing.T, string) {},
		"ordinary": func(t *testing.T, dir string) {
			for i := range 300 {
				write(t, filepath.Join(dir, strconv.Itoa(i%7), strconv.Itoa(i%11), strconv.Itoa(i)), i*100)
			}
		},
		"sparse": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "big"), 10)
			must(t, os.Truncate(filepath.Join(dir, "big"), 1<<40))
		},
		"hard links": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "a/one"), 100_000)
			write(t, filepath.Join(dir, "b/two"), 5)
			for i := range 50 {
				must(t, os.Link(filepath.Join(dir, "a/one"), filepath.Join(dir, "b", strconv.Itoa(i))))
			}
		},
		"links and special files": func(t *testing.T, dir string) {
			must(t, os.Symlink(".", filepath.Join(dir, "self")))
			must(t, os.Symlink("/", filepath.Join(dir, "root")))
			must(t, os.Symlink(strings.Repeat("x/", 200), filepath.Join(dir, "long")))
			must(t, os.Symlink("loop2", filepath.Join(dir, "loop1")))
			must(t, os.Symlink("loop1", filepath.Join(dir, "loop2")))
			must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
			must(t, unix.Mknod(filepath.Join(dir, "socket"), unix.S_IFSOCK|0o600, 0))
		},
		"odd names": func(t *testing.T, dir string) {
			for _, n := range []string{"\xff\xfe", "a\nb", " ", "...", ".. ", strings.Repeat("n", 255)} {
				write(t, filepath.Join(dir, n, n), 10)
			}
		},
		"wide": func(t *testing.T, dir string) {
			for i := range 3000 {
				must(t, os.Mkdir(filepath.Join(dir, strconv.Itoa(i)), 0o755))
			}
		},
		// Deeper than the directories that stay open, with much to come back to.
		"deep and wide": func(t *testing.T, dir string) {
			for range 80 {
				for i := range 20 {
					write(t, filepath.Join(dir, "f"+strconv.Itoa(i)), 1)
					write(t, filepath.Join(dir, "a"+strconv.Itoa(i), "f"), 1)
				}
				dir = filepath.Join(dir, "d")
				must(t, os.Mkdir(dir, 0o755))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			build(t, dir)
			if got, want := measured(t, dir), du(t, dir); got != want {
				t.Errorf("got %+v, du says %+v", got, want)
			}
		})
	}
}

func TestMeasureStopsEarly(t *testing.T) {
	dir := t.TempDir()
	for i := range 500 {
		write(t, filepath.Join(dir, strconv.Itoa(i)), 4096)
	}
	for _, stop := range []disk.Size{{Files: 100}, {Bytes: 100 * 4096}} {
		size, err := disk.Measure(t.Context(), dir, stop)
		if err != nil || !size.Exceeds(stop) || size.Files > 110 {
			t.Errorf("stop %+v: %+v, %v", stop, size, err)
		}
	}
	whole := measured(t, dir)
	if size, err := disk.Measure(t.Context(), dir, whole); err != nil || size != whole || size.Exceeds(whole) {
		t.Errorf("exactly at the stop: %+v, %v, want %+v", size, err, whole)
	}
}

func TestMeasureOfWhatIsNoDirectory(t *testing.T) {
	dir := t.TempDir()
	if size := measured(t, filepath.Join(dir, "none")); size != (disk.Size{}) {
		t.Errorf("nothing takes %+v", size)
	}
	write(t, filepath.Join(dir, "real/file"), 10)
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	for _, name := range []string{"link", "real/file", "fifo"} {
		if size, err := disk.Measure(t.Context(), filepath.Join(dir, name), disk.Size{}); err == nil {
			t.Errorf("%s: %+v and no error", name, size)
		}
	}
	if size := measured(t, filepath.Join(dir, "real")); size.Files != 2 {
		t.Errorf("the control: %+v", size)
	}
}

func TestMeasureEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := disk.Measure(ctx, dir, disk.Size{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestMeasureWithoutPermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: needs root to become somebody else")
	}
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	write(t, filepath.Join(dir, "open/file"), 1)
	write(t, filepath.Join(dir, "closed/file"), 1)
	must(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	write(t, filepath.Join(dir, "listed/file"), 1)
	must(t, os.Chmod(filepath.Join(dir, "listed"), 0o644))
	if size := measured(t, dir); size.Files != 7 || size.Hidden != 0 {
		t.Errorf("root sees %+v", size)
	}
	runtime.LockOSThread()
	_, err := unix.SetfsuidRetUid(60163)
	must(t, err)
	size, merr := disk.Measure(t.Context(), dir, disk.Size{})
	_, err = unix.SetfsuidRetUid(0)
	must(t, err)
	runtime.UnlockOSThread()
	if merr != nil || size.Files != 6 || size.Hidden != 2 {
		t.Errorf("another account sees %+v, %v; want 6 files and 2 hidden", size, merr)
	}
}

// descend makes a chain of directories below dir.
func descend(t *testing.T, dir string, levels int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(fd, "d", 0o755))
		next, err := unix.Openat(fd, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		must(t, unix.Close(fd))
		fd = next
	}
	must(t, unix.Close(fd))
	t.Cleanup(func() {
		if out, err := exec.Command("rm", "-rf", filepath.Join(dir, "d")).CombinedOutput(); err != nil {
			t.Errorf("removing: %v: %s", err, out)
		}
	})
}

func TestMeasureADeepTree(t *testing.T) {
	dir := t.TempDir()
	const levels = 100_000
	if testing.Short() {
		t.Skip("SKIPPED: takes 400 MB and ten seconds")
	}
	descend(t, dir, levels)
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	low := limit
	low.Cur = 128
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low))
	defer func() { must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
	began := time.Now()
	size := measured(t, dir)
	t.Logf("%d levels in %v", levels, time.Since(began))
	if size.Files != levels+1 || size.Hidden != 0 {
		t.Errorf("%+v, want %d files", size, levels+1)
	}
}

func TestMeasureManyEntries(t *testing.T) {
	dir := t.TempDir()
	const n = 200_000
	for i := range 200 {
		sub := filepath.Join(dir, strconv.Itoa(i))
		must(t, os.Mkdir(sub, 0o755))
		fd, err := unix.Open(sub, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		for j := range n / 200 {
			if j%10 == 0 {
				must(t, unix.Mkdirat(fd, strconv.Itoa(j), 0o755))
			} else {
				must(t, unix.Mknodat(fd, strconv.Itoa(j), unix.S_IFREG|0o644, 0))
			}
		}
		must(t, unix.Close(fd))
	}
	began := time.Now()
	size := measured(t, dir)
	took := time.Since(began)
	t.Logf("%d entries in %v", n, took)
	if size.Files != n+200+1 || took > 20*time.Second {
		t.Errorf("%+v in %v", size, took)
	}
	if want := du(t, dir); size != want {
		t.Errorf("%+v, du says %+v", size, want)
	}
}

// TestMeasureWhileTheTreeChanges has directories made, moved and removed.
func TestMeasureWhileTheTreeChanges(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		descend(t, mkdir(t, filepath.Join(dir, strconv.Itoa(i))), 100)
	}
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !stop.Load(); i++ {
			from, to := filepath.Join(dir, strconv.Itoa(i%4)), filepath.Join(dir, strconv.Itoa((i+1)%4))
			deep := filepath.Join(from, strings.Repeat("d/", 50))
			_ = os.Rename(deep, filepath.Join(to, "moved"))
			_ = os.Rename(filepath.Join(to, "moved"), deep)
			_ = os.WriteFile(filepath.Join(from, "f"), nil, 0o600)
			_ = os.Symlink("/", filepath.Join(from, "l"))
			_ = os.Remove(filepath.Join(from, "f"))
			_ = os.Remove(filepath.Join(from, "l"))
		}
	}()
	before := openDescriptors(t)
	for range 200 {
		size := measured(t, dir)
		if size.Files < 5 || size.Files > 1000 {
			t.Errorf("%+v", size)
		}
	}
	stop.Store(true)
	<-done
	if after := openDescriptors(t); after > before+2 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	return dir
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

func BenchmarkMeasure10k(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		path := filepath.Join(dir, strconv.Itoa(i%100), fmt.Sprintf("file-%d.go", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("package x\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if size, err := disk.Measure(b.Context(), dir, disk.Size{}); err != nil || size.Files != 10_101 {
			b.Fatal(size, err)
		}
	}
}
