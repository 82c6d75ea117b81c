package vcstest_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

const widgetsAPI = "/projects/acme%2Ftools%2Fwidgets"

func gitlabToken(t *testing.T, srv *vcstest.GitLab, login string, scopes ...string) string {
	t.Helper()
	token, err := srv.AddScopedToken(login, time.Time{}, scopes...)
	check(t, err)
	return token.Reveal()
}

// TestGitLabWhoSees: what an account cannot see is not there for it.
func TestGitLabWhoSees(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{})
	p := newProject(t, srv)
	srv.CreateUser("out")
	check(t, srv.SetExternal("out"))
	hidden, err := p.OpenConfidentialIssue("ada", "Leak", "It leaks.")
	check(t, err)
	open, err := p.OpenIssue("ada", "Open", "x")
	check(t, err)
	inner, err := p.CommentInternally(open.Number, "ada", "Between us.")
	check(t, err)
	hiddenPath, notePath := fmt.Sprintf("%s/issues/%d", widgetsAPI, hidden.Number), fmt.Sprintf("%s/issues/%d/notes/%d", widgetsAPI, open.Number, inner.ID)
	tokens := map[string]string{}
	for _, login := range []string{"ada", "bob", "eve", "out"} {
		tokens[login] = gitlabToken(t, srv, login, "api")
	}
	cases := []struct {
		name, path string
		prepare    func()
		see        []string // the others get 404
	}{
		{"private project", widgetsAPI, func() {}, []string{"ada", "bob"}},
		{"public project", widgetsAPI, func() { p.SetPrivate(false) }, []string{"ada", "bob", "eve", "out"}},
		{"confidential issue", hiddenPath, func() {}, []string{"ada"}},
		{"internal note", notePath, func() {}, []string{"ada"}},
		{"internal project", widgetsAPI, p.SetInternal, []string{"ada", "bob", "eve"}},
		{"ended membership", widgetsAPI, func() {
			p.SetPrivate(true)
			check(t, p.SetMember("bob", 10, "active", time.Now().Add(-time.Hour), ""))
		}, []string{"ada"}},
		{"awaiting membership", widgetsAPI, func() { check(t, p.SetMember("ada", 30, "awaiting", time.Time{}, "")) }, nil},
	}
	for _, c := range cases {
		c.prepare()
		for login, token := range tokens {
			want := http.StatusNotFound
			if slices.Contains(c.see, login) {
				want = http.StatusOK
			}
			if status, body, _ := askGitLab(t, srv, "GET", c.path, token, ""); status != want {
				t.Errorf("%s for %s: status %d, want %d: %s", c.name, login, status, want, body)
			}
		}
	}
	if status, _, _ := askGitLab(t, srv, "GET", widgetsAPI+"/issues/1/notes", "", ""); status != http.StatusUnauthorized {
		t.Errorf("notes without a token: %d, want 401 on any project", status)
	}
}

// TestGitLabQuickActions: what a program writes commands GitLab, also when it
// edits; it shows in what GitLab does, and as a fault.
func TestGitLabQuickActions(t *testing.T) {
	cases := []struct {
		name, body string
		status     int
		left       string // of the note; empty is none
		closed     bool
	}{
		{"alone", "/close", 202, "", true},
		{"among others", "Done.\n/close\nBye.", 201, "Done.\nBye.", true},
		{"in capitals", "/CLOSE now", 202, "", true},
		{"after a carriage return", "Done.\r\n/close\r\n", 201, "Done.\n", true},
		{"not at the first column", " /close", 201, " /close", false},
		{"behind a backslash", `\/close`, 201, `\/close`, false},
		{"within a line", "see /close", 201, "see /close", false},
		{"unknown", "/closer", 201, "/closer", false},
		{"in a fence", "```go\n/close\n```", 201, "```go\n/close\n```", false},
		{"behind a fence", "```\nx\n```\n/close", 201, "```\nx\n```", true},
		{"in a fence that stays open", "```\n/close", 201, "```", true},
		{"in a fence of tildes", "~~~\n/close\n~~~", 201, "~~~\n~~~", true},
	}
	for _, c := range cases {
		for _, edit := range []bool{false, true} {
			srv := newGitLab(t, vcstest.GitLabConfig{})
			p := newProject(t, srv)
			_, err := p.OpenIssue("ada", "x", "y")
			check(t, err)
			method, path, want := "POST", widgetsAPI+"/issues/1/notes", c.status
			if edit {
				said, err := p.Comment(1, "ada", "before")
				check(t, err)
				method, path, want = "PUT", fmt.Sprint(path, "/", said.ID), http.StatusOK
			}
			body, err := json.Marshal(map[string]string{"body": c.body})
			check(t, err)
			if status, answer, _ := askGitLab(t, srv, method, path, gitlabToken(t, srv, "ada", "api"), string(body)); status != want {
				t.Errorf("%s, edit %t: status %d, want %d: %s", c.name, edit, status, want, answer)
			}
			left := ""
			if said := p.Comments(1); len(said) > 0 {
				left = said[0].Body
			}
			closed := !p.Issues()[0].Open
			if left != c.left || closed != c.closed || closed != (len(srv.Faults()) > 0) {
				t.Errorf("%s, edit %t: left %q, closed %t, faults %v", c.name, edit, left, closed, srv.Faults())
			}
		}
	}
}

