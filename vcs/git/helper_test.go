package git_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// gitEnv keeps the real git in tests away from the machine's configuration.
func gitEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000"}
}

func gitTry(tb testing.TB, dir string, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.Command("git", append([]string{"-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", "-c", "safe.directory=*"}, args...)...)
	cmd.Dir = dir
	cmd.Env = gitEnv()
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

func gitRun(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	out, err := gitTry(tb, dir, args...)
	if err != nil {
		tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func needGit(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("no git binary to compare with")
	}
}

func write(tb testing.TB, dir, name, content string) {
	tb.Helper()
	path := filepath.Join(dir, name)
	must(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	must(tb, os.WriteFile(path, []byte(content), 0o644))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func value[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		must(tb, err)
		return v
	}
}

// remote is a repository behind git's own smart HTTP server.
type remote struct {
	bare string // its bare repository
	work string // a clone to make commits in
	srv  *httptest.Server
	user string
	pass string
	// posts counts fetches and pushes that moved data.
	posts atomic.Int64
}

func (r *remote) remote() vcs.Remote {
	return vcs.Remote{URL: r.srv.URL + "/o/r.git", Username: r.user, Password: vcs.Secret(r.pass)}
}

func repoRef() vcs.RepoRef { return vcs.RepoRef{Forge: vcs.GitHub, Owner: "o", Name: "r"} }

// newRemote serves an empty repository that wants basic authentication.
func newRemote(tb testing.TB) *remote {
	tb.Helper()
	needGit(tb)
	root := tb.TempDir()
	r := &remote{bare: filepath.Join(root, "o", "r.git"), work: filepath.Join(root, "work"), user: "x-access-token", pass: "s3cret"}
	must(tb, os.MkdirAll(r.bare, 0o755))
	gitRun(tb, r.bare, "init", "-q", "--bare", "-b", "main")
	gitRun(tb, r.bare, "config", "http.receivepack", "true")
	gitRun(tb, r.bare, "config", "uploadpack.allowAnySHA1InWant", "true")
	gitRun(tb, root, "init", "-q", "-b", "main", r.work)
	gitRun(tb, r.work, "remote", "add", "origin", r.bare)
	r.srv = httptest.NewServer(r.handler(tb, root))
	tb.Cleanup(r.srv.Close)
	return r
}

func (r *remote) handler(tb testing.TB, root string) http.Handler {
	exe := filepath.Join(gitRun(tb, root, "--exec-path"), "git-http-backend")
	backend := &cgi.Handler{Path: exe, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "REMOTE_USER=x"}, InheritEnv: []string{"PATH"}}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		user, pass, _ := q.BasicAuth()
		if user != r.user || pass != r.pass {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		if q.Method == http.MethodPost {
			r.posts.Add(1)
		}
		if p := q.Header.Get("Git-Protocol"); p != "" {
			h := *backend
			h.Env = append(h.Env[:len(h.Env):len(h.Env)], "GIT_PROTOCOL="+p)
			h.ServeHTTP(w, q)
			return
		}
		backend.ServeHTTP(w, q)
	})
}

// commit records everything in work and publishes it as branch.
func (r *remote) commit(tb testing.TB, branch string) string {
	tb.Helper()
	gitRun(tb, r.work, "add", "-A", "-f")
	gitRun(tb, r.work, "commit", "-q", "--allow-empty", "-m", "c")
	gitRun(tb, r.work, "push", "-q", "-f", "origin", "HEAD:refs/heads/"+branch)
	return gitRun(tb, r.work, "rev-parse", "HEAD")
}

func newStore(tb testing.TB, cfg git.Config) *git.Store {
	tb.Helper()
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(tb.TempDir(), "mirrors")
	}
	return value(git.New(cfg, slog.New(slog.DiscardHandler)))(tb)
}

func newMirror(tb testing.TB, cfg git.Config) *git.Mirror {
	tb.Helper()
	return value(newStore(tb, cfg).Mirror(repoRef()))(tb)
}

func testContext(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// setup publishes files as main and checks them out.
type setup struct {
	remote *remote
	mirror *git.Mirror
	ws     *git.Workspace
	base   string
}

func checkedOut(tb testing.TB, cfg git.Config, fill func(dir string)) *setup {
	tb.Helper()
	ctx := testContext(tb)
	s := &setup{remote: newRemote(tb)}
	fill(s.remote.work)
	s.base = s.remote.commit(tb, "main")
	s.mirror = newMirror(tb, cfg)
	value(s.mirror.Fetch(ctx, s.remote.remote(), "refs/heads/main"))(tb)
	dir := filepath.Join(tb.TempDir(), "ws")
	s.ws = value(s.mirror.Checkout(ctx, s.base, dir, git.CheckoutOptions{}))(tb)
	tb.Cleanup(func() { must(tb, s.ws.Close()) })
	return s
}

func (s *setup) changes(tb testing.TB) *git.ChangeSet {
	tb.Helper()
	return value(s.ws.Changes(testContext(tb)))(tb)
}

// push commits the change set on the base and pushes it as a new branch.
func (s *setup) push(tb testing.TB, set *git.ChangeSet, branch string) string {
	tb.Helper()
	ctx := testContext(tb)
	sha := value(s.mirror.Commit(ctx, spec(set.Tree, s.base)))(tb)
	got := value(s.mirror.Push(ctx, s.remote.remote(), git.PushSpec{Commit: sha, Branch: branch}))(tb)
	if got != sha {
		tb.Fatalf("read back %s, want %s", got, sha)
	}
	return sha
}

func spec(tree string, parents ...string) git.CommitSpec {
	sig := git.Signature{Name: "Bot", Email: "bot@example.com", When: time.Unix(1700000100, 0).UTC()}
	return git.CommitSpec{Tree: tree, Parents: parents, Author: sig, Committer: sig, Message: "fix: it\n\nbody\n"}
}

// summary is "kind path" of every change.
func summary(set *git.ChangeSet) []string {
	var out []string
	for _, f := range set.Files {
		out = append(out, string(f.Kind)+" "+f.Path)
	}
	return out
}

func noteKinds(set *git.ChangeSet) map[git.NoteKind][]string {
	out := map[git.NoteKind][]string{}
	for _, n := range set.Notes {
		out[n.Kind] = append(out[n.Kind], n.Path)
	}
	return out
}

// binaries runs a test with the git binary and without.
func binaries(t *testing.T, f func(t *testing.T, cfg git.Config)) {
	t.Run("binary", func(t *testing.T) { f(t, git.Config{}) })
	t.Run("go-git", func(t *testing.T) { f(t, git.Config{GitBinary: git.NoBinary}) })
}

func ownerOf(info os.FileInfo) (uid, gid uint32) {
	st := info.Sys().(*syscall.Stat_t)
	return st.Uid, st.Gid
}
