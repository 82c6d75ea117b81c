package vcstest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/githubhook"
)

const secret = "It's a Secret to Everybody"

// appKey is made once: it takes longer than most tests.
var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

func newServer(t *testing.T, cfg vcstest.Config) *vcstest.GitHub {
	t.Helper()
	cfg.Dir, cfg.AppKey = t.TempDir(), appKey()
	srv, err := vcstest.NewGitHub(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

func newRepo(t *testing.T, srv *vcstest.GitHub) *vcstest.Repo {
	t.Helper()
	repo, err := srv.CreateRepo("acme", "widgets", map[string]string{"a.txt": "one\n", "run.sh": "#!/bin/sh\n"})
	if err != nil {
		t.Fatal(err)
	}
	srv.CreateUser("ada")
	if err := repo.SetPermission("ada", vcs.PermissionWrite); err != nil {
		t.Fatal(err)
	}
	return repo
}

// sink is a webhook.Sink that keeps what it is given.
type sink struct {
	mu   sync.Mutex
	got  []vcs.Event
	keys map[string]bool
}

func (s *sink) Triage(vcs.Event) (bool, string) { return true, "test" }

func (s *sink) Accept(_ context.Context, d webhook.Delivery) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]bool{}
	}
	if s.keys[d.Event.Key()] {
		return true, nil
	}
	s.keys[d.Event.Key()] = true
	s.got = append(s.got, d.Event)
	return false, nil
}

// receiver serves the real webhook endpoint.
func receiver(t *testing.T, s webhook.Sink) string {
	t.Helper()
	p, err := githubhook.New([]vcs.Secret{secret})
	if err != nil {
		t.Fatal(err)
	}
	return endpoint(t, p, s) + "/webhooks/github"
}

// endpoint serves a forge's parser.
func endpoint(t *testing.T, p webhook.Parser, s webhook.Sink) string {
	t.Helper()
	h, err := webhook.New(p, s, webhook.Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hs := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = hs.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = hs.Close()
		<-done
	})
	return "http://" + ln.Addr().String()
}

