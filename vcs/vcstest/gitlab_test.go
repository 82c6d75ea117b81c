package vcstest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
	"github.com/greenwright/greenwright/webhook/gitlabhook"
)

func newGitLab(t *testing.T, cfg vcstest.GitLabConfig) *vcstest.GitLab {
	t.Helper()
	cfg.Dir = t.TempDir()
	srv, err := vcstest.NewGitLab(cfg)
	check(t, err)
	t.Cleanup(func() { check(t, srv.Close()) })
	return srv
}

// newProject is a private one of a developer ada, a guest bob and eve, who is
// nobody there.
func newProject(t *testing.T, srv *vcstest.GitLab) *vcstest.Project {
	t.Helper()
	p, err := srv.CreateRepo("acme/tools", "widgets", map[string]string{"a.txt": "one\ntwo\nthree\n"})
	check(t, err)
	for _, login := range []string{"ada", "bob", "eve"} {
		srv.CreateUser(login)
	}
	check(t, p.SetPermission("ada", vcs.PermissionWrite))
	check(t, p.SetPermission("bob", vcs.PermissionRead))
	p.SetPrivate(true)
	return p
}

// TestGitLabHooksReachTheReceiver: everything that people do arrives as the
// event that the receiver makes of it, by token and by signature.
func TestGitLabHooksReachTheReceiver(t *testing.T) {
	const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	for name, cfg := range map[string]vcstest.GitLabConfig{
		"token": {WebhookToken: secret}, "signature": {SigningKey: key, SubPath: "/gitlab"},
	} {
		var s sink
		srv := newGitLab(t, cfg)
		p := newProject(t, srv)
		parser, err := gitlabhook.New(gitlabhook.Config{Tokens: tokens(cfg.WebhookToken), SigningKeys: tokens(cfg.SigningKey), BaseURL: srv.URL()})
		check(t, err)
		srv.AddHook(endpoint(t, parser, &s) + "/webhooks/gitlab")
		happen(t, p)
		ctx := t.Context()
		check(t, srv.Flush(ctx))
		var got []string
		for _, e := range s.got {
			got = append(got, fmt.Sprintf("%s %s %s %t", e.Kind, e.Action, e.Thread.Label(), e.Internal()))
		}
		want := []string{
			"opened open #1 false", "comment created #1 false", "comment updated #1 false", "comment created #1 true", "push  #0 false",
			"opened open !2 false", "review created !2 false", "check  #0 false", "check  #0 false", "push  #0 false", "push update !2 false", "closed close #1 false",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
		for _, d := range srv.Deliveries() {
			if d.Status != http.StatusAccepted && d.Status != http.StatusOK {
				t.Errorf("%s: delivery %s of %s: %d %s %v", name, d.ID, d.Event, d.Status, d.Answer, d.Err)
			}
		}
	}
}

func tokens(s string) []gitlabhook.Token {
	if s == "" {
		return nil
	}
	return []gitlabhook.Token{{Secret: vcs.Secret(s)}}
}

// happen is what people do in a project.
func happen(t *testing.T, p *vcstest.Project) {
	t.Helper()
	issue, err := p.OpenIssue("ada", "Broken", "It is.")
	check(t, err)
	c, err := p.Comment(issue.Number, "ada", "/agent fix")
	check(t, err)
	check(t, p.EditComment(c.ID, "ada", "/agent fix it"))
	_, err = p.CommentInternally(issue.Number, "ada", "Between us.")
	check(t, err)
	sha, err := p.PushCommit("fix", map[string]string{"a.txt": "one\n2\nthree\n"}, "Fix")
	check(t, err)
	pull, err := p.OpenPull("ada", "fix", "main", "Fix", "")
	check(t, err)
	_, err = p.SubmitReview("ada", pull.Number, vcs.ReviewCommented, "", vcstest.Remark{Path: "a.txt", Line: 2, Body: "Three?"})
	check(t, err)
	_, err = p.FinishCheck(vcstest.CheckResult{SHA: sha, JobName: "test", Conclusion: vcs.ConclusionFailure, Sender: "ada"})
	check(t, err)
	_, err = p.PushCommit("fix", map[string]string{"b.txt": "three\n"}, "Again")
	check(t, err)
	check(t, p.CloseThread(issue.Number, "ada"))
}

// askGitLab sends a request of the API.
func askGitLab(t *testing.T, srv *vcstest.GitLab, method, path, token, body string) (int, string, http.Header) {
	t.Helper()
	return send(t, method, srv.URL()+"/api/v4"+path, "Bearer "+token, body)
}

// TestGitLabIsStrict: what is not understood or not allowed is answered as
// GitLab does and is a fault; what merely is not there is none.
func TestGitLabIsStrict(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{})
	p := newProject(t, srv)
	_, err := p.OpenIssue("ada", "Broken", "It is.")
	check(t, err)
	_, err = p.OpenConfidentialIssue("ada", "Secret", "")
	check(t, err)
	who := map[string]string{"": "", "wrong": "glpat-wrong", "bot": srv.Token().Reveal()}
	for name, scopes := range map[string][]string{"ada": {"api"}, "bob": {"api"}, "eve": {"api"}, "reading": {"read_api"}} {
		login := name
		if name == "reading" {
			login = "ada"
		}
		token, err := srv.AddScopedToken(login, time.Time{}, scopes...)
		check(t, err)
		who[name] = token.Reveal()
	}
	expired, err := srv.AddScopedToken("ada", time.Now().Add(-time.Hour), "api")
	check(t, err)
	who["expired"] = expired.Reveal()
	const at = "/projects/acme%2Ftools%2Fwidgets"
	for _, c := range []struct {
		as, method, path, body string
		status                 int
		says                   string
		fault                  bool
	}{
		{"bot", "GET", at, "", 200, `"path_with_namespace":"acme/tools/widgets"`, false},
		{"eve", "GET", at, "", 404, "404 Project Not Found", false},
		{"", "GET", at, "", 404, "404 Project Not Found", false},
		{"", "GET", "/user", "", 401, "401 Unauthorized", true},
		{"wrong", "GET", "/user", "", 401, "401 Unauthorized", true},
		{"expired", "GET", "/user", "", 401, "401 Unauthorized", true},
		{"bot", "GET", "/nothing", "", 404, "404 Not Found", true},
		{"bot", "GET", at + "?with=1", "", 200, "path_with_namespace", true},
		{"bot", "POST", at + "/issues/1/notes", `{"body":"x","text":"y"}`, 400, "unknown field", true},
		{"bot", "POST", at + "/issues/1/notes", `{}`, 400, "body is missing", true},
		{"bot", "POST", at + "/issues/9/notes", `{"body":"x"}`, 404, "404 Not found", false},
		{"reading", "POST", at + "/issues/1/notes", `{"body":"x"}`, 403, "insufficient_scope", true},
		{"bob", "POST", at + "/issues/1/notes", `{"body":"x"}`, 201, `"body":"x"`, false},
		{"bob", "POST", at + "/issues/1/notes", `{"body":"x","internal":true}`, 403, "403 Forbidden", true},
		{"ada", "POST", at + "/issues/1/notes", `{"body":"x","internal":true}`, 201, `"internal":true`, false},
		{"bob", "GET", at + "/issues/2", "", 404, "404 Not found", false},
		{"bob", "GET", at + "/merge_requests", "", 403, "403 Forbidden", true},
		{"bob", "GET", at + "/repository/branches/main", "", 403, "403 Forbidden", true},
		{"ada", "GET", at + "/hooks", "", 403, "403 Forbidden", true},
		{"ada", "GET", "/groups/acme/hooks", "", 403, "403 Forbidden", true},
		{"bot", "POST", at + "/issues/1/notes", `{"body":"Done.\n/close"}`, 201, `"body":"Done."`, true},
		{"bot", "POST", at + "/issues/1/notes", `{"body":"/label ~bug"}`, 202, "commands_changes", true},
		{"bot", "POST", at + "/issues/1/notes", "{\"body\":\"```\\n/close\\n```\"}", 201, "/close", false},
		{"bot", "POST", at + "/issues/1/award_emoji", `{"name":"eyes"}`, 201, `"name":"eyes"`, false},
		{"bot", "POST", at + "/issues/1/award_emoji", `{"name":"eyes"}`, 404, "has already been taken", false},
		{"bot", "POST", at + "/merge_requests", `{"source_branch":"x","target_branch":"main","title":"T"}`, 400, "not there", true},
		{"bot", "POST", at + "/issues/1/notes", `{"body":"` + strings.Repeat("x", 1_000_001) + `"}`, 400, "too long", true},
	} {
		srv.ClearFaults()
		status, body, _ := askGitLab(t, srv, c.method, c.path, who[c.as], c.body)
		if faults := srv.Faults(); status != c.status || !strings.Contains(body, c.says) || (len(faults) > 0) != c.fault {
			t.Errorf("%s as %q: %.60s %d %.200s, faults %.200q; want %d %s, fault %t", c.method+" "+c.path, c.as, c.body, status, body, faults, c.status, c.says, c.fault)
		}
	}
	if i := p.Issues()[0]; i.Open || len(i.Labels) != 1 {
		t.Errorf("the quick actions left %+v", i)
	}
}

