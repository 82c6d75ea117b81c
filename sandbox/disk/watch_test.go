package disk_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/greenwright/greenwright/sandbox/disk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type crossing struct {
	area string
	size disk.Size
}

// watch runs a Watch until the test ends and gives its calls.
func watch(t *testing.T, areas ...disk.Area) <-chan crossing {
	t.Helper()
	w := disk.NewWatch(disk.Config{Areas: areas})
	must(t, w.Prime(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	calls, done := make(chan crossing, 100), make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func(a disk.Area, s disk.Size) { calls <- crossing{a.Name, s} })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return calls
}

func expect(t *testing.T, calls <-chan crossing, area string) {
	t.Helper()
	began := time.Now()
	select {
	case c := <-calls:
		t.Logf("%+v after %v", c, time.Since(began))
		if c.area != area {
			t.Errorf("area %q, want %q", c.area, area)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("nothing in 5 s")
	}
}

func expectNothing(t *testing.T, calls <-chan crossing) {
	t.Helper()
	select {
	case c := <-calls:
		t.Errorf("called for %+v", c)
	case <-time.After(1200 * time.Millisecond):
	}
}

func areas(dir string) []disk.Area {
	return []disk.Area{
		{Name: "workspace", Dirs: []string{filepath.Join(dir, "w")}, Limit: disk.Size{Bytes: 8 << 20, Files: 1000}},
		{Name: "temp", Dirs: []string{filepath.Join(dir, "h"), filepath.Join(dir, "t")}, Limit: disk.Size{Bytes: 2 << 20, Files: 100}},
	}
}

func TestWatchSeesBytes(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "w/there"), 1<<20)
	calls := watch(t, areas(dir)...)
	write(t, filepath.Join(dir, "w/some"), 1<<20)
	expectNothing(t, calls)
	write(t, filepath.Join(dir, "w/much"), 8<<20)
	expect(t, calls, "workspace")
	expectNothing(t, calls) // once for each crossing
	must(t, os.Remove(filepath.Join(dir, "w/much")))
	expectNothing(t, calls)
	write(t, filepath.Join(dir, "w/again"), 8<<20)
	expect(t, calls, "workspace")
}

func TestWatchSeesFilesInSeveralDirectories(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "h/x"), 1)
	calls := watch(t, areas(dir)...)
	for i := range 60 {
		write(t, filepath.Join(dir, "h", strconv.Itoa(i)), 0)
	}
	expectNothing(t, calls)
	for i := range 60 {
		write(t, filepath.Join(dir, "t", strconv.Itoa(i)), 0)
	}
	expect(t, calls, "temp")
}

func TestWatchIgnoresOthers(t *testing.T) {
	dir := t.TempDir()
	calls := watch(t, areas(dir)...)
	write(t, filepath.Join(dir, "elsewhere"), 20<<20)
	expectNothing(t, calls)
}

// TestWatchSeesGrowthThatOthersHide frees as much beside the area as it gains.
func TestWatchSeesGrowthThatOthersHide(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "elsewhere"), 60<<20)
	calls := watch(t, areas(dir)...)
	must(t, os.Remove(filepath.Join(dir, "elsewhere")))
	write(t, filepath.Join(dir, "w/much"), 9<<20)
	expect(t, calls, "workspace")
}

func TestWatchCountsGrowthOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "w/there"), 20<<20)
	for i := range 2000 {
		write(t, filepath.Join(dir, "w/many", strconv.Itoa(i)), 0)
	}
	calls := watch(t, areas(dir)...)
	expectNothing(t, calls)
	write(t, filepath.Join(dir, "w/more"), 1<<20)
	expect(t, calls, "workspace")
}

func TestWatchWithoutLimits(t *testing.T) {
	dir := t.TempDir()
	calls := watch(t, disk.Area{Name: "free", Dirs: []string{dir}})
	write(t, filepath.Join(dir, "much"), 20<<20)
	expectNothing(t, calls)
}

// TestWatchOnTmpfs: a file system of another kind, where there is one.
func TestWatchOnTmpfs(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "watch")
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	calls := watch(t, areas(dir)...)
	expectNothing(t, calls)
	write(t, filepath.Join(dir, "t/much"), 3<<20)
	expect(t, calls, "temp")
}

func TestWatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := disk.NewWatch(disk.Config{Areas: areas(t.TempDir())})
	w.Run(ctx, func(disk.Area, disk.Size) { t.Error("called") })
}
