package git_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

const mainRef = "refs/heads/main"

func TestFetchIsIncremental(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		ctx := testContext(t)
		r := newRemote(t)
		write(t, r.work, "a", "a\n")
		first := r.commit(t, "main")
		m := newMirror(t, cfg)
		fetch := func(want string) {
			t.Helper()
			if got := value(m.Fetch(ctx, r.remote(), mainRef))(t)[mainRef]; got != want {
				t.Fatalf("fetched %s, want %s", got, want)
			}
		}
		fetch(first)
		posts := r.posts.Load()
		fetch(first)
		if n := r.posts.Load() - posts; n != 0 {
			t.Errorf("%d transfers for what is there", n)
		}
		write(t, r.work, "b", "b\n")
		second := r.commit(t, "main")
		fetch(second)
		for _, sha := range []string{first, second} {
			if !value(m.HasCommit(ctx, sha))(t) {
				t.Errorf("%s is not in the mirror", sha)
			}
		}
		if got := string(value(m.ReadFile(ctx, second, "b", 10))(t)); got != "b\n" {
			t.Errorf("read %q", got)
		}
	})
}

func TestFetchByCommitAndPullRef(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		ctx := testContext(t)
		r := newRemote(t)
		write(t, r.work, "a", "a\n")
		old := r.commit(t, "main")
		write(t, r.work, "a", "b\n")
		pull := r.commit(t, "x")
		gitRun(t, r.bare, "update-ref", "refs/pull/7/head", pull)
		m := newMirror(t, cfg)
		got := value(m.Fetch(ctx, r.remote(), "refs/pull/7/head", old))(t)
		if got["refs/pull/7/head"] != pull || got[old] != old {
			t.Errorf("got %v", got)
		}
		if !value(m.HasCommit(ctx, old))(t) {
			t.Error("commit asked for by name is not there")
		}
	})
}

func TestShallowByDefaultAndDeepenedOnDemand(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		ctx := testContext(t)
		r := newRemote(t)
		write(t, r.work, "a", "0\n")
		root := r.commit(t, "main")
		for i := range 60 {
			write(t, r.work, "a", strings.Repeat("x", i+1))
			gitRun(t, r.work, "commit", "-qam", "c")
		}
		tip := r.commit(t, "main")
		gitRun(t, r.work, "checkout", "-q", root)
		write(t, r.work, "side", "s\n")
		side := r.commit(t, "side")
		m := newMirror(t, cfg)
		value(m.Fetch(ctx, r.remote(), mainRef, "refs/heads/side"))(t)
		if value(m.HasCommit(ctx, root))(t) {
			t.Fatal("fetch brought the whole history")
		}
		if _, err := m.MergeBase(ctx, vcs.Remote{}, tip, side); err == nil {
			t.Error("merge base known without history")
		}
		if got := value(m.MergeBase(ctx, r.remote(), tip, side))(t); got != root {
			t.Errorf("merge base %s, want %s", got, root)
		}
		if yes := value(m.IsAncestor(ctx, r.remote(), root, tip))(t); !yes {
			t.Error("root is no ancestor of main")
		}
		if yes := value(m.IsAncestor(ctx, r.remote(), side, tip))(t); yes {
			t.Error("side is an ancestor of main")
		}
		ws := value(m.Checkout(ctx, tip, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{}))(t)
		defer ws.Close()
		if got := gitRun(t, ws.Dir(), "status", "--porcelain"); got != "" {
			t.Errorf("status %q", got)
		}
		gitRun(t, ws.Dir(), "fsck")
		if got := gitRun(t, ws.Dir(), "rev-list", "--count", "HEAD"); atoi(got) < 60 {
			t.Errorf("%s commits of history in the workspace", got)
		}
	})
}