func TestGitLabPages(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{SubPath: "/gitlab"})
	p := newProject(t, srv)
	_, err := p.OpenIssue("ada", "Long", "")
	check(t, err)
	for i := range 45 {
		_, err := p.Comment(1, "ada", fmt.Sprint(i))
		check(t, err)
	}
	path := "/projects/acme%2Ftools%2Fwidgets/issues/1/notes?sort=asc"
	for page, want := range map[string]struct {
		notes      int
		next, prev string
	}{"&page=1": {20, "2", ""}, "&page=3": {5, "", "2"}, "&per_page=1000": {45, "", ""}, "&page=9": {0, "", "8"}} {
		status, body, h := askGitLab(t, srv, "GET", path+page, srv.Token().Reveal(), "")
		var got []any
		check(t, json.Unmarshal([]byte(body), &got))
		if status != 200 || len(got) != want.notes || h.Get("X-Next-Page") != want.next || h.Get("X-Prev-Page") != want.prev || h.Get("X-Total") != "45" {
			t.Errorf("%s: %d, %d notes, %v", page, status, len(got), h)
		}
		if strings.Contains(h.Get("Link"), `rel="next"`) != (want.next != "") || !strings.Contains(h.Get("Link"), srv.URL()) {
			t.Errorf("%s: links %s", page, h.Get("Link"))
		}
	}
}

