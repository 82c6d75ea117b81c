package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs/git"
)

// eolAttributes covers every rule for line ends.
const eolAttributes = `*.auto text=auto
*.txt text
*.bat eol=crlf
*.win text=auto eol=crlf
*.sh eol=lf
*.raw -text
*.bin binary
*.old crlf
*.in crlf=input
[attr]dos text eol=crlf
*.dos dos
sub/*.bat -text
sub/** !eol
`

var eolContents = map[string]string{
	"lf": "a\nb\n", "crlf": "a\r\nb\r\n", "mixed": "a\r\nb\n", "lone": "a\rb\n", "bin": "a\x00b\r\n\n", "none": "x", "empty": "",
}

var eolExtensions = []string{"auto", "txt", "bat", "win", "sh", "raw", "bin", "old", "in", "dos", "plain"}

// fillLineEnds commits every content under every rule, byte by byte.
func fillLineEnds(tb testing.TB) func(string) {
	return func(dir string) {
		for name, content := range eolContents {
			for _, ext := range eolExtensions {
				write(tb, dir, name+"."+ext, content)
				write(tb, dir, "sub/"+name+"."+ext, content)
			}
		}
	}
}

func TestLineEndsAsGitChecksOut(t *testing.T) {
	s := lineEndsRaw(t)
	clone := filepath.Join(t.TempDir(), "c")
	gitRun(t, t.TempDir(), "clone", "-q", s.remote.bare, clone)
	for name := range eolContents {
		for _, ext := range eolExtensions {
			for _, dir := range []string{"", "sub/"} {
				p := dir + name + "." + ext
				want := string(value(os.ReadFile(filepath.Join(clone, p)))(t))
				got := string(value(os.ReadFile(filepath.Join(s.ws.Dir(), p)))(t))
				if got != want {
					t.Errorf("%s: %q, git writes %q", p, got, want)
				}
			}
		}
	}
	s.ws.Forget()
	if set := s.changes(t); !set.Empty() {
		t.Errorf("changes without an edit: %v", summary(set))
	}
}

// lineEndsRaw publishes blobs exactly as in eolContents, with attributes on
// top that would have converted some of them.
func lineEndsRaw(t *testing.T) *setup {
	ctx := testContext(t)
	s := &setup{remote: newRemote(t)}
	dir := s.remote.work
	fillLineEnds(t)(dir)
	gitRun(t, dir, "add", "-A")
	gitRun(t, dir, "commit", "-qm", "raw")
	write(t, dir, ".gitattributes", eolAttributes)
	gitRun(t, dir, "add", ".gitattributes")
	gitRun(t, dir, "commit", "-qm", "attributes")
	gitRun(t, dir, "push", "-q", "origin", "HEAD:main")
	s.base = gitRun(t, dir, "rev-parse", "HEAD")
	s.mirror = newMirror(t, git.Config{})
	value(s.mirror.Fetch(ctx, s.remote.remote(), mainRef))(t)
	s.ws = value(s.mirror.Checkout(ctx, s.base, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{}))(t)
	t.Cleanup(func() { must(t, s.ws.Close()) })
	return s
}

func TestLineEndsAsGitAdds(t *testing.T) {
	for _, more := range []string{"more\n", "more\r\n"} {
		s := lineEndsRaw(t)
		time.Sleep(10 * time.Millisecond)
		for name := range eolContents {
			for _, ext := range eolExtensions {
				for _, dir := range []string{"", "sub/"} {
					p := filepath.Join(s.ws.Dir(), dir+name+"."+ext)
					b := value(os.ReadFile(p))(t)
					must(t, os.WriteFile(p, append(b, more...), 0o644))
					write(t, s.ws.Dir(), dir+"new-"+name+"."+ext, string(b)+more)
				}
			}
		}
		set := s.changes(t)
		gitRun(t, s.ws.Dir(), "-c", "core.safecrlf=false", "add", "-A")
		want := gitRun(t, s.ws.Dir(), "write-tree")
		if set.Tree != want {
			sha := s.push(t, set, "ours")
			lines := func(text string) []string { return strings.Split(text, "\n") }
			t.Errorf("adding %q (-git +ours):\n%s", more, cmp.Diff(lines(gitRun(t, s.ws.Dir(), "ls-tree", "-r", want)), lines(gitRun(t, s.remote.bare, "ls-tree", "-r", sha))))
		}
	}
}

func TestAttributesOfTheBaseCount(t *testing.T) {
	s := checkedOut(t, git.Config{}, func(dir string) { write(t, dir, "a.txt", "a\n") })
	write(t, s.ws.Dir(), ".gitattributes", "* text\n")
	write(t, s.ws.Dir(), "a.txt", "a\r\nb\r\n")
	set := s.changes(t)
	sha := s.push(t, set, "x")
	if got := gitRun(t, s.remote.bare, "cat-file", "-s", sha+":a.txt"); got != "6" {
		t.Errorf("blob has %s bytes: the workspace's attributes were used", got)
	}
}

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