func TestRemoteErrors(t *testing.T) {
	ctx := testContext(t)
	r := newRemote(t)
	m := newMirror(t, git.Config{})
	if _, err := m.Fetch(ctx, r.remote(), mainRef); !errors.Is(err, git.ErrEmpty) {
		t.Errorf("empty repository: %v", err)
	}
	if _, err := m.DefaultBranch(ctx, r.remote()); !errors.Is(err, git.ErrEmpty) {
		t.Errorf("default branch of an empty repository: %v", err)
	}
	write(t, r.work, "a", "a\n")
	sha := r.commit(t, "main")
	if got := value(m.DefaultBranch(ctx, r.remote()))(t); got != "main" {
		t.Errorf("default branch %q", got)
	}
	if got := value(m.RemoteRef(ctx, r.remote(), mainRef))(t); got != sha {
		t.Errorf("remote ref %q, want %s", got, sha)
	}
	wrong := r.remote()
	wrong.Password = "wrong-credential"
	gone := r.remote()
	gone.URL += "x"
	down := r.remote()
	down.URL = "http://127.0.0.1:1/o/r.git"
	for _, c := range []struct {
		name   string
		remote vcs.Remote
		ref    string
		want   error
	}{
		{"wrong credential", wrong, mainRef, vcs.ErrForbidden},
		{"no repository", gone, mainRef, vcs.ErrNotFound},
		{"no server", down, mainRef, vcs.ErrUnavailable},
		{"no ref", r.remote(), "refs/heads/nope", vcs.ErrNotFound},
		{"no commit", r.remote(), strings.Repeat("ab", 20), vcs.ErrUnavailable},
		{"option for a ref", r.remote(), "--upload-pack=x", vcs.ErrInvalid},
		{"option for a URL", vcs.Remote{URL: "--upload-pack=x"}, mainRef, vcs.ErrInvalid},
		{"ssh", vcs.Remote{URL: "ssh://h/o/r"}, mainRef, vcs.ErrInvalid},
		{"ext", vcs.Remote{URL: "ext::sh -c id"}, mainRef, vcs.ErrInvalid},
		{"file of a forge", vcs.Remote{URL: r.bare}, mainRef, vcs.ErrInvalid},
		{"credential in URL", vcs.Remote{URL: "https://u:p@h/o/r"}, mainRef, vcs.ErrInvalid},
	} {
		_, err := m.Fetch(ctx, c.remote, c.ref)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "wrong-credential") || strings.Contains(err.Error(), r.pass)) {
			t.Errorf("%s: credential in error %v", c.name, err)
		}
	}
}

func TestRedirectsKeepTheCredentialHome(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		ctx := testContext(t)
		r := newRemote(t)
		write(t, r.work, "a", "a\n")
		sha := r.commit(t, "main")
		var leaked []string
		thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			leaked = append(leaked, q.Header.Get("Authorization"))
			http.Error(w, "thanks", http.StatusNotFound)
		}))
		defer thief.Close()
		bounce := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, thief.URL+q.URL.RequestURI(), http.StatusMovedPermanently)
		}))
		defer bounce.Close()
		away := r.remote()
		away.URL = bounce.URL + "/o/r.git"
		m := newMirror(t, cfg)
		for _, ref := range []string{mainRef, sha} {
			if _, err := m.Fetch(ctx, away, ref); err == nil {
				t.Errorf("fetching %s over a redirect to another host succeeded", ref)
			}
		}
		if len(leaked) > 0 {
			t.Errorf("requests reached the other host: %q", leaked)
		}
	})
}

func TestRenamedRepositoryOnTheSameHost(t *testing.T) {
	ctx := testContext(t)
	r := newRemote(t)
	write(t, r.work, "a", "a\n")
	sha := r.commit(t, "main")
	inner := r.srv.Config.Handler
	r.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/old/") {
			http.Redirect(w, q, strings.Replace(q.URL.RequestURI(), "/old/", "/o/", 1), http.StatusMovedPermanently)
			return
		}
		inner.ServeHTTP(w, q)
	})
	old := r.remote()
	old.URL = r.srv.URL + "/old/r.git"
	if got := value(newMirror(t, git.Config{}).Fetch(ctx, old, mainRef))(t)[mainRef]; got != sha {
		t.Errorf("fetched %s, want %s", got, sha)
	}
}

