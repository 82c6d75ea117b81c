package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// secret is what no attack may bring into a tree.
const secret = "TOP-SECRET-CONTENT"

// attack sets a workspace up against us; outside holds a file with the secret.
type attack struct {
	name string
	do   func(tb testing.TB, ws, outside string)
	// note is the kind of note that has to tell of path.
	note git.NoteKind
	path string
	// changes is what may still be taken over.
	changes []string
	noNote  bool
}

var attacks = []attack{
	{name: "tracked file becomes a link out", note: git.NoteLink, path: "README.md", do: func(tb testing.TB, ws, outside string) {
		must(tb, os.Remove(filepath.Join(ws, "README.md")))
		must(tb, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(ws, "README.md")))
	}},
	{name: "directory becomes a link out", note: git.NoteLink, path: "src", do: func(tb testing.TB, ws, outside string) {
		must(tb, os.RemoveAll(filepath.Join(ws, "src")))
		must(tb, os.Symlink(outside, filepath.Join(ws, "src")))
	}},
	{name: "relative link out", note: git.NoteLink, path: "src/up", do: func(tb testing.TB, ws, _ string) {
		must(tb, os.Symlink("../../secret", filepath.Join(ws, "src/up")))
	}},
	{name: "link out by way of a link", note: git.NoteLink, path: "src/hop", changes: []string{"added src/top"}, do: func(tb testing.TB, ws, _ string) {
		must(tb, os.Symlink("..", filepath.Join(ws, "src/top")))
		must(tb, os.Symlink("top/../secret", filepath.Join(ws, "src/hop")))
	}},
	{name: "link into .git", note: git.NoteLink, path: "cfg", do: func(tb testing.TB, ws, _ string) {
		must(tb, os.Symlink(".git/config", filepath.Join(ws, "cfg")))
	}},
	{name: "FIFO", note: git.NoteSpecial, path: "pipe", do: func(tb testing.TB, ws, _ string) {
		must(tb, syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o644))
	}},
	{name: "tracked file becomes a FIFO", note: git.NoteSpecial, path: "src/a.go", do: func(tb testing.TB, ws, _ string) {
		must(tb, os.Remove(filepath.Join(ws, "src/a.go")))
		must(tb, syscall.Mkfifo(filepath.Join(ws, "src/a.go"), 0o644))
	}},
	{name: "gitignore is a FIFO", note: git.NoteSpecial, path: "src/.gitignore", do: func(tb testing.TB, ws, _ string) {
		must(tb, syscall.Mkfifo(filepath.Join(ws, "src/.gitignore"), 0o644))
	}},
	{name: "socket", note: git.NoteSpecial, path: "sock", do: func(tb testing.TB, ws, _ string) {
		fd := value(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))(tb)
		defer syscall.Close(fd)
		tb.Chdir(ws)
		must(tb, syscall.Bind(fd, &syscall.SockaddrUnix{Name: "sock"}))
	}},
	{name: "hard link to a file outside", note: git.NoteHardLink, path: "hard", do: func(tb testing.TB, ws, outside string) {
		must(tb, os.Link(filepath.Join(outside, "secret"), filepath.Join(ws, "hard")))
	}},
	{name: "tracked file becomes a hard link", note: git.NoteHardLink, path: "README.md", do: func(tb testing.TB, ws, outside string) {
		must(tb, os.Remove(filepath.Join(ws, "README.md")))
		must(tb, os.Link(filepath.Join(outside, "secret"), filepath.Join(ws, "README.md")))
	}},
	{name: "huge sparse file", note: git.NoteTooLarge, path: "huge", do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, "huge", "")
		must(tb, os.Truncate(filepath.Join(ws, "huge"), 1<<40))
	}},
	{name: "nested repository", note: git.NoteDotGit, path: "src/.git", changes: []string{"added src/new.txt"}, do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, "src/.git/config", "[core]\n\tfsmonitor = touch /tmp/owned\n")
		write(tb, ws, "src/.git/HEAD", "ref: refs/heads/main\n")
		write(tb, ws, "src/new.txt", "n\n")
	}},
	{name: "gitfile", note: git.NoteDotGit, path: "src/.git", do: func(tb testing.TB, ws, outside string) {
		write(tb, ws, "src/.git", "gitdir: "+outside+"\n")
	}},
	{name: "upper-case .GIT", note: git.NoteDotGit, path: ".GIT", do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, ".GIT/config", secret)
	}},
	{name: "NTFS short name", note: git.NoteDotGit, path: "git~1", do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, "git~1/config", secret)
	}},
	{name: "HFS ignorable", note: git.NoteDotGit, path: ".g\u200cit", do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, ".g\u200cit/config", secret)
	}},
	{name: "trailing space and dot", note: git.NoteDotGit, path: ".git .", do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, ".git ./config", secret)
	}},
	{name: ".git replaced by a link", noNote: true, do: func(tb testing.TB, ws, outside string) {
		must(tb, os.RemoveAll(filepath.Join(ws, ".git")))
		must(tb, os.Symlink(outside, filepath.Join(ws, ".git")))
	}},
	{name: "deep nesting", note: git.NoteTooDeep, path: strings.TrimSuffix(strings.Repeat("d/", 129), "/"), do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, strings.Repeat("d/", 300)+"f", secret)
	}},
	{name: "own attributes with a filter", changes: []string{"modified .gitattributes", "modified README.md"}, noNote: true, do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, ".gitattributes", "* filter=evil eol=crlf\n")
		write(tb, ws, "README.md", "a\r\nb\r\n")
		write(tb, ws, ".git/config", "[filter \"evil\"]\n\tclean = touch /tmp/owned\n")
	}},
}