func TestGitLabMoves(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{SubPath: "/gitlab"})
	p := newProject(t, srv)
	check(t, p.Rename("acme", "gadgets"))
	const at = "/projects/acme%2Ftools%2Fwidgets/merge_requests?state=opened"
	status, _, h := askGitLab(t, srv, "GET", at, srv.Token().Reveal(), "")
	if want := fmt.Sprintf("%s/api/v4/projects/%d/merge_requests?state=opened", srv.URL(), p.Info().ID); status != 301 || h.Get("Location") != want {
		t.Errorf("read at the old path: %d to %s, want 301 to %s", status, h.Get("Location"), want)
	}
	if status, _, _ = askGitLab(t, srv, "POST", "/projects/acme%2Ftools%2Fwidgets/merge_requests", srv.Token().Reveal(), "{}"); status != 405 || len(srv.Faults()) != 1 {
		t.Errorf("written at the old path: %d, faults %v", status, srv.Faults())
	}
	if status, _, _ = askGitLab(t, srv, "GET", "/projects/acme%2Fgadgets", srv.Token().Reveal(), ""); status != 200 {
		t.Errorf("read at the new path: %d", status)
	}
}

// git runs git on a clone address with a credential.
func gitAs(t *testing.T, dir, user, token string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "credential.helper=!f() { echo username=" + user + "; echo password=" + token + "; }; f"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func TestGitLabGit(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{SubPath: "/gitlab"})
	p := newProject(t, srv)
	check(t, p.Protect("main"))
	check(t, p.Protect("release/*"))
	reader, err := srv.AddScopedToken("ada", time.Time{}, "read_repository")
	check(t, err)
	guest, err := srv.AddToken("bob")
	check(t, err)
	dir := t.TempDir()
	if out, err := gitAs(t, dir, "oauth2", guest.Reveal(), "clone", p.CloneURL(), "guest"); err == nil {
		t.Errorf("a guest cloned a private project: %s", out)
	}
	out, err := gitAs(t, dir, "anything", reader.Reveal(), "clone", p.CloneURL(), "w")
	if err != nil {
		t.Fatal(out)
	}
	w := dir + "/w"
	_, err = gitAs(t, w, "", "", "commit", "--allow-empty", "-m", "Try")
	check(t, err)
	for _, c := range []struct {
		token, branch, says string
		pushed              bool
	}{
		{reader.Reveal(), "topic", "403", false},
		{srv.Token().Reveal(), "main", "not allowed to push code to protected branches", false},
		{srv.Token().Reveal(), "release/1", "not allowed to push code to protected branches", false},
		{srv.Token().Reveal(), "topic", "new branch", true},
	} {
		out, err := gitAs(t, w, "oauth2", c.token, "push", "origin", "HEAD:refs/heads/"+c.branch)
		if (err == nil) != c.pushed || !strings.Contains(out, c.says) {
			t.Errorf("push to %s: %v %s", c.branch, err, out)
		}
	}
	p.SetPushRule("^JIRA-")
	if out, err := gitAs(t, w, "oauth2", srv.Token().Reveal(), "push", "origin", "HEAD:refs/heads/other"); err == nil || !strings.Contains(out, "does not follow the pattern") {
		t.Errorf("push against the push rule: %v %s", err, out)
	}
}

