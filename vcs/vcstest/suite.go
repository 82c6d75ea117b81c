package vcstest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// T is what the suite needs of *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	TempDir() string
}

// World is a forge with the things that the suite looks at. Each case gets a
// fresh one.
type World struct {
	// Forge is the driver under test; its account may write to the repository.
	Forge vcs.Forge
	Repo  vcs.RepoRef
	// Writer and Reader have those levels; Stranger has none on a private
	// repository. Maintainer has a custom role that extends maintain.
	Writer, Reader, Stranger, Maintainer vcs.Actor
	// Issue was opened by Writer, with the one Comment of Reader.
	Issue   vcs.Issue
	Comment vcs.Comment
	// Pull is Writer's, from Head to Base; Head is a pushed branch without one.
	Pull       vcs.PullRequest
	Head, Base string
	// Review is Reader's on Pull, with two threads: the first has a reply, the
	// second is resolved and outdated.
	Review vcs.Review
	// Red is a failed job of the forge's CI on Pull's head, with a log that
	// has "exit code 1"; Foreign is a check of somebody else's service.
	Red, Foreign vcs.Check

	// Say comments on a thread as an account; Seen lists a thread's comments
	// as the forge has them; Left its reactions; Asked the requested reviewers.
	Say   func(number int, login, body string) error
	Seen  func(th vcs.Thread) []vcs.Comment
	Left  func(number int) []Reacted
	Asked func(number int) []string
	// Reviewed lists a pull request's reviews as the forge has them.
	Reviewed func(number int) []vcs.Review
	// RemarkByRemark is set for a forge whose reviews arrive so
	// ([vcs.Review.Partial]): of one that is read again, what our account has
	// answered is left out.
	RemarkByRemark bool
}

// ForgeCase is one case of the conformance suite.
type ForgeCase struct {
	Name string
	Run  func(t T, w World)
}

// caseTimeout bounds one case.
const caseTimeout = 30 * time.Second

// ForgeCases is the contract of vcs.Forge and, where the driver implements
// them, of the optional roles. Each wants a world of its own.
func ForgeCases() []ForgeCase {
	wrap := func(name string, f func(context.Context, T, World)) ForgeCase {
		return ForgeCase{Name: name, Run: func(t T, w World) {
			ctx, cancel := context.WithTimeout(context.Background(), caseTimeout)
			defer cancel()
			f(ctx, t, w)
		}}
	}
	return []ForgeCase{
		wrap("self", selfCase), wrap("repository", repoCase), wrap("permission", permissionCase),
		wrap("invalid names", invalidCase), wrap("not found", notFoundCase), wrap("canceled", canceledCase),
		wrap("issue", issueCase), wrap("sticky comment", stickyCase), wrap("forged marker", forgedCase),
		wrap("long comment", longCase), wrap("reaction", reactionCase), wrap("remote", remoteCase),
		wrap("pull request", pullCase), wrap("open pull request", openCase), wrap("edit pull request", editCase),
		wrap("review", reviewCase), wrap("reply", replyCase), wrap("request review", requestCase),
		wrap("checks", checksCase), wrap("check job", jobCase), wrap("check log", logCase),
	}
}

func must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func wantErr(t T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want one that wraps %q", what, err, want)
	}
}

func selfCase(ctx context.Context, t T, w World) {
	a, err := w.Forge.Self(ctx)
	must(t, err)
	if a.ID == 0 || a.Login == "" || a.Kind == "" {
		t.Errorf("self is %+v", a)
	}
	again, err := w.Forge.Self(ctx)
	must(t, err)
	if again != a {
		t.Errorf("self is %+v, then %+v", a, again)
	}
}

func repoCase(ctx context.Context, t T, w World) {
	r, err := w.Forge.Repo(ctx, w.Repo)
	must(t, err)
	if r.RepoRef != w.Repo || r.ID == 0 || r.DefaultBranch == "" || r.URL == "" {
		t.Errorf("repository is %+v", r)
	}
}