func TestAttacks(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) { runAttack(t, a) })
	}
}

func runAttack(t *testing.T, a attack) {
	s := checkedOut(t, git.Config{}, func(dir string) {
		write(t, dir, "README.md", "hello\n")
		write(t, dir, "src/a.go", "package a\n")
		write(t, dir, "src/b.go", "package b\n")
		write(t, dir, ".gitattributes", "*.bat eol=crlf\n")
	})
	outside := t.TempDir()
	write(t, outside, "secret", secret)
	write(t, outside, "a.go", secret)
	time.Sleep(2 * time.Millisecond)
	a.do(t, s.ws.Dir(), outside)
	set := s.changes(t)
	if got := strings.Join(summary(set), ";"); got != strings.Join(a.changes, ";") {
		t.Errorf("changes %q, want %q", got, a.changes)
	}
	if !a.noNote && !contains(noteKinds(set)[a.note], a.path) {
		t.Errorf("no %s note about %q: %v", a.note, a.path, set.Notes)
	}
	sha := s.push(t, set, "out")
	if out, err := gitTry(t, s.remote.bare, "grep", "-e", secret, sha); err == nil {
		t.Errorf("secret in the tree: %s", out)
	}
	gitRun(t, s.remote.bare, "fsck", "--strict")
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

func TestHardLinksWithinAreTaken(t *testing.T) {
	s := checkedOut(t, git.Config{}, func(dir string) { write(t, dir, "a", "old\n") })
	write(t, s.ws.Dir(), "a", "new\n")
	must(t, os.Link(filepath.Join(s.ws.Dir(), "a"), filepath.Join(s.ws.Dir(), "b")))
	if got := strings.Join(summary(s.changes(t)), ";"); got != "modified a;added b" {
		t.Errorf("changes %q", got)
	}
}

func TestTooManyFiles(t *testing.T) {
	s := checkedOut(t, git.Config{}, func(dir string) { write(t, dir, "a", "a\n") })
	ws := value(s.mirror.Attach(testContext(t), s.base, s.ws.Dir(), git.CheckoutOptions{Limits: git.WorkspaceLimits{MaxEntries: 3}}))(t)
	defer ws.Close()
	for _, n := range []string{"1", "2", "3"} {
		write(t, s.ws.Dir(), "x/"+n, n)
	}
	if _, err := ws.Changes(testContext(t)); !errors.Is(err, git.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

func TestChangedBytesAreBounded(t *testing.T) {
	s := checkedOut(t, git.Config{}, func(dir string) { write(t, dir, "a", "a\n") })
	ws := value(s.mirror.Attach(testContext(t), s.base, s.ws.Dir(), git.CheckoutOptions{Limits: git.WorkspaceLimits{MaxChangedBytes: 10}}))(t)
	defer ws.Close()
	write(t, s.ws.Dir(), "b", "123456")
	write(t, s.ws.Dir(), "c", "123456")
	set := value(ws.Changes(testContext(t)))(t)
	if len(set.Files) != 1 || len(noteKinds(set)[git.NoteTooLarge]) != 1 {
		t.Errorf("changes %v, notes %v", summary(set), set.Notes)
	}
}

// swapping exchanges two names as fast as it can until the test is over.
func swapping(t *testing.T, a, b string) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
}

// TestSwappedWhileRead exchanges a directory for a link to the outside, and a
// file for a FIFO nobody writes to, while the workspace is looked at.
func TestSwappedWhileRead(t *testing.T) {
	s := checkedOut(t, git.Config{}, func(dir string) {
		write(t, dir, "d/f", "inside\n")
		write(t, dir, "file", "text\n")
	})
	outside := t.TempDir()
	write(t, outside, "f", secret)
	ws := s.ws.Dir()
	must(t, os.Symlink(outside, filepath.Join(ws, "lnk")))
	must(t, syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o644))
	swapping(t, filepath.Join(ws, "d"), filepath.Join(ws, "lnk"))
	swapping(t, filepath.Join(ws, "file"), filepath.Join(ws, "pipe"))
	for range 40 {
		s.ws.Forget()
		set := s.changes(t)
		diff := value(s.ws.Diff(testContext(t), set))(t)
		if strings.Contains(diff, secret) {
			t.Fatal("content from outside the workspace")
		}
	}
}

func TestHarmfulTreesAreRefused(t *testing.T) {
	for _, name := range []string{".git", ".GIT", "git~1", "..", ".g\u200dit", ".git::$INDEX_ALLOCATION"} {
		t.Run(name, func(t *testing.T) {
			r := newRemote(t)
			write(t, r.work, "f", "f\n")
			r.commit(t, "main")
			sha := evilCommit(t, r, name)
			m := newMirror(t, git.Config{})
			ctx := testContext(t)
			value(m.Fetch(ctx, r.remote(), "refs/heads/evil"))(t)
			dir := filepath.Join(t.TempDir(), "ws")
			if _, err := m.Checkout(ctx, sha, dir, git.CheckoutOptions{}); !errors.Is(err, vcs.ErrInvalid) {
				t.Errorf("error %v, want ErrInvalid", err)
			}
		})
	}
}

// evilCommit makes a commit whose tree has a directory of the name.
func evilCommit(t *testing.T, r *remote, name string) string {
	t.Helper()
	blob := gitRun(t, r.work, "hash-object", "-w", "f")
	sub := mktree(t, r.work, "100644 blob "+blob+"\tconfig")
	top := mktree(t, r.work, "040000 tree "+sub+"\t"+name)
	sha := gitRun(t, r.work, "commit-tree", "-m", "evil", top)
	gitRun(t, r.work, "push", "-q", "origin", sha+":refs/heads/evil")
	return sha
}

func mktree(t *testing.T, dir, line string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in")
	must(t, os.WriteFile(path, []byte(line+"\n"), 0o644))
	return gitRun(t, dir, "-c", "alias.mk=!git mktree <'"+path+"'", "mk")
}

func TestDuplicateNamesDoNotWriteThroughLinks(t *testing.T) {
	r := newRemote(t)
	write(t, r.work, "f", "f\n")
	r.commit(t, "main")
	target := t.TempDir()
	write(t, r.work, "l", target)
	link := gitRun(t, r.work, "hash-object", "-w", "l")
	blob := gitRun(t, r.work, "hash-object", "-w", "f")
	sub := mktree(t, r.work, "100644 blob "+blob+"\towned")
	top := mktree(t, r.work, "120000 blob "+link+"\td\n040000 tree "+sub+"\td")
	sha := gitRun(t, r.work, "commit-tree", "-m", "evil", top)
	gitRun(t, r.work, "push", "-q", "origin", sha+":refs/heads/evil")
	m := newMirror(t, git.Config{})
	ctx := testContext(t)
	value(m.Fetch(ctx, r.remote(), "refs/heads/evil"))(t)
	if _, err := m.Checkout(ctx, sha, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{}); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
	if names := value(os.ReadDir(target))(t); len(names) != 0 {
		t.Errorf("written through the link: %v", names)
	}
}
