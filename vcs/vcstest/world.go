package vcstest

import (
	"github.com/greenwright/greenwright/vcs"
)

// World furnishes a simulated GitHub for the conformance suite, with the
// driver that is to be tested on it.
func (g *GitHub) World(t T, f vcs.Forge) World {
	t.Helper()
	repo, err := g.CreateRepo("acme", "widgets", map[string]string{
		"mean.go": "package widgets\n", ".github/workflows/ci.yml": "on: push\n",
	})
	must(t, err)
	repo.SetPrivate(true)
	w := World{
		Forge: f, Repo: repo.Ref(), Head: "greenwright/1-fix", Base: "main",
		Writer: g.CreateUser("ada"), Reader: g.CreateUser("bob"), Stranger: g.CreateUser("eve"), Maintainer: g.CreateUser("max"),
		Seen: repo.Comments, Left: repo.Reactions, Asked: repo.RequestedReviewers,
		Say: func(n int, login, body string) error { _, err := repo.Comment(n, login, body); return err },
	}
	must(t, repo.SetPermission("ada", vcs.PermissionWrite))
	must(t, repo.SetPermission("bob", vcs.PermissionRead))
	must(t, repo.SetRole("max", "release captain", vcs.PermissionMaintain))
	w.Issue, err = repo.OpenIssue("ada", "Division by zero", "It panics on an empty list.")
	must(t, err)
	w.Comment, err = repo.Comment(w.Issue.Number, "bob", "Here too.")
	must(t, err)
	_, err = repo.PushCommit(w.Head, map[string]string{"fix.go": "package widgets\n"}, "Fix")
	must(t, err)
	w.furnishPull(t, repo)
	return w
}

func (w *World) furnishPull(t T, repo *Repo) {
	t.Helper()
	sha, err := repo.PushCommit("guard", map[string]string{"guard.go": "package widgets\n"}, "Guard")
	must(t, err)
	w.Pull, err = repo.OpenPull("ada", "guard", "main", "Guard the mean", "Closes #1")
	must(t, err)
	w.Review, err = repo.SubmitReview("bob", w.Pull.Number, vcs.ReviewChangesRequested, "Two things.",
		Remark{Path: "guard.go", StartLine: 1, Line: 2, Body: "Return an error."}, Remark{Path: "guard.go", Line: 1, Body: "Typo."})
	must(t, err)
	_, err = repo.SubmitReview("ada", w.Pull.Number, vcs.ReviewCommented, "", Remark{InReplyTo: w.Review.Remarks[0].ID, Body: "Which?"})
	must(t, err)
	must(t, repo.ResolveThread(w.Review.Remarks[1].ID))
	must(t, repo.OutdateThread(w.Review.Remarks[1].ID))
	w.Red, err = repo.FinishCheck(CheckResult{
		SHA: sha, WorkflowPath: ".github/workflows/ci.yml", JobName: "test (1.26)", Conclusion: vcs.ConclusionFailure,
		Steps: []vcs.CheckStep{{Number: 1, Name: "checkout", Conclusion: vcs.ConclusionSuccess}, {Number: 2, Name: "go test", Conclusion: vcs.ConclusionFailure}},
		Log:   "##[error]Process completed with exit code 1.\n",
	})
	must(t, err)
	w.Foreign, err = repo.FinishCheck(CheckResult{SHA: sha, JobName: "coverage", App: "other-ci", Conclusion: vcs.ConclusionFailure})
	must(t, err)
}