func TestOneFetchAtATime(t *testing.T) {
	ctx := testContext(t)
	r := newRemote(t)
	for i := range 50 {
		write(t, r.work, strings.Repeat("d/", i%5)+"f"+string(rune('a'+i)), "x\n")
	}
	sha := r.commit(t, "main")
	dir := filepath.Join(t.TempDir(), "mirrors")
	var wg sync.WaitGroup
	for range 8 { // each as if in a process of its own
		m := newMirror(t, git.Config{Dir: dir})
		wg.Go(func() {
			got, err := m.Fetch(ctx, r.remote(), mainRef)
			if err != nil || got[mainRef] != sha {
				t.Errorf("fetch: %v, %v", got, err)
			}
		})
	}
	wg.Wait()
	// The binary speaks protocol 2: one request for refs, one for the pack.
	if n := r.posts.Load(); n > 2 {
		t.Errorf("%d transfers for eight fetches of one commit", n)
	}
}

func TestFetchWatchesContext(t *testing.T) {
	for _, bin := range []string{"", git.NoBinary} {
		stuck := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
			select {
			case <-stuck:
			case <-q.Context().Done():
			}
		}))
		ctx, cancel := context.WithTimeout(testContext(t), 100*time.Millisecond)
		start := time.Now()
		m := newMirror(t, git.Config{GitBinary: bin})
		_, err := m.Fetch(ctx, vcs.Remote{URL: srv.URL + "/o/r.git"}, strings.Repeat("ab", 20))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		cancel()
		close(stuck)
		srv.Close()
	}
}

func mirrorDir(dir string) string { return filepath.Join(dir, "github", "o", "r.git") }

func TestDamagedMirrorIsRebuilt(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
	}{
		{"killed while fetching", func(t *testing.T, dir string) {
			write(t, dir, "greenwright-fetching", "")
			write(t, dir, "objects/pack/tmp_pack_abc", "half")
			write(t, dir, "shallow.lock", "")
			write(t, dir, "objects/pack/pack-"+strings.Repeat("ab", 20)+".pack", "half")
		}},
		{"packs gone", func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, "objects/pack"))) }},
		{"pack files gone", func(t *testing.T, dir string) {
			for _, p := range value(filepath.Glob(filepath.Join(dir, "objects/pack/*")))(t) {
				must(t, os.Remove(p))
			}
		}},
		{"no HEAD", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "HEAD"))) }},
		{"index of a pack garbled", func(t *testing.T, dir string) {
			for _, p := range value(filepath.Glob(filepath.Join(dir, "objects/pack/*.idx")))(t) {
				must(t, os.Chmod(p, 0o644))
				must(t, os.WriteFile(p, []byte("garbage"), 0o644))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := testContext(t)
			r := newRemote(t)
			write(t, r.work, "a", "a\n")
			sha := r.commit(t, "main")
			dir := filepath.Join(t.TempDir(), "mirrors")
			m := newMirror(t, git.Config{Dir: dir})
			value(m.Fetch(ctx, r.remote(), mainRef))(t)
			c.damage(t, mirrorDir(dir))
			value(m.Fetch(ctx, r.remote(), mainRef))(t)
			if got := string(value(m.ReadFile(ctx, sha, "a", 10))(t)); got != "a\n" {
				t.Errorf("read %q", got)
			}
			if packs := value(filepath.Glob(filepath.Join(mirrorDir(dir), "objects/pack/*.pack")))(t); len(packs) != 1 {
				t.Errorf("%d packs in a mirror made anew", len(packs))
			}
		})
	}
}

