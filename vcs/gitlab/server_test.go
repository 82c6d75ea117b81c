package gitlab_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlab"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onProject is a driver and the private project that the suite uses.
func onProject(t *testing.T, srv *vcstest.GitLab) (*gitlab.Forge, vcstest.World, *vcstest.Project) {
	t.Helper()
	f := onServer(t, srv)
	w := srv.World(t, f)
	return f, w, srv.Repo(w.Repo.Owner, w.Repo.Name)
}

// TestNothingWrittenIsAQuickAction: whatever a text holds, GitLab executes none
// of it; the server tells by a fault if it does.
func TestNothingWrittenIsAQuickAction(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	f, w, p := onProject(t, srv)
	texts := []string{
		"/close", "Done.\n/merge\n", "  /approve", "```\n/close\n```\n/label ~x", "````\n```\n/close\n````\n/close", "\r/close", "> x\n/confidential\n",
		"~~~\n~~~ x\n/close", "<pre>\n/close\n</pre>", "1. x\n\n   ```\n/close\n", "\u200b/close\n\u2028/close", "`\n/lock\n`\n>>>\n/close\n>>>", "/assign @eve\r\n/lock",
	}
	for i, text := range texts {
		marker := strings.Repeat("m", i+1)
		for _, th := range []vcs.Thread{w.Issue.Thread, w.Pull.Thread} {
			_, err := f.PutComment(t.Context(), th, vcs.StickyComment{Marker: marker, Body: "x"})
			check(t, err)
			_, err = f.PutComment(t.Context(), th, vcs.StickyComment{Marker: marker, Body: text})
			check(t, err)
		}
		_, err := f.ReplyToRemark(t.Context(), w.Pull.Thread, w.Review.Remarks[0].ID, vcs.StickyComment{Marker: marker, Body: text})
		check(t, err)
		check(t, f.EditPullRequest(t.Context(), w.Pull.Thread, "/close", text))
	}
	_, err := f.OpenPullRequest(t.Context(), vcs.NewPullRequest{Repo: w.Repo, Head: w.Head, Base: w.Base, Title: "/close", Body: "/close\n", Draft: true})
	check(t, err)
	for _, i := range append(p.Issues(), p.Conversations()...) {
		if !i.Open || i.Locked || i.Confidential || len(i.Labels) != 0 {
			t.Errorf("%s is %+v", i.Thread, i)
		}
	}
}

// TestNumbersOverlap: issue 1 and merge request 1 are two threads.
func TestNumbersOverlap(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{OverlapNumbers: true})
	f, w, p := onProject(t, srv)
	if w.Issue.Number != w.Pull.Number {
		t.Fatalf("issue %d and merge request %d", w.Issue.Number, w.Pull.Number)
	}
	_, err := f.PutComment(t.Context(), w.Pull.Thread, vcs.StickyComment{Marker: "m", Body: "Here."})
	check(t, err)
	if on, off := p.CommentsOf(w.Pull.Thread), p.CommentsOf(w.Issue.Thread); len(on) != 1 || len(off) != 1 || off[0].Author.Is(srv.Bot()) {
		t.Errorf("merge request has %+v, issue %+v", on, off)
	}
}

// TestJobsOfManyPipelines: the pipeline of each source counts, without the jobs
// that were retried, and those that may fail do not fail it.
func TestJobsOfManyPipelines(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	f, w, p := onProject(t, srv)
	for _, res := range []vcstest.CheckResult{
		{JobName: "lint", Conclusion: vcs.ConclusionFailure}, {JobName: "lint", Conclusion: vcs.ConclusionSuccess},
		{JobName: "flaky", Conclusion: vcs.ConclusionNeutral}, {JobName: "slow", Conclusion: vcs.ConclusionTimedOut},
		{JobName: "merged", Conclusion: vcs.ConclusionFailure, Source: "merge_request_event"}, {JobName: "running"},
	} {
		res.SHA = w.Red.HeadSHA
		_, err := p.FinishCheck(res)
		check(t, err)
	}
	got, err := f.Checks(t.Context(), w.Repo, w.Red.HeadSHA)
	check(t, err)
	ended := map[string]vcs.Conclusion{}
	for _, k := range got {
		ended[k.Name] = k.Conclusion
		if k.HeadBranch != "guard" || len(k.PullRequests) != 1 {
			t.Errorf("%s is of %s, %v", k.Name, k.HeadBranch, k.PullRequests)
		}
	}
	want := map[string]vcs.Conclusion{
		"test 1/2": vcs.ConclusionFailure, "lint": vcs.ConclusionSuccess, "flaky": vcs.ConclusionNeutral, "slow": vcs.ConclusionTimedOut,
		"merged": vcs.ConclusionFailure, "running": "", "coverage": vcs.ConclusionFailure,
	}
	for name, c := range want {
		if has, there := ended[name]; !there || has != c || len(ended) != len(want) {
			t.Errorf("%s ended %q, want %q; all: %v", name, has, c, ended)
		}
	}
}