// TestGitLabFollowsPushes: heads are refs of the target, also from a fork, and
// remarks move with their line or stay behind.
func TestGitLabFollowsPushes(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{OverlapNumbers: true})
	p := newProject(t, srv)
	_, err := p.OpenIssue("ada", "Broken", "")
	check(t, err)
	fork, err := p.Fork("ada")
	check(t, err)
	first, err := fork.PushCommit("fix", map[string]string{"a.txt": "one\nTWO\nTHREE\n"}, "Fix")
	check(t, err)
	pull, err := p.OpenPull("ada", "ada:fix", "main", "Draft: Fix", "")
	check(t, err)
	if !pull.Draft || pull.Title != "Fix" || pull.Number != 1 || !pull.FromFork() {
		t.Errorf("opened %+v", pull)
	}
	_, err = p.SubmitReview("ada", 1, vcs.ReviewCommented, "", vcstest.Remark{Path: "a.txt", Line: 2, Body: "Why?"}, vcstest.Remark{Path: "a.txt", Line: 3, Body: "Louder."})
	check(t, err)
	tip, err := fork.PushCommit("fix", map[string]string{"a.txt": "zero\none\nTWO\nthree!\n"}, "Quieter")
	check(t, err)
	head, err := p.Log("refs/merge-requests/1/head")
	check(t, err)
	if got := p.Pulls()[0].Head.SHA; got != tip || got == first || head[0] != "Quieter" {
		t.Errorf("head is %s, want %s; the ref has %v", got, tip, head)
	}
	moved, left := p.Reviews(1)[0].Remarks[0], p.Reviews(1)[0].Remarks[1]
	if moved.Outdated || moved.Line != 3 || !left.Outdated || left.Line != 3 || len(left.Comments) != 1 {
		t.Errorf("remarks are %+v and %+v", moved, left)
	}
	if got := p.CommentsOf(vcs.Thread{Number: 1, PullRequest: true}); len(got) != 0 {
		t.Errorf("the conversation has %+v", got)
	}
	if faults := srv.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestGitLabCredentials: two headers take a token, and none of the others.
func TestGitLabCredentials(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{})
	token := srv.Token().Reveal()
	for header, c := range map[string]struct {
		value  string
		status int
	}{
		"Private-Token": {token, http.StatusOK}, "Authorization": {"Bearer " + token, http.StatusOK}, "Job-Token": {token, http.StatusUnauthorized},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL()+"/api/v4/user", nil)
		check(t, err)
		r.Header.Set(header, c.value)
		resp, err := http.DefaultTransport.RoundTrip(r)
		check(t, err)
		check(t, resp.Body.Close())
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", header, resp.StatusCode, c.status)
		}
	}
}