// TestDamagedBlobIsNoticed corrupts content that only a checkout reads.
func TestDamagedBlobIsNoticed(t *testing.T) {
	ctx := testContext(t)
	r := newRemote(t)
	write(t, r.work, "a", strings.Repeat("some content that takes space\n", 100)+"end")
	sha := r.commit(t, "main")
	dir := filepath.Join(t.TempDir(), "mirrors")
	m := newMirror(t, git.Config{Dir: dir})
	value(m.Fetch(ctx, r.remote(), mainRef))(t)
	for _, p := range value(filepath.Glob(filepath.Join(mirrorDir(dir), "objects/pack/*.pack")))(t) {
		must(t, os.Chmod(p, 0o644))
		b := value(os.ReadFile(p))(t)
		for i := len(b) - 60; i < len(b)-20; i++ {
			b[i] = 0
		}
		must(t, os.WriteFile(p, b, 0o644))
	}
	if _, err := m.Checkout(ctx, sha, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{}); !errors.Is(err, git.ErrCorrupt) {
		t.Fatalf("checkout from a damaged mirror: %v", err)
	}
	value(m.Fetch(ctx, r.remote(), mainRef))(t)
	ws := value(m.Checkout(ctx, sha, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{}))(t)
	must(t, ws.Close())
}

func TestPackOverTheLimit(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		r := newRemote(t)
		noise := make([]byte, 100_000)
		value(rand.NewChaCha8([32]byte{}).Read(noise))(t)
		write(t, r.work, "a", string(noise))
		r.commit(t, "main")
		cfg.MaxPackBytes = 20_000
		if _, err := newMirror(t, cfg).Fetch(testContext(t), r.remote(), mainRef); !errors.Is(err, git.ErrTooLarge) {
			t.Errorf("error %v, want ErrTooLarge", err)
		}
	})
}

func TestPruneRemovesLeastRecentlyUsed(t *testing.T) {
	ctx := testContext(t)
	r := newRemote(t)
	write(t, r.work, "a", "a\n")
	sha := r.commit(t, "main")
	dir := filepath.Join(t.TempDir(), "mirrors")
	s := newStore(t, git.Config{Dir: dir, MaxBytes: 1})
	mirror := func(name string) *git.Mirror {
		m := value(s.Mirror(vcs.RepoRef{Forge: vcs.GitHub, Owner: "o", Name: name}))(t)
		value(m.Fetch(ctx, r.remote(), mainRef))(t)
		return m
	}
	used, idle := mirror("used"), mirror("idle")
	ws := value(used.Checkout(ctx, sha, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{}))(t)
	must(t, newStore(t, git.Config{Dir: dir, MaxBytes: 1 << 30}).Prune(ctx))
	if !value(idle.HasCommit(ctx, sha))(t) {
		t.Error("pruned within the budget")
	}
	must(t, s.Prune(ctx))
	if !value(used.HasCommit(ctx, sha))(t) || value(idle.HasCommit(ctx, sha))(t) {
		t.Error("want the idle mirror gone and the one in use kept")
	}
	must(t, ws.Close())
	must(t, s.Prune(ctx))
	if value(used.HasCommit(ctx, sha))(t) {
		t.Error("mirror kept over the budget")
	}
}

func TestMirrorPaths(t *testing.T) {
	s := newStore(t, git.Config{})
	for _, bad := range []vcs.RepoRef{{Forge: vcs.GitHub, Owner: "..", Name: "r"}, {Forge: vcs.GitLab, Owner: "a/../..", Name: "r"}, {Forge: "x", Owner: "o", Name: "r"}, {}} {
		if _, err := s.Mirror(bad); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%v: error %v", bad, err)
		}
	}
}

// TestReadingWhileAnotherWrites has files come and go beside the packs, as a
// fetch in another process makes them.
func TestReadingWhileAnotherWrites(t *testing.T) {
	ctx := testContext(t)
	r := newRemote(t)
	write(t, r.work, "a", "a\n")
	sha := r.commit(t, "main")
	dir := filepath.Join(t.TempDir(), "mirrors")
	m := newMirror(t, git.Config{Dir: dir})
	value(m.Fetch(ctx, r.remote(), mainRef))(t)
	packs := filepath.Join(mirrorDir(dir), "objects/pack")
	write(t, packs, "pack-"+strings.Repeat("ab", 20)+".pack", "its index is still to come")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				name := filepath.Join(packs, "tmp_pack_"+string(rune('a'+i%26)))
				_ = os.WriteFile(name, nil, 0o600)
				_ = os.Remove(name)
			}
		}
	}()
	for range 300 {
		if _, err := m.ReadFile(ctx, sha, "a", 10); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-done
}
