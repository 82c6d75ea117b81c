package webhooktest

import (
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// Sample is a consistent set of objects to build payloads from.
type Sample struct {
	Site
	Repo    vcs.Repo
	User    vcs.Actor
	Issue   vcs.Issue
	Comment vcs.Comment
	PR      vcs.PullRequest
	Check   vcs.Check
}

// NewSample is one issue with one comment, and one pull request with one red
// check, of one repository.
func NewSample() Sample {
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	const u = "https://github.example"
	repo := vcs.Repo{
		RepoRef: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"},
		ID:      35129377, DefaultBranch: "main", URL: u + "/acme/widgets",
	}
	user := vcs.Actor{ID: 6752317, Login: "ada", Kind: vcs.KindUser}
	issue := vcs.Issue{
		Thread: vcs.Thread{Repo: repo.RepoRef, Number: 7}, Title: "Division by zero", Body: "It panics on an empty list.",
		Author: user, Open: true, Labels: []string{"bug"}, CreatedAt: at, URL: u + "/acme/widgets/issues/7",
	}
	comment := vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: vcs.IssueComment, ID: 99262140}, Author: user, Body: "/agent fix",
		CreatedAt: at, UpdatedAt: at, URL: issue.URL + "#issuecomment-99262140",
	}
	const sha = "8bd1f2e5a9c34d7f8e6b0a1c2d3e4f5061728394"
	pull := vcs.PullRequest{
		Thread: vcs.Thread{Repo: repo.RepoRef, Number: 8, PullRequest: true}, Title: "Guard the mean", Author: user, Open: true,
		Head: vcs.Branch{Repo: repo.RepoRef, Name: "guard", SHA: sha},
		Base: vcs.Branch{Repo: repo.RepoRef, Name: "main", SHA: "0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c"},
		URL:  u + "/acme/widgets/pull/8",
	}
	check := vcs.Check{
		ID: 128620228, Name: "test", App: "github-actions", HeadSHA: sha, HeadBranch: "guard", Completed: true,
		Conclusion: vcs.ConclusionFailure, URL: u + "/acme/widgets/actions/runs/1/job/128620228", PullRequests: []int{8},
	}
	return Sample{Site: Site{URL: u, At: at}, Repo: repo, User: user, Issue: issue, Comment: comment, PR: pull, Check: check}
}
