package gitlab_test

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlab"
	"github.com/greenwright/greenwright/vcs/transport"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// newServer is a simulated GitLab that must end without a fault, unless the
// test clears them.
func newServer(t *testing.T, cfg vcstest.GitLabConfig) *vcstest.GitLab {
	t.Helper()
	cfg.Dir = t.TempDir()
	srv, err := vcstest.NewGitLab(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range srv.Faults() {
			t.Errorf("the real GitLab would have refused, or executed: %s", f)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

func driver(t *testing.T, cfg gitlab.Config, opts ...gitlab.Option) *gitlab.Forge {
	t.Helper()
	f, err := gitlab.New(cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// onServer is a driver with the bot's token.
func onServer(t *testing.T, srv *vcstest.GitLab, opts ...gitlab.Option) *gitlab.Forge {
	t.Helper()
	return driver(t, gitlab.Config{BaseURL: srv.URL(), Token: srv.Token()}, opts...)
}

func TestConformance(t *testing.T) {
	ways := map[string]struct {
		cfg    vcstest.GitLabConfig
		person bool // the token is a person's
		front  func(t *testing.T, srv *vcstest.GitLab, token vcs.Secret) gitlab.Config
	}{
		"as a person":                           {person: true, front: plainly},
		"as a project's token":                  {cfg: vcstest.GitLabConfig{BotLogin: "project_1_bot_3f"}, front: plainly},
		"two number rows":                       {cfg: vcstest.GitLabConfig{OverlapNumbers: true}, front: plainly},
		"below a path, with an own certificate": {cfg: vcstest.GitLabConfig{SubPath: "/gitlab"}, front: behindTLS},
	}
	for name, way := range ways {
		for _, c := range vcstest.ForgeCases() {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				srv := newServer(t, way.cfg)
				account, token := srv.Bot(), srv.Token()
				if way.person {
					account = srv.CreateUser("helper")
					var err error
					if token, err = srv.AddToken(account.Login); err != nil {
						t.Fatal(err)
					}
				}
				w := srv.World(t, driver(t, way.front(t, srv, token)))
				if err := srv.Repo(w.Repo.Owner, w.Repo.Name).SetPermission(account.Login, vcs.PermissionWrite); err != nil {
					t.Fatal(err)
				}
				c.Run(t, w)
			})
		}
	}
}

func plainly(_ *testing.T, srv *vcstest.GitLab, token vcs.Secret) gitlab.Config {
	return gitlab.Config{BaseURL: srv.URL(), Token: token}
}

// behindTLS puts a proxy with a certificate of its own before the server.
func behindTLS(t *testing.T, srv *vcstest.GitLab, token vcs.Secret) gitlab.Config {
	t.Helper()
	at, err := url.Parse(srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	root := &url.URL{Scheme: at.Scheme, Host: at.Host}
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(root) }})
	front.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	front.StartTLS()
	t.Cleanup(front.Close)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	return gitlab.Config{BaseURL: front.URL + at.Path, Token: token, RootCAs: cert}
}

func TestRenamedProject(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	f, w, repo := onProject(t, srv)
	if err := repo.Rename("acme/archive", "gadgets.old"); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	r, err := f.Repo(ctx, w.Repo)
	if err != nil || r.FullName() != "acme/archive/gadgets.old" {
		t.Errorf("repository is %+v, %v", r, err)
	}
	for _, at := range []vcs.RepoRef{w.Repo, r.RepoRef} {
		th := vcs.Thread{Repo: at, Number: w.Issue.Number}
		if i, err := f.Issue(ctx, th); err != nil || i.Title != w.Issue.Title {
			t.Errorf("issue of %s: %+v, %v", at, i, err)
		}
		if _, err := f.PutComment(ctx, th, vcs.StickyComment{Marker: "m", Body: "x"}); err != nil {
			t.Errorf("comment by %s: %v", at, err)
		}
		if p, err := f.Permission(ctx, at, w.Writer); err != nil || p != vcs.PermissionWrite {
			t.Errorf("permission by %s: %s, %v", at, p, err)
		}
	}
}

func TestForkedMergeRequest(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	f, _, base := onProject(t, srv)
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
	fork.SetPrivate(false)
	p, err := f.PullRequest(t.Context(), opened.Thread)
	if err != nil || !p.FromFork() || p.Head.Repo != fork.Ref() || p.Head.SHA != sha {
		t.Errorf("merge request is %+v, %v", p, err)
	}
	fork.SetPrivate(true)
	if p, err = f.PullRequest(t.Context(), opened.Thread); err != nil || !p.FromFork() || !p.Head.Repo.IsZero() || p.Head.SHA != sha {
		t.Errorf("with the fork hidden: %+v, %v", p, err)
	}
	if err := fork.Delete(); err != nil {
		t.Fatal(err)
	}
	if p, err = f.PullRequest(t.Context(), opened.Thread); err != nil || !p.FromFork() || !p.Head.Repo.IsZero() {
		t.Errorf("with the fork gone: %+v, %v", p, err)
	}
}

func TestConfidentialAndInternal(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	f, w, repo := onProject(t, srv)
	ctx := t.Context()
	secret, err := repo.OpenConfidentialIssue("ada", "Leak", "Hush.")
	if err != nil {
		t.Fatal(err)
	}
	if i, err := f.Issue(ctx, secret.Thread); err != nil || !i.Confidential {
		t.Errorf("confidential issue is %+v, %v", i, err)
	}
	if _, err := repo.CommentInternally(w.Issue.Number, "ada", "Between us."); err != nil {
		t.Fatal(err)
	}
	if c, err := f.PutComment(ctx, w.Issue.Thread, vcs.StickyComment{Marker: "in", Body: "x", Internal: true}); err != nil || !c.Internal {
		t.Errorf("internal answer is %+v, %v", c, err)
	}
	i, err := f.Issue(ctx, w.Issue.Thread)
	if err != nil || i.Confidential {
		t.Fatalf("%+v, %v", i, err)
	}
	var got []bool
	for _, c := range i.Comments {
		got = append(got, c.Internal)
	}
	if len(got) != 3 || got[0] || !got[1] || !got[2] {
		t.Errorf("internal: %v", got)
	}
}

// TestStickyNoteOnALaterPage: one is found by a driver that did not write it.
func TestStickyNoteOnALaterPage(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	f, w, repo := onProject(t, srv)
	for i := range 150 {
		check(t, w.Say(w.Pull.Number, "bob", fmt.Sprint("comment ", i)))
	}
	first, err := f.PutComment(t.Context(), w.Pull.Thread, vcs.StickyComment{Marker: "m", Body: "x"})
	check(t, err)
	before := len(repo.CommentsOf(w.Pull.Thread))
	again, err := onServer(t, srv).PutComment(t.Context(), w.Pull.Thread, vcs.StickyComment{Marker: "m", Body: "y"})
	if err != nil || again.ID != first.ID || len(repo.CommentsOf(w.Pull.Thread)) != before {
		t.Errorf("comment %d, then %d, %v", first.ID, again.ID, err)
	}
}

// TestFailuresOnServer: reads are repeated, writes are not.
func TestFailuresOnServer(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	f := onServer(t, srv, gitlab.WithTransport(transport.New(nil, transport.Config{MaxWait: 2 * time.Second})))
	w := srv.World(t, f)
	ctx := t.Context()
	issuePath := fmt.Sprint("/issues/", w.Issue.Number)
	for _, fail := range []vcstest.Failure{{Method: "GET", Path: issuePath, Status: 502}, {Method: "GET", Path: issuePath, Drop: true}} {
		srv.Fail(fail)
		if _, err := f.Issue(ctx, w.Issue.Thread); err != nil {
			t.Errorf("a read after %+v: %v", fail, err)
		}
	}
	srv.Fail(vcstest.Failure{Method: "POST", Path: issuePath + "/notes", Status: 500})
	before := len(w.Seen(w.Issue.Thread))
	if _, err := f.PutComment(ctx, w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "x"}); !errors.Is(err, vcs.ErrUnavailable) {
		t.Errorf("a write that fails: %v, want ErrUnavailable", err)
	}
	if n := len(w.Seen(w.Issue.Thread)); n != before {
		t.Errorf("%d comments, want %d: a write was repeated", n, before)
	}
	srv.FailRateLimit("/award_emoji", 1, "1")
	if err := f.React(ctx, w.Issue.Thread, w.Comment.CommentRef, vcs.ReactionEyes); err != nil {
		t.Errorf("a write after a short limit: %v", err)
	}
}