// TestHookOnServer: a hook is made, told of what happens, given up and woken.
func TestHookOnServer(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	f, w, p := onProject(t, srv)
	check(t, p.SetPermission(srv.Bot().Login, vcs.PermissionMaintain))
	var answer, asked atomic.Int32
	answer.Store(http.StatusAccepted)
	rcv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Gitlab-Token") == "s3cret" {
			asked.Add(1)
		}
		rw.WriteHeader(int(answer.Load()))
	}))
	defer rcv.Close()
	scope := gitlab.Scope{Project: w.Repo}
	h, made, err := f.PutHook(t.Context(), scope, gitlab.HookSpec{URL: rcv.URL, Token: "s3cret"})
	if err != nil || !made || !h.Enabled() || !h.VerifyTLS || h.HookEvents != gitlab.WantedEvents() {
		t.Fatalf("made %+v, %t, %v", h, made, err)
	}
	_, err = p.Comment(w.Issue.Number, "ada", "Hello.")
	check(t, err)
	_, err = p.PushCommit("quiet", map[string]string{"x": "y"}, "A push is not wanted")
	check(t, err)
	check(t, srv.Flush(t.Context()))
	sent, err := f.Deliveries(t.Context(), scope, h.ID)
	if err != nil || len(sent) != 1 || sent[0].Status != http.StatusAccepted || asked.Load() != 1 {
		t.Errorf("deliveries %+v, %v; the receiver was asked %d times", sent, err, asked.Load())
	}
	answer.Store(http.StatusInternalServerError)
	srv.DisableHooks()
	if again, err := f.EnableHook(t.Context(), scope, h.ID); !errors.Is(err, vcs.ErrUnavailable) {
		t.Errorf("a receiver that fails: %+v, %v", again, err)
	}
	answer.Store(http.StatusAccepted)
	if again, err := f.EnableHook(t.Context(), scope, h.ID); err != nil || !again.Enabled() {
		t.Errorf("a receiver that works: %+v, %v", again, err)
	}
	if again, made, err := f.PutHook(t.Context(), scope, gitlab.HookSpec{URL: rcv.URL, Token: "other"}); err != nil || made || again.ID != h.ID {
		t.Errorf("put again: %+v, made %t, %v", again, made, err)
	}
}

func TestProtectionOnServer(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{})
	f, w, p := onProject(t, srv)
	check(t, p.Protect("main"))
	check(t, p.ProtectFor("greenwright/*", 30))
	check(t, p.ProtectFor("release/*", 40))
	for branch, want := range map[string][2]bool{
		"main": {true, false}, "guard": {false, true}, "new": {false, true}, "greenwright/2-new": {true, true}, "release/2": {true, false},
	} {
		protected, can, err := f.ProtectedBranch(t.Context(), w.Repo, branch)
		if err != nil || [2]bool{protected, can} != want {
			t.Errorf("%s: protected %t, can push %t, %v; want %v", branch, protected, can, err, want)
		}
	}
	p.SetPushRule("^JIRA-")
	check(t, p.SetPermission(srv.Bot().Login, vcs.PermissionMaintain))
	if r, err := f.PushRules(t.Context(), w.Repo); err != nil || r.CommitMessage != "^JIRA-" {
		t.Errorf("push rules %+v, %v", r, err)
	}
}

func TestTokenOnServer(t *testing.T) {
	srv := newServer(t, vcstest.GitLabConfig{BotLogin: "project_7_bot_af"})
	f, w, _ := onProject(t, srv)
	info, err := f.Token(t.Context())
	if err != nil || info.Kind != gitlab.ProjectToken || !info.Active || !info.Account.Is(srv.Bot()) {
		t.Errorf("token %+v, %v", info, err)
	}
	if r, err := f.AccessLevel(t.Context(), gitlab.Scope{Project: w.Repo}); err != nil || r != gitlab.RoleDeveloper {
		t.Errorf("role %s, %v", r, err)
	}
	srv.RevokeTokens()
	if _, err := f.Token(t.Context()); !errors.Is(err, vcs.ErrForbidden) {
		t.Errorf("revoked: %v", err)
	}
	srv.ClearFaults()
}
