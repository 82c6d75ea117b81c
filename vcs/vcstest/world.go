package vcstest

import (
	"github.com/greenwright/greenwright/vcs"
)

// furnished is a repository of a simulated forge that a world can be set up in.
type furnished interface {
	Ref() vcs.RepoRef
	SetPrivate(private bool)
	SetPermission(login string, p vcs.Permission) error
	SetRole(login, role string, p vcs.Permission) error
	OpenIssue(login, title, body string) (vcs.Issue, error)
	Comment(number int, login, body string) (vcs.Comment, error)
	PushCommit(branch string, files map[string]string, message string) (sha string, err error)
	OpenPull(login, head, base, title, body string) (vcs.PullRequest, error)
	SubmitReview(login string, number int, state vcs.ReviewState, body string, remarks ...Remark) (vcs.Review, error)
	ResolveThread(id int64) error
	OutdateThread(id int64) error
	FinishCheck(res CheckResult) (vcs.Check, error)
	Reactions(number int) []Reacted
	RequestedReviewers(number int) []string
	Reviews(number int) []vcs.Review
}

var (
	_ furnished = (*Repo)(nil)
	_ furnished = (*Project)(nil)
)

// furniture is what differs between the worlds of two forges.
type furniture struct {
	account func(login string) vcs.Actor
	seen    func(vcs.Thread) []vcs.Comment
	// review is the text of a review as a whole, where a forge keeps one.
	review       string
	red, foreign CheckResult // on the pull request's head, which is added
}

// World furnishes a simulated GitHub for the conformance suite, with the
// driver that is to be tested on it.
func (g *GitHub) World(t T, f vcs.Forge) World {
	t.Helper()
	repo, err := g.CreateRepo("acme", "widgets", map[string]string{
		"mean.go": "package widgets\n", ".github/workflows/ci.yml": "on: push\n",
	})
	must(t, err)
	return furnish(t, f, repo, furniture{
		account: g.CreateUser, seen: func(th vcs.Thread) []vcs.Comment { return repo.Comments(th.Number) }, review: "Two things.",
		red: CheckResult{
			WorkflowPath: ".github/workflows/ci.yml", JobName: "test (1.26)", Conclusion: vcs.ConclusionFailure,
			Steps: []vcs.CheckStep{{Number: 1, Name: "checkout", Conclusion: vcs.ConclusionSuccess}, {Number: 2, Name: "go test", Conclusion: vcs.ConclusionFailure}},
			Log:   "##[error]Process completed with exit code 1.\n",
		},
		foreign: CheckResult{JobName: "coverage", App: "other-ci", Conclusion: vcs.ConclusionFailure},
	})
}

// furnish makes the accounts, the issue and the pull request of a world.
func furnish(t T, f vcs.Forge, repo furnished, with furniture) World {
	t.Helper()
	repo.SetPrivate(true)
	w := World{
		Forge: f, Repo: repo.Ref(), Head: "greenwright/1-fix", Base: "main",
		Writer: with.account("ada"), Reader: with.account("bob"), Stranger: with.account("eve"), Maintainer: with.account("max"),
		Seen: with.seen, Left: repo.Reactions, Asked: repo.RequestedReviewers, Reviewed: repo.Reviews,
		Say: func(n int, login, body string) error { _, err := repo.Comment(n, login, body); return err },
	}
	must(t, repo.SetPermission("ada", vcs.PermissionWrite))
	must(t, repo.SetPermission("bob", vcs.PermissionRead))
	must(t, repo.SetRole("max", "release captain", vcs.PermissionMaintain))
	var err error
	w.Issue, err = repo.OpenIssue("ada", "Division by zero", "It panics on an empty list.")
	must(t, err)
	w.Comment, err = repo.Comment(w.Issue.Number, "bob", "Here too.")
	must(t, err)
	_, err = repo.PushCommit(w.Head, map[string]string{"fix.go": "package widgets\n"}, "Fix")
	must(t, err)
	w.furnishPull(t, repo, with)
	return w
}

// furnishPull adds a pull request with a review and checks.
func (w *World) furnishPull(t T, repo furnished, with furniture) {
	t.Helper()
	sha, err := repo.PushCommit("guard", map[string]string{"guard.go": "package widgets\n"}, "Guard")
	must(t, err)
	w.Pull, err = repo.OpenPull("ada", "guard", "main", "Guard the mean", "Closes #1")
	must(t, err)
	w.Review, err = repo.SubmitReview("bob", w.Pull.Number, vcs.ReviewChangesRequested, with.review,
		Remark{Path: "guard.go", StartLine: 1, Line: 2, Body: "Return an error."}, Remark{Path: "guard.go", Line: 1, Body: "Typo."})
	must(t, err)
	_, err = repo.SubmitReview("ada", w.Pull.Number, vcs.ReviewCommented, "", Remark{InReplyTo: w.Review.Remarks[0].ID, Body: "Which?"})
	must(t, err)
	must(t, repo.ResolveThread(w.Review.Remarks[1].ID))
	must(t, repo.OutdateThread(w.Review.Remarks[1].ID))
	with.red.SHA, with.foreign.SHA = sha, sha
	w.Red, err = repo.FinishCheck(with.red)
	must(t, err)
	w.Foreign, err = repo.FinishCheck(with.foreign)
	must(t, err)
}