func permissionCase(ctx context.Context, t T, w World) {
	cases := map[vcs.Actor]vcs.Permission{
		w.Writer: vcs.PermissionWrite, w.Reader: vcs.PermissionRead, w.Maintainer: vcs.PermissionMaintain,
		w.Stranger:                       vcs.PermissionNone,
		{ID: 1 << 40, Login: "nobody-1"}: vcs.PermissionNone,
	}
	for a, want := range cases {
		got, err := w.Forge.Permission(ctx, w.Repo, a)
		if err != nil || got != want {
			t.Errorf("permission of %s is %s, %v; want %s", a.Login, got, err, want)
		}
	}
	taken := w.Writer
	taken.ID++
	if got, err := w.Forge.Permission(ctx, w.Repo, taken); err == nil || got != vcs.PermissionNone {
		t.Errorf("an account whose login is another's now has %s, %v; want an error", got, err)
	}
}

func invalidCase(ctx context.Context, t T, w World) {
	for _, name := range []string{"", "..", "a/b", "-x", "a b", "x?y", "x.git"} {
		r := w.Repo
		r.Name = name
		_, err := w.Forge.Repo(ctx, r)
		wantErr(t, "repository "+name, err, vcs.ErrInvalid)
		_, err = w.Forge.Remote(ctx, r, vcs.Read)
		wantErr(t, "remote of "+name, err, vcs.ErrInvalid)
	}
	for _, login := range []string{"", "a/b", "a?b", ".."} {
		_, err := w.Forge.Permission(ctx, w.Repo, vcs.Actor{ID: 1, Login: login})
		wantErr(t, "permission of "+login, err, vcs.ErrInvalid)
	}
	_, err := w.Forge.Issue(ctx, vcs.Thread{Repo: w.Repo})
	wantErr(t, "issue 0", err, vcs.ErrInvalid)
	_, err = w.Forge.PutComment(ctx, w.Issue.Thread, vcs.StickyComment{Marker: "a --> b", Body: "x"})
	wantErr(t, "marker", err, vcs.ErrInvalid)
	_, err = w.Forge.Permission(ctx, w.Repo, vcs.Actor{Login: w.Writer.Login})
	wantErr(t, "permission of an account without id", err, vcs.ErrInvalid)
}

func notFoundCase(ctx context.Context, t T, w World) {
	r := w.Repo
	r.Name = "no-such-repository"
	_, err := w.Forge.Repo(ctx, r)
	wantErr(t, "repository", err, vcs.ErrNotFound)
	_, err = w.Forge.Issue(ctx, vcs.Thread{Repo: w.Repo, Number: 99999})
	wantErr(t, "issue", err, vcs.ErrNotFound)
	_, err = w.Forge.PullRequest(ctx, vcs.Thread{Repo: w.Repo, Number: 99999, PullRequest: true})
	wantErr(t, "pull request", err, vcs.ErrNotFound)
	if p, err := w.Forge.Permission(ctx, r, w.Writer); p != vcs.PermissionNone {
		t.Errorf("permission on a repository that is not there: %s, %v", p, err)
	}
}

func canceledCase(ctx context.Context, t T, w World) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err := w.Forge.Issue(ctx, w.Issue.Thread)
	wantErr(t, "issue", err, context.Canceled)
	_, err = w.Forge.PutComment(ctx, w.Issue.Thread, vcs.StickyComment{Marker: "m", Body: "x"})
	wantErr(t, "comment", err, context.Canceled)
}

func issueCase(ctx context.Context, t T, w World) {
	i, err := w.Forge.Issue(ctx, w.Issue.Thread)
	must(t, err)
	if i.Thread != w.Issue.Thread || i.Title != w.Issue.Title || i.Body != w.Issue.Body || !i.Author.Is(w.Writer) || !i.Open || i.Truncated {
		t.Errorf("issue is %+v, want %+v", i, w.Issue)
	}
	if len(i.Comments) != 1 || i.Comments[0].CommentRef != w.Comment.CommentRef || i.Comments[0].Body != w.Comment.Body || !i.Comments[0].Author.Is(w.Reader) {
		t.Errorf("comments are %+v, want %+v", i.Comments, w.Comment)
	}
	c, err := w.Forge.Issue(ctx, w.Pull.Thread)
	must(t, err)
	if !c.PullRequest || c.Title != w.Pull.Title {
		t.Errorf("conversation of the pull request is %+v", c)
	}
}