func flush(t *testing.T, srv *vcstest.GitHub) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := srv.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestHooksReachTheReceiver: everything that people do arrives as the event
// that the receiver makes of it, signed, from two hooks, and once.
func TestHooksReachTheReceiver(t *testing.T) {
	var s sink
	srv := newServer(t, vcstest.Config{WebhookSecret: secret})
	repo := newRepo(t, srv)
	srv.AddHook(receiver(t, &s))
	srv.AddHook(receiver(t, &s))
	ada := srv.CreateUser("ada")

	issue, err := repo.OpenIssue("ada", "Broken", "It is.")
	check(t, err)
	c, err := repo.Comment(issue.Number, "ada", "/agent fix")
	check(t, err)
	check(t, repo.EditComment(c.ID, "ada", "/agent fix it"))
	check(t, repo.Label(issue.Number, "ada", "agent:fix"))
	sha, err := repo.PushCommit("fix", map[string]string{"a.txt": "two\n"}, "Fix")
	check(t, err)
	pull, err := repo.OpenPull("ada", "fix", "main", "Fix", "")
	check(t, err)
	rev, err := repo.SubmitReview("ada", pull.Number, vcs.ReviewChangesRequested, "Hm.", vcstest.Remark{Path: "a.txt", Line: 1, Body: "Three?"})
	check(t, err)
	k, err := repo.FinishCheck(vcstest.CheckResult{SHA: sha, WorkflowPath: ".github/workflows/ci.yml", JobName: "test", Conclusion: vcs.ConclusionFailure, Sender: "ada"})
	check(t, err)
	moved, err := repo.PushCommit("fix", map[string]string{"a.txt": "three\n"}, "Again")
	check(t, err)
	check(t, repo.CloseThread(issue.Number, "ada"))
	check(t, repo.Ping())
	flush(t, srv)

	var got []string
	for _, e := range s.got {
		got = append(got, fmt.Sprintf("%s %s/%s #%d", e.Kind, e.Name, e.Action, e.Thread.Number))
	}
	want := []string{
		"opened issues/opened #1", "comment issue_comment/created #1", "comment issue_comment/edited #1",
		"labeled issues/labeled #1", "push push/ #0", "opened pull_request/opened #2",
		"comment pull_request_review_comment/created #2", "review pull_request_review/submitted #2",
		"check check_run/completed #0", "push push/ #0", "push pull_request/synchronize #2", "closed issues/closed #1", "ping ping/ #0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	edited, reviewed, red := s.got[2], s.got[7], s.got[8]
	if edited.PreviousBody != "/agent fix" || edited.Comment.Body != "/agent fix it" || !edited.Actor.Is(ada) {
		t.Errorf("edit arrived as %+v", edited)
	}
	if reviewed.Review.ID != rev.ID || reviewed.Review.State != vcs.ReviewChangesRequested || reviewed.PullRequest.Head.SHA != sha {
		t.Errorf("review arrived as %+v", reviewed.Review)
	}
	if diff := cmp.Diff(&k, red.Check); diff != "" {
		t.Errorf("check (-want +got):\n%s", diff)
	}
	if s.got[10].PullRequest.Head.SHA != moved {
		t.Errorf("synchronize says %s, want %s", s.got[10].PullRequest.Head.SHA, moved)
	}
	for _, d := range srv.Deliveries() {
		if d.Status != http.StatusAccepted && d.Status != http.StatusOK {
			t.Errorf("delivery %s of %s: %d %s %v", d.ID, d.Event, d.Status, d.Answer, d.Err)
		}
	}
	if f := srv.Faults(); len(f) > 0 {
		t.Errorf("faults: %v", f)
	}
}

func TestRedeliver(t *testing.T) {
	var s sink
	srv := newServer(t, vcstest.Config{WebhookSecret: secret})
	repo := newRepo(t, srv)
	srv.AddHook(receiver(t, &s))
	_, err := repo.OpenIssue("ada", "Broken", "")
	check(t, err)
	flush(t, srv)
	first := srv.Deliveries()[0]
	srv.Redeliver(first, 10)
	flush(t, srv)
	ds := srv.Deliveries()
	if len(ds) != 11 || ds[10].ID != first.ID || !bytes.Equal(ds[10].Body, first.Body) || ds[10].Status != http.StatusOK || len(s.got) != 1 {
		t.Errorf("%d deliveries, last %d %s; stored %d", len(ds), ds[10].Status, ds[10].Answer, len(s.got))
	}
}

// ask sends an API request.
func ask(t *testing.T, srv *vcstest.GitHub, method, path, credential, body string) (int, string, http.Header) {
	t.Helper()
	return send(t, method, srv.URL()+path, "Bearer "+credential, body)
}

// send sends a request and follows nothing; a credential that ends in a blank
// is none.
func send(t *testing.T, method, url, credential, body string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	check(t, err)
	if !strings.HasSuffix(credential, " ") {
		r.Header.Set("Authorization", credential)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	check(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	check(t, err)
	return resp.StatusCode, string(b), resp.Header
}

func TestStrict(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	repo := newRepo(t, srv)
	issue, err := repo.OpenIssue("ada", "x", "y")
	check(t, err)
	said, err := repo.Comment(issue.Number, "ada", "first")
	check(t, err)
	secretToken, err := srv.AddToken("ada")
	check(t, err)
	srv.CreateUser("eve")
	eve, err := srv.AddToken("eve")
	check(t, err)
	ada, base := secretToken.Reveal(), "repos/acme/widgets"
	comments := fmt.Sprintf("%s/issues/%d/comments", base, issue.Number)
	cases := []struct {
		name, method, path, token, body string
		status                          int
		fault                           bool
	}{
		{"comment", "POST", comments, ada, `{"body":"hi"}`, 201, false},
		{"unknown member", "POST", comments, ada, `{"body":"hi","colour":"red"}`, 422, true},
		{"no body", "POST", comments, ada, `{}`, 422, true},
		{"too long", "POST", comments, ada, `{"body":"` + strings.Repeat("x", 65537) + `"}`, 422, true},
		{"unknown route", "DELETE", comments, ada, "", 404, true},
		{"unknown token", "POST", comments, "ghp_x", `{"body":"hi"}`, 401, true},
		{"nobody", "POST", comments, "", `{"body":"hi"}`, 403, true},
		{"user token as an app", "GET", "app", ada, "", 401, true},
		{"issue that is not there", "GET", base + "/issues/99", ada, "", 404, false},
		{"pull request of an issue's number", "GET", base + "/pulls/1", ada, "", 404, false},
		{"edit of somebody else's comment", "PATCH", fmt.Sprint(base, "/issues/comments/", said.ID), eve.Reveal(), `{"body":"hi"}`, 403, true},
		{"reaction of no kind", "POST", base + "/issues/1/reactions", ada, `{"content":"wink"}`, 422, true},
	}
	for _, c := range cases {
		srv.ClearFaults()
		status, body, _ := ask(t, srv, c.method, c.path, c.token, c.body)
		if status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.status, body)
		}
		if faults := srv.Faults(); (len(faults) > 0) != c.fault {
			t.Errorf("%s: faults %v, want any: %v", c.name, faults, c.fault)
		}
	}
	repo.SetPrivate(true)
	if status, _, _ := ask(t, srv, "GET", base, eve.Reveal(), ""); status != http.StatusNotFound {
		t.Errorf("a private repository answers a stranger with %d, want 404", status)
	}
}

func TestAppAuthentication(t *testing.T) {
	now := time.Now()
	srv := newServer(t, vcstest.Config{Now: func() time.Time { return now }})
	repo := newRepo(t, srv)
	good := jwt(t, appKey(), "RS256", fmt.Sprint(srv.AppID()), now, time.Minute)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	for name, token := range map[string]string{
		"another key": jwt(t, other, "RS256", fmt.Sprint(srv.AppID()), now, time.Minute),
		"another app": jwt(t, appKey(), "RS256", "1", now, time.Minute),
		"none":        jwt(t, appKey(), "none", fmt.Sprint(srv.AppID()), now, time.Minute),
		"expired":     jwt(t, appKey(), "RS256", fmt.Sprint(srv.AppID()), now.Add(-time.Hour), time.Minute),
		"too long":    jwt(t, appKey(), "RS256", fmt.Sprint(srv.AppID()), now, time.Hour),
		"future":      jwt(t, appKey(), "RS256", fmt.Sprint(srv.AppID()), now.Add(time.Hour), time.Minute),
		"garbage":     "x.y.z",
	} {
		if status, _, _ := ask(t, srv, "GET", "app", token, ""); status != http.StatusUnauthorized {
			t.Errorf("%s: status %d, want 401", name, status)
		}
	}
	srv.ClearFaults()
	status, body, _ := ask(t, srv, "POST", "app/installations/42/access_tokens", good, `{"repositories":["widgets"],"permissions":{"issues":"read"}}`)
	var minted struct{ Token string }
	if err := json.Unmarshal([]byte(body), &minted); status != 201 || err != nil {
		t.Fatalf("status %d: %s", status, body)
	}
	issue, err := repo.OpenIssue("ada", "x", "y")
	check(t, err)
	path := fmt.Sprintf("repos/acme/widgets/issues/%d", issue.Number)
	if status, body, _ := ask(t, srv, "GET", path, minted.Token, ""); status != 200 {
		t.Errorf("reading: status %d: %s", status, body)
	}
	status, _, header := ask(t, srv, "POST", path+"/comments", minted.Token, `{"body":"x"}`)
	if status != 403 || header.Get("X-Accepted-GitHub-Permissions") != "issues=write; pull_requests=write" {
		t.Errorf("writing: status %d, header %q", status, header)
	}
	if status, _, _ := ask(t, srv, "POST", "app/installations/42/access_tokens", good, `{"permissions":{"administration":"write"}}`); status != 422 {
		t.Errorf("more than the app has: status %d, want 422", status)
	}
	now = now.Add(2 * time.Hour)
	if status, _, _ := ask(t, srv, "GET", path, minted.Token, ""); status != 401 {
		t.Errorf("after two hours: status %d, want 401", status)
	}
}

func TestPagesAndTags(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	repo := newRepo(t, srv)
	_, err := repo.OpenIssue("ada", "x", "y")
	check(t, err)
	for i := range 5 {
		_, err := repo.Comment(1, "ada", fmt.Sprint(i))
		check(t, err)
	}
	path, seen := "repos/acme/widgets/issues/1/comments?per_page=2", 0
	for path != "" {
		status, body, header := ask(t, srv, "GET", path, "", "")
		var page []any
		if err := json.Unmarshal([]byte(body), &page); status != 200 || err != nil || len(page) > 2 {
			t.Fatalf("status %d, %v: %s", status, err, body)
		}
		seen += len(page)
		path = ""
		if link := header.Get("Link"); link != "" {
			path = strings.TrimPrefix(link[1:strings.Index(link, ">")], srv.URL())
		}
	}
	if seen != 5 {
		t.Errorf("saw %d comments over all pages, want 5", seen)
	}
}

func TestGit(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	repo := newRepo(t, srv)
	token, err := srv.AddToken("ada")
	check(t, err)
	srv.CreateUser("eve")
	eve, err := srv.AddToken("eve")
	check(t, err)
	dir := filepath.Join(t.TempDir(), "clone")
	run := func(ok bool, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		if _, err := os.Stat(dir); err == nil {
			cmd.Dir = dir
		}
		cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if (err == nil) != ok {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	as := func(password string) string {
		return "http.extraHeader=Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+password))
	}
	run(true, "clone", "--quiet", repo.CloneURL(), dir) // public: no credential
	check(t, os.WriteFile(filepath.Join(dir, "big.bin"), randomBytes(t, 3<<20), 0o644))
	run(true, "add", ".")
	run(true, "commit", "--quiet", "-m", "Big")
	run(false, "push", "origin", "HEAD:refs/heads/x")
	run(false, "-c", as(eve.Reveal()), "push", "origin", "HEAD:refs/heads/x")
	run(true, "-c", as(token.Reveal()), "push", "origin", "HEAD:refs/heads/x") // 3 MB go out chunked
	check(t, repo.Protect("main"))
	if out := run(false, "-c", as(token.Reveal()), "push", "origin", "HEAD:refs/heads/main"); !strings.Contains(out, "GH006") {
		t.Errorf("refusal of a protected branch says %s", out)
	}
	tips, err := repo.Branches()
	check(t, err)
	head := strings.TrimSpace(run(true, "rev-parse", "HEAD"))
	if tips["x"] != head || tips["main"] == head {
		t.Errorf("branches are %v, pushed %s to x", tips, head)
	}
	subjects, err := repo.Log("x")
	check(t, err)
	if diff := cmp.Diff([]string{"Big", "Initial commit"}, subjects); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(srv.Requests(), func(r vcstest.Request) bool {
		return strings.HasSuffix(r.Path, "/git-receive-pack") && r.Credential == "ada" && r.Status == 200
	}) {
		t.Error("the push was not recorded")
	}
}

func TestFilesOfCommits(t *testing.T) {
	srv := newServer(t, vcstest.Config{})
	repo := newRepo(t, srv)
	_, err := repo.PushCommit("x", map[string]string{"a.txt": "two\n", "dir/b c.txt": "b"}, "Change")
	check(t, err)
	_, err = repo.DeleteFiles("x", "Remove", "run.sh")
	check(t, err)
	for _, c := range []struct{ rev, path, want string }{{"main", "a.txt", "one"}, {"x", "a.txt", "two"}, {"x", "dir/b c.txt", "b"}} {
		got, err := repo.File(c.rev, c.path)
		if err != nil || got != c.want {
			t.Errorf("%s:%s is %q, %v; want %q", c.rev, c.path, got, err, c.want)
		}
	}
	if _, err := repo.File("x", "run.sh"); err == nil {
		t.Error("run.sh is still there")
	}
}

func randomBytes(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	_, err := rand.Read(b)
	check(t, err)
	return b
}