// TestGitLabNumbers: GitLab counts merge requests apart; without the setting one
// row numbers both.
func TestGitLabNumbers(t *testing.T) {
	for overlap, want := range map[bool]int{false: 2, true: 1} {
		srv := newGitLab(t, vcstest.GitLabConfig{OverlapNumbers: overlap})
		p := newProject(t, srv)
		issue, err := p.OpenIssue("ada", "x", "y")
		check(t, err)
		_, err = p.PushCommit("fix", map[string]string{"a.txt": "1\n"}, "Fix")
		check(t, err)
		pull, err := p.OpenPull("ada", "fix", "main", "Fix", "")
		check(t, err)
		if issue.Number != 1 || pull.Number != want {
			t.Errorf("overlap %t: issue %d, merge request %d", overlap, issue.Number, pull.Number)
		}
		path := fmt.Sprintf("%s/merge_requests/%d/notes", widgetsAPI, want)
		if status, body, _ := askGitLab(t, srv, "POST", path, gitlabToken(t, srv, "ada", "api"), `{"body":"hi"}`); status != http.StatusCreated {
			t.Fatalf("status %d: %s", status, body)
		}
		if a, b := p.CommentsOf(issue.Thread), p.CommentsOf(pull.Thread); len(a) != 0 || len(b) != 1 || b[0].Body != "hi" {
			t.Errorf("overlap %t: the issue has %+v, the merge request %+v", overlap, a, b)
		}
	}
}

// TestGitLabGitScopes: what a token may do with git, and that git finds a
// project that has moved.
func TestGitLabGitScopes(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{})
	p := newProject(t, srv)
	old := p.CloneURL()
	check(t, p.Rename("acme", "gadgets"))
	dir := t.TempDir()
	check(t, p.ProtectFor("release/*", 40))
	out, err := gitAs(t, dir, "oauth2", gitlabToken(t, srv, "ada", "write_repository"), "clone", "--quiet", old, "w")
	if err != nil {
		t.Fatalf("clone of the old path: %v %s", err, out)
	}
	for _, c := range []struct {
		login, scope, branch string
		permission           vcs.Permission
		pushed               bool
	}{
		{"ada", "read_repository", "x", vcs.PermissionWrite, false},
		{"ada", "read_api", "x", vcs.PermissionWrite, false},
		{"ada", "write_repository", "x", vcs.PermissionWrite, true},
		{"ada", "api", "y", vcs.PermissionWrite, true},
		{"ada", "api", "z", vcs.PermissionTriage, false},
		{"ada", "api", "release/1", vcs.PermissionWrite, false},
		{"ada", "api", "release/1", vcs.PermissionMaintain, true},
		{"eve", "api", "z", vcs.PermissionNone, false},
	} {
		check(t, p.SetPermission(c.login, c.permission))
		out, err := gitAs(t, dir+"/w", "oauth2", gitlabToken(t, srv, c.login, c.scope), "push", "origin", "HEAD:refs/heads/"+c.branch)
		if (err == nil) != c.pushed {
			t.Errorf("push of %s with %s to %s as %s: %v %s", c.login, c.scope, c.branch, c.permission, err, out)
		}
	}
}

