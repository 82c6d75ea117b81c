package github

import (
	"fmt"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/greenwright/greenwright/vcs"
)

// maxLogin is above GitHub's 39 characters plus an enterprise's short code and
// the suffix of an app's account.
const maxLogin = 100

func validLogin(s string) bool {
	name := strings.TrimSuffix(s, "[bot]")
	if name == "" || len(s) > maxLogin {
		return false
	}
	for _, c := range []byte(name) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// actorOf converts an account; null (a deleted one) is the zero Actor.
func actorOf(u *gh.User) (vcs.Actor, error) {
	if u == nil {
		return vcs.Actor{}, nil
	}
	if u.GetID() <= 0 || !validLogin(u.GetLogin()) {
		return vcs.Actor{}, fmt.Errorf("%w: account %d %q", vcs.ErrInvalid, u.GetID(), u.GetLogin())
	}
	kind := vcs.KindBot
	if u.GetType() == "User" {
		kind = vcs.KindUser
	}
	return vcs.Actor{ID: u.GetID(), Login: u.GetLogin(), Kind: kind}, nil
}

func refOf(fullName string) (vcs.RepoRef, error) {
	owner, name, _ := strings.Cut(fullName, "/")
	ref := vcs.RepoRef{Forge: vcs.GitHub, Owner: owner, Name: name}
	return ref, ref.Validate()
}

func repoOf(r *gh.Repository) (vcs.Repo, error) {
	ref, err := refOf(r.GetFullName())
	if err != nil {
		return vcs.Repo{}, err
	}
	if b := r.GetDefaultBranch(); b != "" {
		if err := vcs.ValidateBranch(b); err != nil {
			return vcs.Repo{}, fmt.Errorf("default branch: %w", err)
		}
	}
	return vcs.Repo{
		RepoRef: ref, ID: r.GetID(), DefaultBranch: r.GetDefaultBranch(), Private: r.GetPrivate(),
		Fork: r.GetFork(), Archived: r.GetArchived(), URL: r.GetHTMLURL(),
	}, nil
}

func issueOf(t vcs.Thread, i *gh.Issue) (vcs.Issue, error) {
	author, err := actorOf(i.User)
	if err != nil {
		return vcs.Issue{}, err
	}
	t.PullRequest = i.IsPullRequest()
	labels := make([]string, 0, len(i.Labels))
	for _, l := range i.Labels {
		labels = append(labels, l.GetName())
	}
	return vcs.Issue{
		Thread: t, Title: i.GetTitle(), Body: i.GetBody(), Author: author, Open: i.GetState() == "open",
		Locked: i.GetLocked(), Labels: labels, CreatedAt: i.GetCreatedAt().Time, URL: i.GetHTMLURL(),
	}, nil
}

func commentOf(c *gh.IssueComment) (vcs.Comment, error) {
	author, err := actorOf(c.User)
	return vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: vcs.IssueComment, ID: c.GetID()}, Author: author, Body: c.GetBody(),
		CreatedAt: c.GetCreatedAt().Time, UpdatedAt: c.GetUpdatedAt().Time, URL: c.GetHTMLURL(),
	}, err
}

func remarkOf(c *gh.PullRequestComment) (vcs.Comment, error) {
	author, err := actorOf(c.User)
	return vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: vcs.ReviewRemark, ID: c.GetID()}, Author: author, Body: c.GetBody(),
		CreatedAt: c.GetCreatedAt().Time, UpdatedAt: c.GetUpdatedAt().Time, URL: c.GetHTMLURL(),
	}, err
}

func pullOf(t vcs.Thread, p *gh.PullRequest) (vcs.PullRequest, error) {
	author, err := actorOf(p.User)
	if err != nil {
		return vcs.PullRequest{}, err
	}
	head, err := branchOf(p.Head)
	if err != nil {
		return vcs.PullRequest{}, fmt.Errorf("head: %w", err)
	}
	base, err := branchOf(p.Base)
	if err != nil {
		return vcs.PullRequest{}, fmt.Errorf("base: %w", err)
	}
	t.PullRequest = true
	return vcs.PullRequest{
		Thread: t, Title: p.GetTitle(), Body: p.GetBody(), Author: author, Open: p.GetState() == "open",
		Merged: p.GetMerged() || !p.GetMergedAt().IsZero(), Draft: p.GetDraft(), Head: head, Base: base,
		MaintainerCanModify: p.GetMaintainerCanModify(), URL: p.GetHTMLURL(),
	}, nil
}

// branchOf converts a head or base. A head whose fork was deleted has the zero
// Repo and so is never taken for a branch of the base.
func branchOf(b *gh.PullRequestBranch) (vcs.Branch, error) {
	if err := vcs.ValidateBranch(b.GetRef()); err != nil {
		return vcs.Branch{}, err
	}
	if err := vcs.ValidateSHA(b.GetSHA()); err != nil {
		return vcs.Branch{}, err
	}
	out := vcs.Branch{Name: b.GetRef(), SHA: b.GetSHA()}
	if b.Repo == nil {
		return out, nil
	}
	ref, err := refOf(b.Repo.GetFullName())
	out.Repo = ref
	return out, err
}

// conclusionOf maps GitHub's spelling; an unknown one is neutral, which asks
// for nothing.
func conclusionOf(s string) vcs.Conclusion {
	switch s {
	case "cancelled":
		return vcs.ConclusionCanceled
	case "startup_failure":
		return vcs.ConclusionFailure
	case "", "success", "failure", "timed_out", "skipped", "neutral", "action_required", "stale":
		return vcs.Conclusion(s)
	}
	return vcs.ConclusionNeutral
}

// permissionLevel is the answer of GET …/collaborators/{login}/permission,
// with the members that go-github leaves out.
type permissionLevel struct {
	Permission string `json:"permission"`
	RoleName   string `json:"role_name"`
	User       *struct {
		ID          int64           `json:"id"`
		Permissions map[string]bool `json:"permissions"`
	} `json:"user"`
}

// level never exceeds what the member permission says, in which GitHub has
// resolved custom roles to admin, write, read or none.
func (p permissionLevel) level() (vcs.Permission, error) {
	base, err := vcs.ParsePermission(p.Permission)
	if err != nil {
		return vcs.PermissionNone, err
	}
	has := func(role string) bool { return p.RoleName == role || p.User.Permissions[role] }
	switch {
	case base == vcs.PermissionWrite && has("maintain"):
		return vcs.PermissionMaintain, nil
	case base == vcs.PermissionRead && has("triage"):
		return vcs.PermissionTriage, nil
	}
	return base, nil
}

// timeOf is the zero time for an absent one.
func timeOf(t *gh.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
