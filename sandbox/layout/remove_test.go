package layout_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox/layout"
)

// removeVar makes the test's program remove the tree that it names.
const removeVar = "LAYOUT_TEST_REMOVE"

func TestMain(m *testing.M) {
	path := os.Getenv(removeVar)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := layout.RemoveTree(path); err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error())
		os.Exit(1)
	}
	os.Exit(0)
}

// passable is a directory that every account may pass.
func passable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "layout-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

const someUID = 60163

// removeAs removes a tree as an ordinary account, which owns it.
func removeAs(t *testing.T, dir, path string) error {
	t.Helper()
	if os.Geteuid() != 0 {
		return layout.RemoveTree(path)
	}
	program := filepath.Join(dir, "program")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Dir(path), func(name string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(name, someUID, someUID))
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{removeVar + "=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: someUID, Gid: someUID}}
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.New(string(out))
	}
	return nil
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestRemoveTreeWithoutPermissions(t *testing.T) {
	dir := passable(t)
	tree := filepath.Join(dir, "of-the-run", "tree")
	outside := filepath.Join(dir, "outside")
	must(t, os.MkdirAll(filepath.Join(tree, "a", "b", "c"), 0o755), os.MkdirAll(filepath.Join(tree, "read-only", "d"), 0o755),
		os.WriteFile(filepath.Join(tree, "a", "b", "c", "file"), nil, 0), os.WriteFile(filepath.Join(tree, "read-only", "file"), nil, 0o400),
		os.Mkdir(outside, 0o555), os.WriteFile(filepath.Join(outside, "file"), nil, 0o600),
		os.Symlink(outside, filepath.Join(tree, "link")), os.Symlink("nowhere", filepath.Join(tree, "dangling")),
		os.WriteFile(filepath.Join(tree, "no\xff\xfeutf8"), nil, 0o600), os.Mkdir(filepath.Join(tree, "\xe4\n\x01"), 0o700),
		unix.Mkfifo(filepath.Join(tree, "fifo"), 0o600))
	must(t, os.Chmod(filepath.Join(tree, "a", "b"), 0), os.Chmod(filepath.Join(tree, "a"), 0o100), os.Chmod(filepath.Join(tree, "read-only"), 0o555))
	must(t, removeAs(t, dir, tree))
	gone(t, tree)
	if st, err := os.Stat(filepath.Join(outside, "file")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("what a link pointed to: %v, %v", st, err)
	}
	if st, err := os.Stat(outside); err != nil || st.Mode().Perm() != 0o555 {
		t.Errorf("the directory that a link pointed to: %v, %v", st, err)
	}
}

// deep makes a tree of so many levels, which has no path the kernel would take.
func deep(t *testing.T, path string, levels int, mode uint32) {
	t.Helper()
	must(t, os.Mkdir(path, 0o700))
	fd, err := unix.Open(path, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(fd, "d", 0o700))
		next, err := unix.Openat(fd, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err, unix.Mknodat(fd, "f", unix.S_IFREG|0o600, 0), unix.Fchmod(fd, mode), unix.Close(fd))
		fd = next
	}
	must(t, unix.Close(fd))
}

// TestRemoveTreeThatIsDeep: with few descriptors.
func TestRemoveTreeThatIsDeep(t *testing.T) {
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old), unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: old.Max}))
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old) }()
	for _, mode := range []uint32{0o700, 0} {
		t.Run(strconv.FormatUint(uint64(mode), 8), func(t *testing.T) {
			tree := filepath.Join(t.TempDir(), "tree")
			deep(t, tree, 20_000, mode)
			must(t, layout.RemoveTree(tree))
			gone(t, tree)
		})
	}
}

// TestRemoveTreeThatIsWrittenTo: faster than it can be removed. Removing ends,
// and the tree goes once the writing does.
func TestRemoveTreeThatIsWrittenTo(t *testing.T) {
	tree := filepath.Join(t.TempDir(), "tree")
	must(t, os.MkdirAll(filepath.Join(tree, "a", "b"), 0o700))
	quit := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-quit:
					return
				default:
				}
				name := strconv.Itoa(w) + "-" + strconv.Itoa(i)
				_ = os.MkdirAll(filepath.Join(tree, "a", "b", name), 0o700)
				_ = os.WriteFile(filepath.Join(tree, name), nil, 0o600)
			}
		})
	}
	for ahead := filepath.Join(tree, "0-500"); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(ahead); err == nil {
			break
		}
	}
	began := time.Now()
	err := layout.RemoveTreeFor(tree, time.Second) // it may or may not win
	t.Logf("while something writes, after %v: %v", time.Since(began).Round(time.Millisecond), err)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	close(quit)
	writers.Wait()
	must(t, layout.RemoveTree(tree))
	gone(t, tree)
}

func TestRemoveTreeThatIsNone(t *testing.T) {
	dir := t.TempDir()
	must(t, layout.RemoveTree(filepath.Join(dir, "nothing")), layout.RemoveTree(filepath.Join(dir, "no", "parent")))
	kept := filepath.Join(dir, "kept")
	link := filepath.Join(dir, "link")
	must(t, os.Mkdir(kept, 0o700), os.WriteFile(filepath.Join(kept, "file"), nil, 0o600), os.Symlink(kept, link))
	must(t, layout.RemoveTree(link))
	gone(t, link)
	if _, err := os.Stat(filepath.Join(kept, "file")); err != nil {
		t.Errorf("it went through a link: %v", err)
	}
	file := filepath.Join(kept, "file")
	must(t, layout.RemoveTree(file))
	gone(t, file)
}
