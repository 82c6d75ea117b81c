package publish_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/actions"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/publish"
	"github.com/greenwright/greenwright/vcs"
	vcsgit "github.com/greenwright/greenwright/vcs/git"
	"github.com/greenwright/greenwright/vcs/github"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

var ctx = context.Background()

var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// world is a simulated GitHub with real git, and a publisher for one run.
type world struct {
	*testing.T
	srv    *vcstest.GitHub
	repo   *vcstest.Repo
	mirror *vcsgit.Mirror
	base   string // the tip of main
	*publish.Publisher
	records *journal.Writer
}

type nowhere struct{}

func (nowhere) Append(context.Context, uint64, []byte) error { return nil }

func newWorld(t *testing.T) *world {
	t.Helper()
	srv, err := vcstest.NewGitHub(vcstest.Config{Dir: t.TempDir(), AppKey: appKey()})
	check(t, err)
	t.Cleanup(func() {
		for _, f := range srv.Faults() {
			t.Errorf("the real GitHub would have refused: %s", f)
		}
		check(t, srv.Close())
	})
	w := &world{T: t, srv: srv}
	w.repo, err = srv.CreateRepo("acme", "widgets", map[string]string{"a.txt": "one\n"})
	check(t, err)
	forge, err := github.New(github.Config{BaseURL: srv.URL(), AppID: srv.AppID(), PrivateKey: srv.AppKeyPEM()})
	check(t, err)
	store, err := vcsgit.New(vcsgit.Config{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	check(t, err)
	w.mirror, err = store.Mirror(w.repo.Ref())
	check(t, err)
	w.records = journal.NewWriter("0190-run", nowhere{}, time.Now, nil)
	w.Publisher = &publish.Publisher{
		Forge: forge, Mirror: w.mirror, Log: actions.New(w.records),
		Job: jobs.Job{ID: "5f1c", Thread: vcs.Thread{Repo: w.repo.Ref(), Number: 7}, Requester: srv.CreateUser("somebody")},
		Run: "0190-run", Repo: w.repo.Info(), Self: srv.Bot(), BranchPrefix: "greenwright/",
	}
	w.base = w.fetch("main")
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) fetch(branch string) string {
	w.Helper()
	remote, err := w.Forge.Remote(ctx, w.repo.Ref(), vcs.Read)
	check(w.T, err)
	tips, err := w.mirror.Fetch(ctx, remote, "refs/heads/"+branch)
	check(w.T, err)
	return tips["refs/heads/"+branch]
}

// tree is one with a changed file on a commit.
func (w *world) tree(on, content string) string {
	w.Helper()
	ws, err := w.mirror.Checkout(ctx, on, filepath.Join(w.TempDir(), "ws"), vcsgit.CheckoutOptions{})
	check(w.T, err)
	defer func() { _ = ws.Close() }()
	check(w.T, os.WriteFile(filepath.Join(ws.Dir(), "a.txt"), []byte(content), 0o600))
	set, err := ws.Changes(ctx)
	check(w.T, err)
	return set.Tree
}

// commit is a commit of a changed file.
func (w *world) commit(on, content string) string {
	w.Helper()
	sha, err := w.Commit(ctx, w.tree(on, content), on, "Fix: it", "Asked for in #7.", when)
	check(w.T, err)
	return sha
}

func (w *world) tip(branch string) string {
	w.Helper()
	tips, err := w.repo.Branches()
	check(w.T, err)
	return tips[branch]
}

// done are the records of actions, as words.
func (w *world) done() []string {
	w.Helper()
	rep, err := journal.Fold(w.records.Records())
	check(w.T, err)
	var out []string
	for _, a := range rep.Actions {
		s := a.Kind + " " + a.Target
		if a.Error != "" {
			s += " failed"
		}
		out = append(out, s)
	}
	return out
}

func TestPublishANewBranch(t *testing.T) {
	w := newWorld(t)
	target, err := w.Aim(ctx, nil, "main", "Fix the Add() overflow")
	check(t, err)
	if diff := cmp.Diff(publish.Target{Branch: "greenwright/7-fix-the-add-overflow", Base: "main"}, target); diff != "" {
		t.Fatalf("target (-want +got):\n%s", diff)
	}
	sha := w.commit(w.base, "two\n")
	for range 2 { // a push can be repeated
		head, err := w.Push(ctx, target, sha)
		if err != nil || head != sha || w.tip(target.Branch) != sha {
			t.Fatalf("head is %q, the branch at %q, %v; want %s", head, w.tip(target.Branch), err, sha)
		}
	}
	var numbers []int
	for range 2 {
		pr, err := w.Open(ctx, target, publish.Proposal{Title: "Fix\nthe overflow", Body: "why", Draft: true})
		check(t, err)
		numbers = append(numbers, pr.Number)
	}
	pulls := w.repo.Pulls()
	if len(pulls) != 1 || numbers[0] != numbers[1] || pulls[0].Title != "Fix the overflow" || !pulls[0].Draft || pulls[0].Head.SHA != sha || pulls[0].Base.Name != "main" {
		t.Errorf("opened %v: %+v", numbers, pulls)
	}
	check(t, w.Describe(ctx, pulls[0], "the whole again"))
	if got := w.repo.Pulls()[0]; got.Body != "the whole again" || got.Title != "Fix the overflow" {
		t.Errorf("described as %q, %q", got.Title, got.Body)
	}
	want := []string{"push " + target.Branch, "push " + target.Branch, "open_pull_request " + target.Branch + " into main", "open_pull_request " + target.Branch + " into main", fmt.Sprintf("edit_pull_request #%d", numbers[0])}
	if diff := cmp.Diff(want, w.done()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if w.tip("main") != w.base {
		t.Error("main has moved")
	}
}

func TestAimFindsAFreeName(t *testing.T) {
	w := newWorld(t)
	for _, taken := range []string{"greenwright/7-x", "greenwright/7-x-2"} {
		_, err := w.repo.PushCommit(taken, map[string]string{"x": taken}, "x")
		check(t, err)
	}
	target, err := w.Aim(ctx, nil, "main", "x")
	if err != nil || target.Branch != "greenwright/7-x-3" {
		t.Errorf("aims at %q, %v", target.Branch, err)
	}
	w.Job.Thread.Number = 0
	if target, err = w.Aim(ctx, nil, "main", ""); err != nil || target.Branch != "greenwright/change" {
		t.Errorf("without a number it aims at %q, %v", target.Branch, err)
	}
	w.BranchPrefix = "bad..prefix/"
	if _, err = w.Aim(ctx, nil, "main", "x"); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("a bad prefix: %v, want vcs.ErrInvalid", err)
	}
}

func TestAimAtAPullRequest(t *testing.T) {
	w := newWorld(t)
	ref, fork := w.repo.Ref(), w.repo.Ref()
	fork.Owner = "stranger"
	sha := strings.Repeat("a", 40)
	pull := func(head vcs.Branch, open bool) *vcs.PullRequest {
		return &vcs.PullRequest{Head: head, Base: vcs.Branch{Repo: ref, Name: "main"}, Open: open}
	}
	good := pull(vcs.Branch{Repo: ref, Name: "feature", SHA: sha}, true)
	got, err := w.Aim(ctx, good, "main", "x")
	if diff := cmp.Diff(publish.Target{Branch: "feature", Expect: sha, Pull: good}, got); err != nil || diff != "" {
		t.Errorf("%v, target (-want +got):\n%s", err, diff)
	}
	for name, bad := range map[string]*vcs.PullRequest{
		"default branch": pull(vcs.Branch{Repo: ref, Name: "main", SHA: sha}, true),
		"fork":           pull(vcs.Branch{Repo: fork, Name: "feature", SHA: sha}, true),
		"closed":         pull(vcs.Branch{Repo: ref, Name: "feature", SHA: sha}, false),
	} {
		if got, err := w.Aim(ctx, bad, "main", "x"); !errors.Is(err, publish.ErrTarget) {
			t.Errorf("%s: aims at %+v, %v; want publish.ErrTarget", name, got, err)
		}
	}
}

func TestPushNeverTouchesTheDefaultBranch(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Push(ctx, publish.Target{Branch: "main", Expect: w.base}, w.commit(w.base, "two\n")); !errors.Is(err, publish.ErrTarget) {
		t.Errorf("error is %v, want publish.ErrTarget", err)
	}
	if w.tip("main") != w.base || len(w.done()) != 0 {
		t.Errorf("main is at %s, actions %q", w.tip("main"), w.done())
	}
}

func TestPushRefusesWhatMoved(t *testing.T) {
	w := newWorld(t)
	old, err := w.repo.PushCommit("feature", map[string]string{"x": "1"}, "x")
	check(t, err)
	check(t, func() error { w.fetch("feature"); return nil }())
	ours := w.commit(old, "two\n")
	theirs, err := w.repo.PushCommit("feature", map[string]string{"x": "2"}, "somebody else's")
	check(t, err)
	if _, err := w.Push(ctx, publish.Target{Branch: "feature", Expect: old}, ours); !errors.Is(err, vcs.ErrConflict) {
		t.Errorf("error is %v, want vcs.ErrConflict", err)
	}
	if _, err := w.Push(ctx, publish.Target{Branch: "feature"}, ours); !errors.Is(err, vcs.ErrConflict) {
		t.Errorf("a new branch that is there: %v, want vcs.ErrConflict", err)
	}
	if _, err := w.Push(ctx, publish.Target{Branch: "feature", Expect: theirs}, ours); !errors.Is(err, vcs.ErrConflict) {
		t.Errorf("a commit that would drop theirs: %v, want vcs.ErrConflict", err)
	}
	if w.tip("feature") != theirs {
		t.Errorf("the branch is at %s, want theirs", w.tip("feature"))
	}
	if diff := cmp.Diff([]string{"push feature failed", "push feature failed", "push feature failed"}, w.done()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestProtectedBranch(t *testing.T) {
	w := newWorld(t)
	old, err := w.repo.PushCommit("release", map[string]string{"x": "1"}, "x")
	check(t, err)
	w.fetch("release")
	check(t, w.repo.Protect("release"))
	if _, err := w.Push(ctx, publish.Target{Branch: "release", Expect: old}, w.commit(old, "two\n")); !errors.Is(err, vcs.ErrForbidden) {
		t.Errorf("error is %v, want vcs.ErrForbidden", err)
	}
}

func TestAnswersAndReviewers(t *testing.T) {
	w := newWorld(t)
	_, err := w.repo.PushCommit("feature", map[string]string{"x": "1\n"}, "x")
	check(t, err)
	pr, err := w.repo.OpenPull("acme", "feature", "main", "x", "")
	check(t, err)
	reviewer := w.srv.CreateUser("reviewer")
	check(t, w.repo.SetPermission("reviewer", vcs.PermissionWrite))
	r, err := w.repo.SubmitReview("reviewer", pr.Number, vcs.ReviewChangesRequested, "x", vcstest.Remark{Path: "x", Line: 1, Body: "why?"})
	check(t, err)
	for range 2 {
		check(t, w.Answer(ctx, pr.Thread, r.Remarks[0].ID, "Taken up."))
		check(t, w.AskReview(ctx, pr.Thread, reviewer))
	}
	comments := w.repo.Reviews(pr.Number)[0].Remarks[0].Comments
	if len(comments) != 2 || !strings.Contains(comments[1].Body, "Taken up.") {
		t.Errorf("the review thread is %+v", comments)
	}
	if diff := cmp.Diff([]string{"reviewer"}, w.repo.RequestedReviewers(pr.Number)); diff != "" {
		t.Errorf("requested reviewers (-want +got):\n%s", diff)
	}
}