func stickyCase(ctx context.Context, t T, w World) {
	for _, th := range []vcs.Thread{w.Issue.Thread, w.Pull.Thread} {
		if th.Number == 0 {
			continue // a forge without pull requests
		}
		before := len(w.Seen(th))
		first, err := w.Forge.PutComment(ctx, th, vcs.StickyComment{Marker: "progress:1", Body: "working"})
		must(t, err)
		again, err := w.Forge.PutComment(ctx, th, vcs.StickyComment{Marker: "progress:1", Body: "done"})
		must(t, err)
		other, err := w.Forge.PutComment(ctx, th, vcs.StickyComment{Marker: "progress:12", Body: "another"})
		must(t, err)
		if first.ID == 0 || again.ID != first.ID || other.ID == first.ID {
			t.Errorf("comments %d, %d, %d: want the first two the same", first.ID, again.ID, other.ID)
		}
		seen := w.Seen(th)[before:]
		if len(seen) != 2 || !strings.Contains(seen[0].Body, "done") || strings.Contains(seen[0].Body, "working") {
			t.Errorf("the thread has %+v", seen)
		}
	}
}

// forgedCase: only the own account's marker counts, and only where the driver
// puts it.
func forgedCase(ctx context.Context, t T, w World) {
	th := w.Issue.Thread
	own, err := w.Forge.PutComment(ctx, th, vcs.StickyComment{Marker: "x", Body: "mine"})
	must(t, err)
	forged := w.Seen(th)[len(w.Seen(th))-1].Body
	must(t, w.Say(th.Number, w.Reader.Login, strings.ReplaceAll(forged, ":x ", ":y ")))
	y, err := w.Forge.PutComment(ctx, th, vcs.StickyComment{Marker: "y", Body: "mine too"})
	must(t, err)
	seen := w.Seen(th)
	last := seen[len(seen)-1]
	if y.ID == own.ID || last.ID != y.ID || last.Author.Is(w.Reader) {
		t.Errorf("comment %d was taken for an own one: %+v", y.ID, seen)
	}
}

func longCase(ctx context.Context, t T, w World) {
	body := strings.Repeat("A paragraph of some words.\n\n", 50_000) // over a megabyte
	got, err := w.Forge.PutComment(ctx, w.Issue.Thread, vcs.StickyComment{Marker: "long", Body: body})
	must(t, err)
	again, err := w.Forge.PutComment(ctx, w.Issue.Thread, vcs.StickyComment{Marker: "long", Body: body})
	must(t, err)
	if again.ID != got.ID {
		t.Errorf("the cut comment was not found again: %d, then %d", got.ID, again.ID)
	}
}

func reactionCase(ctx context.Context, t T, w World) {
	refs := []vcs.CommentRef{w.Comment.CommentRef, {Kind: vcs.ThreadBody}}
	for range 2 {
		for _, ref := range refs {
			must(t, w.Forge.React(ctx, w.Issue.Thread, ref, vcs.ReactionEyes))
		}
	}
	left := w.Left(w.Issue.Number)
	if len(left) != 2 || left[0].On != refs[0] || left[1].On != refs[1] || left[0].Reaction != vcs.ReactionEyes {
		t.Errorf("reactions are %+v", left)
	}
	err := w.Forge.React(ctx, w.Issue.Thread, vcs.CommentRef{Kind: vcs.IssueComment, ID: 1}, vcs.ReactionEyes)
	wantErr(t, "reaction on no comment", err, vcs.ErrNotFound)
}

func remoteCase(ctx context.Context, t T, w World) {
	for _, a := range []vcs.Access{vcs.Read, vcs.Write} {
		r, err := w.Forge.Remote(ctx, w.Repo, a)
		must(t, err)
		if r.URL == "" || r.Username == "" || r.Password == "" || strings.Contains(r.URL, r.Password.Reveal()) || strings.Contains(r.URL, "@") {
			t.Errorf("%s remote is %+v", a, r)
		}
	}
	_, err := w.Forge.Remote(ctx, w.Repo, "admin")
	wantErr(t, "remote for an unknown access", err, vcs.ErrInvalid)
}

func pullCase(ctx context.Context, t T, w World) {
	p, err := w.Forge.PullRequest(ctx, w.Pull.Thread)
	must(t, err)
	if p.Thread != w.Pull.Thread || p.Head != w.Pull.Head || p.Base != w.Pull.Base || !p.Open || p.Merged || p.Draft || p.FromFork() || !p.Author.Is(w.Writer) {
		t.Errorf("pull request is %+v, want %+v", p, w.Pull)
	}
}