func TestWeakTokens(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	_, w, repo := onProject(t, srv)
	srv.CreateUser("helper")
	if err := repo.SetPermission("helper", vcs.PermissionTriage); err != nil {
		t.Fatal(err)
	}
	with := func(scopes ...string) *gitlab.Forge {
		token, err := srv.AddScopedToken("helper", time.Time{}, scopes...)
		if err != nil {
			t.Fatal(err)
		}
		return driver(t, gitlab.Config{BaseURL: srv.URL(), Token: token})
	}
	ctx := t.Context()
	reader := with("read_api")
	if _, err := reader.Issue(ctx, w.Issue.Thread); err != nil {
		t.Errorf("reading with read_api: %v", err)
	}
	ask := vcs.NewPullRequest{Repo: w.Repo, Head: w.Head, Base: w.Base, Title: "x"}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"a scope":                {reader.React(ctx, w.Issue.Thread, w.Comment.CommentRef, vcs.ReactionEyes), "api"},
		"a role":                 {second(with("api").OpenPullRequest(ctx, ask)), "Developer"},
		"the role for hooks":     {second(with("api").Hooks(ctx, gitlab.Scope{Project: w.Repo})), "Maintainer"},
		"everything":             {second(driver(t, gitlab.Config{BaseURL: srv.URL(), Token: "glpat-wrong"}).Self(ctx)), "refused"},
		"any right but to clone": {second(with("read_repository").Issue(ctx, w.Issue.Thread)), "read_api"},
	} {
		if !errors.Is(c.err, vcs.ErrForbidden) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("without %s: %v, want one that says %q", name, c.err, c.says)
		}
	}
	srv.ClearFaults()
}