func TestSubmodulesAndPointersAreKept(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		s := checkedOut(t, cfg, func(dir string) {
			write(t, dir, "a", "a\n")
			write(t, dir, ".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n")
			write(t, dir, "one.psd", pointer)
			write(t, dir, "two.psd", pointer+"x-two: 1\n")
			write(t, dir, "three.psd", pointer+"x-three: 1\n")
			write(t, dir, ".gitmodules", "[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = https://example.com/lib\n")
			for _, p := range []string{"vendor/lib", "vendor/other", "third"} {
				gitRun(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+","+p)
			}
			gitRun(t, dir, "commit", "-qm", "subs")
			for _, p := range []string{"vendor/lib", "vendor/other", "third"} {
				must(t, os.MkdirAll(filepath.Join(dir, p), 0o755))
			}
		})
		ws := s.ws.Dir()
		if got := gitRun(t, ws, "status", "--porcelain"); got != "" {
			t.Errorf("status %q", got)
		}
		write(t, ws, "a", "changed\n")
		write(t, ws, "vendor/lib/.git", "gitdir: ../../.git/modules/lib\n")
		write(t, ws, "vendor/lib/code.c", "int x;\n")
		must(t, os.RemoveAll(filepath.Join(ws, "vendor/other")))
		must(t, os.RemoveAll(filepath.Join(ws, "third")))
		write(t, ws, "third", "now a file\n")
		write(t, ws, "two.psd", "the real content, smudged\n")
		write(t, ws, "new.psd", "a new one\n")
		must(t, os.Remove(filepath.Join(ws, "three.psd")))
		set := s.changes(t)
		if d := cmp.Diff([]string{"modified a", "deleted three.psd"}, summary(set)); d != "" {
			t.Errorf("changes (-want +got):\n%s", d)
		}
		sha := s.push(t, set, "x")
		got := gitRun(t, s.remote.bare, "diff", "--raw", "--no-renames", "--name-status", s.base, sha)
		if got != "M\ta\nD\tthree.psd" {
			t.Errorf("git sees %q", got)
		}
		kinds := noteKinds(set)
		for _, want := range []struct {
			kind git.NoteKind
			path string
		}{{git.NoteLFSRefused, "two.psd"}, {git.NoteLFSRefused, "new.psd"}, {git.NoteLFS, "one.psd"}} {
			if !contains(kinds[want.kind], want.path) {
				t.Errorf("no %s note on %s: %v", want.kind, want.path, set.Notes)
			}
		}
		for _, n := range set.Notes {
			if n.Kind == git.NoteSubmodule && n.Count != 3 {
				t.Errorf("%d submodules noted", n.Count)
			}
		}
	})
}

func TestDirectoryWithASubmoduleBecomesAFile(t *testing.T) {
	s := checkedOut(t, git.Config{}, func(dir string) {
		write(t, dir, "a", "a\n")
		gitRun(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",d/sub")
		gitRun(t, dir, "commit", "-qm", "subs")
		must(t, os.MkdirAll(filepath.Join(dir, "d/sub"), 0o755))
	})
	must(t, os.RemoveAll(filepath.Join(s.ws.Dir(), "d")))
	write(t, s.ws.Dir(), "d", "file\n")
	set := s.changes(t)
	if !set.Empty() || !contains(noteKinds(set)[git.NoteConflict], "d") {
		t.Errorf("changes %v, notes %v", summary(set), set.Notes)
	}
}

func TestChangesAreSeenAfterEveryEdit(t *testing.T) {
	s := checkedOut(t, git.Config{}, func(dir string) { write(t, dir, "a", "0000\n") })
	seen := map[string]bool{}
	for i := range 50 { // same size, as fast as the clock allows
		write(t, s.ws.Dir(), "a", []string{"1111\n", "2222\n"}[i%2])
		hash := value(s.ws.TreeHash(testContext(t)))(t)
		set := s.changes(t)
		if hash != set.Tree {
			t.Fatalf("round %d: TreeHash %s, Changes %s", i, hash, set.Tree)
		}
		seen[set.Tree] = true
		if (i > 0) != (len(seen) == 2) {
			t.Fatalf("round %d: an edit was missed", i)
		}
		// What TreeHash found has to be stored by Changes all the same.
		value(s.ws.Diff(testContext(t), set))(t)
	}
}

func TestStoredAfterTreeHash(t *testing.T) {
	s := checkedOut(t, git.Config{}, func(dir string) { write(t, dir, "a", "a\n") })
	write(t, s.ws.Dir(), "a", "fresh\n")
	time.Sleep(60 * time.Millisecond)
	value(s.ws.TreeHash(testContext(t)))(t)
	time.Sleep(60 * time.Millisecond)
	set := s.changes(t)
	if diff := value(s.ws.Diff(testContext(t), set))(t); !strings.Contains(diff, "+fresh") {
		t.Errorf("diff %q", diff)
	}
	s.push(t, set, "x")
	gitRun(t, s.remote.bare, "fsck", "--full")
}

func TestAttachSeesTheSame(t *testing.T) {
	s := checkedOut(t, git.Config{}, fillMixed(t))
	edit(t, s.ws.Dir())
	again := value(s.mirror.Attach(testContext(t), s.base, s.ws.Dir(), git.CheckoutOptions{}))(t)
	defer again.Close()
	if d := cmp.Diff(s.changes(t), value(again.Changes(testContext(t)))(t)); d != "" {
		t.Errorf("attached differs:\n%s", d)
	}
}

func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("giving files away needs root")
	}
	s := one(t)
	ws := value(s.mirror.Checkout(testContext(t), s.base, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{UID: 12345, GID: 12346}))(t)
	defer ws.Close()
	for _, p := range []string{".", "a", ".git", ".git/config", ".git/index"} {
		info := value(os.Lstat(filepath.Join(ws.Dir(), p)))(t)
		if uid, gid := ownerOf(info); uid != 12345 || gid != 12346 {
			t.Errorf("%s belongs to %d:%d", p, uid, gid)
		}
	}
}