// flaky is a receiver that fails until it is told to work.
func flaky(t *testing.T) (url string, works *atomic.Bool) {
	t.Helper()
	works = new(atomic.Bool)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	hs := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = hs.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = hs.Close()
		<-done
	})
	return "http://" + ln.Addr().String(), works
}

// TestGitLabGivesHooksUp: four failures in a row end deliveries for a while, and
// a test that succeeds begins them again.
func TestGitLabGivesHooksUp(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{})
	p := newProject(t, srv)
	check(t, p.SetPermission("ada", vcs.PermissionMaintain))
	token := gitlabToken(t, srv, "ada", "api")
	url, works := flaky(t)
	var hook struct {
		ID     int64
		Status string `json:"alert_status"`
	}
	read := func(method, path, body string, want int) {
		t.Helper()
		status, answer, _ := askGitLab(t, srv, method, widgetsAPI+path, token, body)
		if status != want {
			t.Errorf("%s %s: %d, want %d: %s", method, path, status, want, answer)
		}
		if strings.Contains(answer, "alert_status") {
			check(t, json.Unmarshal([]byte(answer), &hook))
		}
	}
	read("POST", "/hooks", `{"url":"`+url+`","token":"t","push_events":false,"issues_events":true}`, 201)
	at := fmt.Sprint("/hooks/", hook.ID)
	for n, want := range []string{"executable", "executable", "executable", "temporarily_disabled", "temporarily_disabled"} {
		_, err := p.OpenIssue("ada", "x", "y")
		check(t, err)
		check(t, srv.Flush(t.Context()))
		if read("GET", at, "", 200); hook.Status != want {
			t.Errorf("after %d issues the hook is %s, want %s", n+1, hook.Status, want)
		}
	}
	if n := len(srv.Deliveries()); n != 4 {
		t.Errorf("%d deliveries, want none after the hook was given up", n)
	}
	read("POST", at+"/test/push_events", "", 422)
	works.Store(true)
	read("POST", at+"/test/push_events", "", 201)
	if read("GET", at, "", 200); hook.Status != "executable" {
		t.Errorf("after a success the hook is %s", hook.Status)
	}
	read("PUT", at, `{"url":"`+url+`","merge_requests_events":true}`, 200)
	read("DELETE", at, "", 204)
	read("GET", at, "", 404)
}

// TestGitLabAnswersStandAlone: an answer to a note that stands alone makes a
// discussion of both.
func TestGitLabAnswersStandAlone(t *testing.T) {
	srv := newGitLab(t, vcstest.GitLabConfig{})
	p := newProject(t, srv)
	_, err := p.PushCommit("fix", map[string]string{"a.txt": "1\n"}, "Fix")
	check(t, err)
	pull, err := p.OpenPull("ada", "fix", "main", "Fix", "")
	check(t, err)
	_, err = p.Comment(pull.Number, "ada", "Well?")
	check(t, err)
	token, at := gitlabToken(t, srv, "ada", "api"), fmt.Sprintf("%s/merge_requests/%d/discussions", widgetsAPI, pull.Number)
	type listed []struct {
		ID         string
		Individual bool `json:"individual_note"`
		Notes      []struct{ Type, Body string }
	}
	read := func() (out listed) {
		t.Helper()
		_, body, _ := askGitLab(t, srv, "GET", at, token, "")
		check(t, json.Unmarshal([]byte(body), &out))
		return out
	}
	before := read()
	if len(before) != 1 || !before[0].Individual || before[0].Notes[0].Type != "" {
		t.Fatalf("a note that stands alone is %+v", before)
	}
	if status, body, _ := askGitLab(t, srv, "POST", at+"/"+before[0].ID+"/notes", token, `{"body":"Well."}`); status != http.StatusCreated {
		t.Fatalf("answer: %d %s", status, body)
	}
	after := read()
	if len(after) != 1 || after[0].Individual || len(after[0].Notes) != 2 || after[0].Notes[0].Type != "DiscussionNote" || after[0].Notes[1].Type != "DiscussionNote" {
		t.Errorf("after the answer: %+v", after)
	}
}
