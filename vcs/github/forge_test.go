package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/github"
	"github.com/greenwright/greenwright/vcs/transport"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// appKey is made once: it takes longer than most tests.
var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// newServer is a simulated GitHub that must end without a fault, unless the
// test clears them.
func newServer(t *testing.T, cfg vcstest.Config) *vcstest.GitHub {
	t.Helper()
	cfg.Dir, cfg.AppKey = t.TempDir(), appKey()
	srv, err := vcstest.NewGitHub(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range srv.Faults() {
			t.Errorf("the real GitHub would have refused: %s", f)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

func asApp(t *testing.T, srv *vcstest.GitHub, opts ...github.Option) *github.Forge {
	t.Helper()
	f, err := github.New(github.Config{BaseURL: srv.URL(), AppID: srv.AppID(), PrivateKey: srv.AppKeyPEM()}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func asToken(t *testing.T, srv *vcstest.GitHub) *github.Forge {
	t.Helper()
	srv.CreateUser("helper")
	token, err := srv.AddToken("helper")
	if err != nil {
		t.Fatal(err)
	}
	f, err := github.New(github.Config{BaseURL: srv.WebURL(), Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestConformanceAsApp(t *testing.T) {
	for _, c := range vcstest.ForgeCases() {
		t.Run(c.Name, func(t *testing.T) {
			srv := newServer(t, vcstest.Config{})
			c.Run(t, srv.World(t, asApp(t, srv)))
		})
	}
}

// helped gives the token's account write access once the repository is there.
type helped struct{ *github.Forge }

func TestConformanceAsToken(t *testing.T) {
	for _, c := range vcstest.ForgeCases() {
		t.Run(c.Name, func(t *testing.T) {
			srv := newServer(t, vcstest.Config{})
			f := asToken(t, srv)
			w := srv.World(t, helped{f})
			repo := srv.Repo("acme", "widgets")
			if err := repo.SetPermission("helper", vcs.PermissionWrite); err != nil {
				t.Fatal(err)
			}
			c.Run(t, w)
		})
	}
}

func TestTokensAreNarrow(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asApp(t, srv)
	w := srv.World(t, f)
	ctx := t.Context()
	if _, err := f.PutComment(ctx, w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.PutComment(ctx, w.Pull.Thread, vcs.StickyComment{Marker: "m", Body: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Permission(ctx, w.Repo, w.Writer); err != nil {
		t.Fatal(err)
	}
	if _, err := f.CheckJob(ctx, w.Repo, w.Red); err != nil {
		t.Fatal(err)
	}
	for _, r := range srv.Requests() {
		want := "greenwright[bot] "
		switch {
		case strings.Contains(r.Path, "/issues/1/"):
			want += "issues=write,metadata=read"
		case strings.Contains(r.Path, "/issues/2/"):
			want += "metadata=read,pull_requests=write"
		case strings.HasSuffix(r.Path, "/permission"):
			want += "metadata=read"
		case strings.Contains(r.Path, "/actions/"):
			want += "actions=read,metadata=read"
		default:
			continue
		}
		if r.Credential != want {
			t.Errorf("%s %s with %q, want %q", r.Method, r.Path, r.Credential, want)
		}
	}
}

func TestRemoteWorksWithGit(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asApp(t, srv)
	w := srv.World(t, f)
	dir := filepath.Join(t.TempDir(), "clone")
	read, write := remote(t, f, w.Repo, vcs.Read), remote(t, f, w.Repo, vcs.Write)
	if out, err := git(t, read, "", "clone", read.URL, dir); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"checkout", "-q", "guard"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "More"}} {
		if out, err := git(t, read, dir, args...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if out, err := git(t, read, dir, "push", "origin", "guard"); err == nil {
		t.Errorf("a credential for reading pushed: %s", out)
	}
	if len(srv.Faults()) == 0 {
		t.Error("the server did not notice the push with a credential for reading")
	}
	srv.ClearFaults()
	if out, err := git(t, write, dir, "push", "origin", "guard"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, err := f.PullRequest(t.Context(), w.Pull.Thread)
	if err != nil {
		t.Fatal(err)
	}
	tips, err := srv.Repo("acme", "widgets").Branches()
	if err != nil || p.Head.SHA != tips["guard"] || p.Head.SHA == w.Pull.Head.SHA {
		t.Errorf("the pull request's head is %s, was %s, the branch is at %s, %v", p.Head.SHA, w.Pull.Head.SHA, tips["guard"], err)
	}
}

func TestWorkflowFilesNeedTheirPermission(t *testing.T) {
	perms := map[string]string{"metadata": "read", "contents": "write", "workflows": "write"}
	srv := newServer(t, vcstest.Config{Permissions: perms})
	repo, err := srv.CreateRepo("acme", "widgets", map[string]string{".github/workflows/ci.yml": "on: push\n"})
	if err != nil {
		t.Fatal(err)
	}
	plain := asApp(t, srv)
	more, err := github.New(github.Config{BaseURL: srv.URL(), AppID: srv.AppID(), PrivateKey: srv.AppKeyPEM(), Workflows: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "clone")
	r := remote(t, plain, repo.Ref(), vcs.Write)
	if out, err := git(t, r, "", "clone", r.URL, dir); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	commit := func(path string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, path), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := git(t, r, dir, "add", "."); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if out, err := git(t, r, dir, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", path); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	commit("a.txt")
	if out, err := git(t, r, dir, "push", "origin", "HEAD:refs/heads/a"); err != nil {
		t.Errorf("a new branch with the old workflow: %v: %s", err, out)
	}
	commit(".github/workflows/ci.yml")
	if out, err := git(t, r, dir, "push", "origin", "HEAD:refs/heads/a"); err == nil || !strings.Contains(out, "workflows") {
		t.Errorf("a changed workflow was pushed: %v: %s", err, out)
	}
	if out, err := git(t, remote(t, more, repo.Ref(), vcs.Write), dir, "push", "origin", "HEAD:refs/heads/a"); err != nil {
		t.Errorf("with the permission: %v: %s", err, out)
	}
}

func remote(t *testing.T, f *github.Forge, repo vcs.RepoRef, a vcs.Access) vcs.Remote {
	t.Helper()
	r, err := f.Remote(t.Context(), repo, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// git runs git with the remote's credential from an askpass program.
func git(t *testing.T, r vcs.Remote, dir string, args ...string) (string, error) {
	t.Helper()
	ask := filepath.Join(t.TempDir(), "ask")
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in U*) echo %s;; *) echo %s;; esac\n", r.Username, r.Password.Reveal())
	if err := os.WriteFile(ask, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_ASKPASS="+ask, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestMissingPermissionIsNamed(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asToken(t, srv)
	w := srv.World(t, f)
	if err := srv.Repo("acme", "widgets").SetPermission("helper", vcs.PermissionRead); err != nil {
		t.Fatal(err)
	}
	srv.Fail(vcstest.Failure{Method: "POST", Path: "/reactions", Status: 403, Body: `{"message":"Resource not accessible by personal access token"}`,
		Header: map[string]string{"X-Accepted-GitHub-Permissions": "issues=write"}})
	err := f.React(t.Context(), w.Issue.Thread, w.Comment.CommentRef, vcs.ReactionEyes)
	if !errors.Is(err, vcs.ErrForbidden) || !strings.Contains(fmt.Sprint(err), "issues=write") {
		t.Errorf("error %v, want ErrForbidden naming issues=write", err)
	}
}

func TestAppWithoutPermission(t *testing.T) {
	srv := newServer(t, vcstest.Config{Permissions: map[string]string{"metadata": "read", "issues": "write"}})
	f := asApp(t, srv)
	repo, err := srv.CreateRepo("acme", "widgets", map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Remote(t.Context(), repo.Ref(), vcs.Write)
	if !errors.Is(err, vcs.ErrForbidden) {
		t.Errorf("error %v, want ErrForbidden", err)
	}
	srv.ClearFaults()
}

func TestServerFailures(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asApp(t, srv, github.WithTransport(transport.New(nil, transport.Config{MaxWait: 2 * time.Second})))
	w := srv.World(t, f)
	if _, err := f.Self(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.Fail(vcstest.Failure{Method: "GET", Path: "/issues/1", Status: 502})
	if _, err := f.Issue(t.Context(), w.Issue.Thread); err != nil {
		t.Errorf("a read after one 502: %v", err)
	}
	srv.Fail(vcstest.Failure{Method: "GET", Path: "/issues/1", Drop: true})
	if _, err := f.Issue(t.Context(), w.Issue.Thread); err != nil {
		t.Errorf("a read after a dropped connection: %v", err)
	}
	srv.Fail(vcstest.Failure{Method: "POST", Path: "/issues/1/comments", Status: 500})
	before := len(w.Seen(w.Issue.Thread))
	if _, err := f.PutComment(t.Context(), w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "x"}); !errors.Is(err, vcs.ErrUnavailable) {
		t.Errorf("a write that fails: %v, want ErrUnavailable", err)
	}
	if n := len(w.Seen(w.Issue.Thread)); n != before {
		t.Errorf("%d comments, want %d", n, before)
	}
	srv.FailSecondaryLimit("/reactions", 1, "1")
	if err := f.React(t.Context(), w.Issue.Thread, w.Comment.CommentRef, vcs.ReactionEyes); err != nil {
		t.Errorf("a write after a short limit: %v", err)
	}
	srv.FailSecondaryLimit("/reactions", 1, "3600")
	var limit *vcs.RateLimitError
	err := f.React(t.Context(), w.Issue.Thread, w.Comment.CommentRef, vcs.ReactionConfused)
	if !errors.As(err, &limit) || time.Until(limit.RetryAt) < 50*time.Minute {
		t.Errorf("a long limit: %v, want a RateLimitError of an hour", err)
	}
}

func TestRevokedTokensAreMintedAgain(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asApp(t, srv)
	w := srv.World(t, f)
	if _, err := f.PutComment(t.Context(), w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "x"}); err != nil {
		t.Fatal(err)
	}
	srv.RevokeTokens()
	if _, err := f.PutComment(t.Context(), w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "y"}); err != nil {
		t.Errorf("after a revocation: %v", err)
	}
	if seen := w.Seen(w.Issue.Thread); !strings.HasSuffix(seen[len(seen)-1].Body, "y") || len(seen) != 2 {
		t.Errorf("the thread has %+v", seen)
	}
	srv.ClearFaults() // the one request with the old token
}

func TestManyComments(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asApp(t, srv)
	w := srv.World(t, f)
	for i := range 450 {
		if err := w.Say(w.Issue.Number, "bob", fmt.Sprint("comment ", i)); err != nil {
			t.Fatal(err)
		}
	}
	i, err := f.Issue(t.Context(), w.Issue.Thread)
	if err != nil {
		t.Fatal(err)
	}
	if !i.Truncated || i.Comments[0].Body != "Here too." || i.Comments[len(i.Comments)-1].Body != "comment 449" || len(i.Comments) > 300 {
		t.Errorf("%d comments, truncated %v, last %q", len(i.Comments), i.Truncated, i.Comments[len(i.Comments)-1].Body)
	}
	// A sticky comment on the last page is found by a driver that did not write it.
	first, err := f.PutComment(t.Context(), w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "x"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := asApp(t, srv).PutComment(t.Context(), w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "y"})
	if err != nil || second.ID != first.ID {
		t.Errorf("comment %d, then %d, %v", first.ID, second.ID, err)
	}
}

func TestStickyCommentAtOnceAndDeleted(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asApp(t, srv)
	w := srv.World(t, f)
	before := len(w.Seen(w.Issue.Thread))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := f.PutComment(context.WithoutCancel(t.Context()), w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := w.Seen(w.Issue.Thread)
	if len(seen) != before+1 {
		t.Fatalf("eight calls made %d comments", len(seen)-before)
	}
	srv.Repo("acme", "widgets").DeleteComment(seen[before].ID)
	again, err := f.PutComment(t.Context(), w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "x"})
	if err != nil || again.ID == seen[before].ID || len(w.Seen(w.Issue.Thread)) != before+1 {
		t.Errorf("after a deletion: %+v, %v", again, err)
	}
}

func TestForkedPullRequest(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asApp(t, srv)
	base, err := srv.CreateRepo("acme", "widgets", map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	fork, err := base.Fork("bob")
	if err != nil {
		t.Fatal(err)
	}
	sha, err := fork.PushCommit("patch", map[string]string{"a": "c"}, "Change")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := base.OpenPull("bob", "bob:patch", "main", "Change", "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.PullRequest(t.Context(), opened.Thread)
	if err != nil {
		t.Fatal(err)
	}
	if !p.FromFork() || p.Head.Repo != fork.Ref() || p.Head.SHA != sha || !p.MaintainerCanModify {
		t.Errorf("pull request is %+v", p)
	}
	if got, err := base.File("refs/pull/1/head", "a"); err != nil || got != "c" {
		t.Errorf("refs/pull/1/head has %q, %v", got, err)
	}
}

// TestRedirectKeepsTheCredential: a redirect to another host ends the request.
func TestRedirectKeepsTheCredential(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asApp(t, srv)
	w := srv.World(t, f)
	leaked := make(chan string, 1)
	other := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked <- r.Header.Get("Authorization")
	})}
	url := serve(t, other)
	srv.Fail(vcstest.Failure{Method: "GET", Path: "/issues/1", Status: 302, Header: map[string]string{"Location": url}})
	if _, err := f.Issue(t.Context(), w.Issue.Thread); err == nil {
		t.Error("a redirect to another host was followed")
	}
	select {
	case got := <-leaked:
		t.Errorf("the other host got %q", got)
	default:
	}
}

func TestUnchangedReadsAreConditional(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	f := asApp(t, srv)
	w := srv.World(t, f)
	for range 2 {
		if _, err := f.PullRequest(t.Context(), w.Pull.Thread); err != nil {
			t.Fatal(err)
		}
	}
	rs := srv.Requests()
	if last := rs[len(rs)-1]; last.Status != http.StatusNotModified {
		t.Errorf("the second read was answered %d, want 304", last.Status)
	}
}
