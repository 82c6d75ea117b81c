package vcstest

import (
	"context"
	"io"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

func openCase(ctx context.Context, t T, w World) {
	f, ok := w.Forge.(vcs.PullRequestOpener)
	if !ok {
		return
	}
	ask := vcs.NewPullRequest{Repo: w.Repo, Head: w.Head, Base: w.Base, Title: strings.Repeat("Guard the mean ", 40), Body: "Because.", Draft: true}
	p, err := f.OpenPullRequest(ctx, ask)
	must(t, err)
	if p.Number == 0 || !p.PullRequest || p.Head.Name != w.Head || p.Base.Name != w.Base || !p.Draft || !strings.HasPrefix(p.Title, "Guard the mean") {
		t.Errorf("opened %+v", p)
	}
	again, err := f.OpenPullRequest(ctx, ask)
	must(t, err)
	if again.Number != p.Number {
		t.Errorf("asking again opened #%d beside #%d", again.Number, p.Number)
	}
	ask.Head = "--upload-pack=x"
	_, err = f.OpenPullRequest(ctx, ask)
	wantErr(t, "head that is an option", err, vcs.ErrInvalid)
	ask.Head = "no-such-branch"
	_, err = f.OpenPullRequest(ctx, ask)
	wantErr(t, "head that is not there", err, vcs.ErrInvalid)
}

func editCase(ctx context.Context, t T, w World) {
	f, ok := w.Forge.(vcs.PullRequestOpener)
	if !ok {
		return
	}
	must(t, f.EditPullRequest(ctx, w.Pull.Thread, "", "Another body"))
	p, err := w.Forge.PullRequest(ctx, w.Pull.Thread)
	must(t, err)
	if p.Title != w.Pull.Title || p.Body != "Another body" {
		t.Errorf("after an edit of the body: %q, %q", p.Title, p.Body)
	}
	must(t, f.EditPullRequest(ctx, w.Pull.Thread, "Another title", ""))
	if p, err = w.Forge.PullRequest(ctx, w.Pull.Thread); err != nil || p.Title != "Another title" || p.Body != "Another body" {
		t.Errorf("after an edit of the title: %q, %q, %v", p.Title, p.Body, err)
	}
}

func reviewCase(ctx context.Context, t T, w World) {
	f, ok := w.Forge.(vcs.Reviewer)
	if !ok {
		return
	}
	r, err := f.Review(ctx, w.Pull.Thread, w.Review.ID)
	must(t, err)
	if r.ID != w.Review.ID || r.State != w.Review.State || r.Body != w.Review.Body || r.CommitSHA != w.Review.CommitSHA || !r.Author.Is(w.Reader) {
		t.Errorf("review is %+v, want %+v", r, w.Review)
	}
	if len(r.Remarks) != 2 {
		t.Fatalf("review has %d threads, want 2: %+v", len(r.Remarks), r.Remarks)
	}
	open, done, want := r.Remarks[0], r.Remarks[1], w.Review.Remarks[0]
	if open.ID != want.ID || open.Path != want.Path || open.Line != want.Line || open.StartLine != want.StartLine || open.Side != want.Side || open.Resolved || open.Outdated {
		t.Errorf("first thread is %+v, want %+v", open, want)
	}
	if len(open.Comments) != 2 || open.Comments[0].ID != open.ID || open.Comments[0].Kind != vcs.ReviewRemark {
		t.Errorf("first thread's comments are %+v", open.Comments)
	}
	if !done.Resolved || !done.Outdated {
		t.Errorf("second thread is %+v, want it resolved and outdated", done)
	}
	_, err = f.Review(ctx, w.Pull.Thread, 1)
	wantErr(t, "review that is not there", err, vcs.ErrNotFound)
}

func replyCase(ctx context.Context, t T, w World) {
	f, ok := w.Forge.(vcs.Reviewer)
	if !ok {
		return
	}
	id := w.Review.Remarks[0].ID
	first, err := f.ReplyToRemark(ctx, w.Pull.Thread, id, vcs.StickyComment{Marker: "r", Body: "Looking."})
	must(t, err)
	again, err := f.ReplyToRemark(ctx, w.Pull.Thread, id, vcs.StickyComment{Marker: "r", Body: "Fixed."})
	must(t, err)
	if first.ID == 0 || again.ID != first.ID || first.Kind != vcs.ReviewRemark {
		t.Errorf("replies %+v and %+v, want one", first, again)
	}
	said := threadIn(w.Reviewed(w.Pull.Number), id).Comments
	if len(said) != 3 || !strings.Contains(said[2].Body, "Fixed.") {
		t.Errorf("the thread has %+v", said)
	}
	r, err := f.Review(ctx, w.Pull.Thread, w.Review.ID)
	must(t, err)
	if got := threadIn([]vcs.Review{r}, id); w.RemarkByRemark != (got.ID == 0) {
		t.Errorf("the review read again has %+v", r.Remarks)
	}
	_, err = f.ReplyToRemark(ctx, w.Pull.Thread, 1, vcs.StickyComment{Marker: "r", Body: "x"})
	wantErr(t, "reply to nothing", err, vcs.ErrNotFound)
}

// threadIn finds the thread that a remark opened; the zero one when none has.
func threadIn(reviews []vcs.Review, id int64) vcs.ReviewThread {
	for _, r := range reviews {
		for _, th := range r.Remarks {
			if th.ID == id {
				return th
			}
		}
	}
	return vcs.ReviewThread{}
}

func requestCase(ctx context.Context, t T, w World) {
	f, ok := w.Forge.(vcs.Reviewer)
	if !ok {
		return
	}
	must(t, f.RequestReview(ctx, w.Pull.Thread, w.Reader))
	if got := w.Asked(w.Pull.Number); len(got) != 1 || got[0] != w.Reader.Login {
		t.Errorf("asked %v, want %s", got, w.Reader.Login)
	}
}

func checksCase(ctx context.Context, t T, w World) {
	f, ok := w.Forge.(vcs.CheckReader)
	if !ok {
		return
	}
	ks, err := f.Checks(ctx, w.Repo, w.Red.HeadSHA)
	must(t, err)
	if len(ks) != 2 {
		t.Fatalf("checks are %+v, want 2", ks)
	}
	got := ks[0]
	if got.ID != w.Red.ID || got.Name != w.Red.Name || !got.Completed || !got.Conclusion.Red() || got.HeadSHA != w.Red.HeadSHA ||
		len(got.PullRequests) != 1 || got.PullRequests[0] != w.Pull.Number {
		t.Errorf("check is %+v, want %+v", got, w.Red)
	}
	_, err = f.Checks(ctx, w.Repo, "main")
	wantErr(t, "checks of a branch", err, vcs.ErrInvalid)
}

func jobCase(ctx context.Context, t T, w World) {
	f, ok := w.Forge.(vcs.CheckReader)
	if !ok {
		return
	}
	j, err := f.CheckJob(ctx, w.Repo, w.Red)
	must(t, err)
	if j.WorkflowPath == "" || j.Name != w.Red.Name || j.HeadSHA != w.Red.HeadSHA || len(j.Steps) < 2 || !j.Steps[1].Conclusion.Red() || j.Steps[1].Number != 2 {
		t.Errorf("job is %+v", j)
	}
	for what, k := range map[string]vcs.Check{"a foreign check": w.Foreign, "no check": {}, "a check that is not there": {ID: 1, App: w.Red.App}} {
		_, err = f.CheckJob(ctx, w.Repo, k)
		wantErr(t, "job of "+what, err, vcs.ErrNotFound)
		_, err = f.CheckLog(ctx, w.Repo, k)
		wantErr(t, "log of "+what, err, vcs.ErrNotFound)
	}
}

func logCase(ctx context.Context, t T, w World) {
	f, ok := w.Forge.(vcs.CheckReader)
	if !ok {
		return
	}
	rc, err := f.CheckLog(ctx, w.Repo, w.Red)
	must(t, err)
	b, err := io.ReadAll(rc)
	must(t, err)
	must(t, rc.Close())
	if !strings.Contains(string(b), "exit code 1") {
		t.Errorf("log is %q", b)
	}
}
