package webhooktest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// Object is a JSON object.
type Object = map[string]any

// Site builds the objects of one GitHub.
type Site struct {
	// URL is what people see, e.g. https://github.example.
	URL string
	// At is the time of the change, used where vcs's types have none.
	At time.Time
}

// htmlURL is the member that people's addresses are in.
const htmlURL = "html_url"

func (s Site) api() string { return s.URL + "/api/v3" }

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Truncate(time.Second).Format(time.RFC3339)
}

func nodeID(kind string, id int64) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "0%d:%s%d", len(kind), kind, id))
}

// User is an account; the zero Actor is null, as for a deleted one.
func (s Site) User(a vcs.Actor) any {
	if a.ID == 0 {
		return nil
	}
	kind := "User"
	if a.Kind == vcs.KindBot {
		kind = "Bot"
	}
	u := s.api() + "/users/" + a.Login
	o := Object{
		"login": a.Login, "id": a.ID, "node_id": nodeID("User", a.ID), "type": kind, "site_admin": false,
		"gravatar_id": "", "avatar_url": fmt.Sprintf("%s/avatars/u/%d?v=4", s.URL, a.ID), "url": u,
		htmlURL: s.URL + "/" + a.Login, "user_view_type": "public",
	}
	for _, part := range []string{"followers", "following{/other_user}", "gists{/gist_id}", "starred{/owner}{/repo}",
		"subscriptions", "orgs", "repos", "events{/privacy}", "received_events"} {
		name, _, _ := strings.Cut(part, "{")
		o[name+"_url"] = u + "/" + part
	}
	return o
}

// repoURLs are the templates that every repository object carries.
func repoURLs() []string {
	return []string{
		"forks", "keys{/key_id}", "collaborators{/collaborator}", "teams", "hooks", "issue_events{/number}", "events",
		"assignees{/user}", "branches{/branch}", "tags", "blobs{/sha}", "git_tags{/sha}", "git_refs{/sha}", "trees{/sha}",
		"statuses/{sha}", "languages", "stargazers", "contributors", "subscribers", "subscription", "commits{/sha}",
		"git_commits{/sha}", "comments{/number}", "issue_comment{/number}", "contents/{+path}", "compare/{base}...{head}",
		"merges", "archive{/ref}", "downloads", "issues{/number}", "pulls{/number}", "milestones{/number}",
		"notifications{?since,all,participating}", "labels{/name}", "releases{/id}", "deployments",
	}
}

// Repo is a repository. Its owner's id is derived from the repository's.
func (s Site) Repo(r vcs.Repo) Object {
	u := s.api() + "/repos/" + r.FullName()
	o := Object{
		"id": r.ID, "node_id": nodeID("Repository", r.ID), "name": r.Name, "full_name": r.FullName(),
		"private": r.Private, "fork": r.Fork, "archived": r.Archived, "disabled": false, "description": "Parts for machines",
		"owner": s.User(vcs.Actor{ID: r.ID + 1_000_000, Login: r.Owner, Kind: vcs.KindUser}),
		"url":   u, htmlURL: s.URL + "/" + r.FullName(), "default_branch": r.DefaultBranch,
		"clone_url": s.URL + "/" + r.FullName() + ".git", "git_url": "git://" + r.FullName() + ".git",
		"ssh_url": "git@forge:" + r.FullName() + ".git", "homepage": nil, "size": 1842, "stargazers_count": 12,
		"watchers_count": 12, "language": "Go", "has_issues": true, "has_projects": true, "has_downloads": true,
		"has_wiki": false, "has_pages": false, "has_discussions": false, "forks_count": 3, "mirror_url": nil,
		"open_issues_count": 7, "license": nil, "allow_forking": true, "is_template": false, "topics": []string{},
		"visibility": "public", "forks": 3, "open_issues": 7, "watchers": 12, "web_commit_signoff_required": false,
		"created_at": "2021-03-01T09:00:00Z", "updated_at": stamp(s.At), "pushed_at": stamp(s.At),
	}
	for _, part := range repoURLs() {
		name := part[:strings.IndexAny(part+"{", "/{")]
		o[name+"_url"] = u + "/" + part
	}
	return o
}

func labels(names []string) []Object {
	out := make([]Object, 0, len(names))
	for i, n := range names {
		out = append(out, Object{"id": 100 + i, "name": n, "color": "ededed", "default": false, "description": nil})
	}
	return out
}

func state(open bool) string {
	if open {
		return "open"
	}
	return "closed"
}

func (s Site) closedAt(open bool) any {
	if open {
		return nil
	}
	return stamp(s.At)
}

// Issue is an issue, or the issue side of a pull request.
func (s Site) Issue(i vcs.Issue) Object {
	u := fmt.Sprintf("%s/repos/%s/issues/%d", s.api(), i.Repo.FullName(), i.Number)
	o := Object{
		"id": 700_000 + i.Number, "node_id": nodeID("Issue", int64(i.Number)), "number": i.Number, "title": i.Title,
		"body": i.Body, "user": s.User(i.Author), "state": state(i.Open), "locked": i.Locked, "labels": labels(i.Labels),
		"assignee": nil, "assignees": []any{}, "milestone": nil, "comments": len(i.Comments), "state_reason": nil,
		"created_at": stamp(i.CreatedAt), "updated_at": stamp(s.At), "closed_at": s.closedAt(i.Open),
		"author_association": "COLLABORATOR", "active_lock_reason": nil, htmlURL: i.URL, "url": u,
		"repository_url": s.api() + "/repos/" + i.Repo.FullName(), "comments_url": u + "/comments",
		"labels_url": u + "/labels{/name}", "events_url": u + "/events", "timeline_url": u + "/timeline",
		"reactions": reactions(u), "performed_via_github_app": nil,
	}
	if i.PullRequest {
		p := fmt.Sprintf("%s/repos/%s/pulls/%d", s.api(), i.Repo.FullName(), i.Number)
		o["pull_request"] = Object{"url": p, htmlURL: i.URL, "diff_url": i.URL + ".diff", "patch_url": i.URL + ".patch", "merged_at": nil}
		o["draft"] = false
	}
	return o
}

func reactions(u string) Object {
	return Object{"url": u + "/reactions", "total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "hooray": 0, "confused": 0, "heart": 0, "rocket": 0, "eyes": 0}
}

// Comment is a comment in the thread's conversation.
func (s Site) Comment(t vcs.Thread, c vcs.Comment) Object {
	u := fmt.Sprintf("%s/repos/%s/issues/comments/%d", s.api(), t.Repo.FullName(), c.ID)
	return Object{
		"id": c.ID, "node_id": nodeID("IssueComment", c.ID), "body": c.Body, "user": s.User(c.Author),
		"created_at": stamp(c.CreatedAt), "updated_at": stamp(c.UpdatedAt), htmlURL: c.URL, "url": u,
		"issue_url":          fmt.Sprintf("%s/repos/%s/issues/%d", s.api(), t.Repo.FullName(), t.Number),
		"author_association": "COLLABORATOR", "reactions": reactions(u), "performed_via_github_app": nil,
	}
}

// PullRequest is a pull request; a nil head is one whose fork was deleted.
func (s Site) PullRequest(p vcs.PullRequest, base vcs.Repo, head *vcs.Repo) Object {
	u := fmt.Sprintf("%s/repos/%s/pulls/%d", s.api(), p.Repo.FullName(), p.Number)
	var headRepo any
	if head != nil {
		headRepo = s.Repo(*head)
	}
	var mergedAt any
	if p.Merged {
		mergedAt = stamp(s.At)
	}
	return Object{
		"id": 800_000 + p.Number, "node_id": nodeID("PullRequest", int64(p.Number)), "number": p.Number, "title": p.Title,
		"body": p.Body, "user": s.User(p.Author), "state": state(p.Open), "locked": false, "draft": p.Draft, "merged": p.Merged,
		"merged_at": mergedAt, "created_at": stamp(s.At), "updated_at": stamp(s.At), "closed_at": s.closedAt(p.Open),
		htmlURL: p.URL, "url": u, "diff_url": p.URL + ".diff", "patch_url": p.URL + ".patch",
		"issue_url":   fmt.Sprintf("%s/repos/%s/issues/%d", s.api(), p.Repo.FullName(), p.Number),
		"commits_url": u + "/commits", "review_comments_url": u + "/comments", "review_comment_url": u + "/comments{/number}",
		"labels": []any{}, "assignee": nil, "assignees": []any{}, "requested_reviewers": []any{}, "requested_teams": []any{},
		"milestone": nil, "auto_merge": nil, "author_association": "COLLABORATOR", "mergeable": true, "rebaseable": true,
		"mergeable_state": "clean", "comments": 0, "review_comments": 0, "maintainer_can_modify": p.MaintainerCanModify,
		"commits": 1, "additions": 3, "deletions": 1, "changed_files": 1, "merge_commit_sha": nil,
		"head": Object{"label": p.Head.Repo.Owner + ":" + p.Head.Name, "ref": p.Head.Name, "sha": p.Head.SHA, "repo": headRepo},
		"base": Object{"label": base.Owner + ":" + p.Base.Name, "ref": p.Base.Name, "sha": p.Base.SHA, "repo": s.Repo(base)},
	}
}

// Review is a submitted review. GitHub spells the state in capitals over REST
// and in small letters in webhooks.
func (s Site) Review(t vcs.Thread, r vcs.Review, state string) Object {
	return Object{
		"id": r.ID, "node_id": nodeID("PullRequestReview", r.ID), "user": s.User(r.Author), "body": r.Body, "state": state,
		"commit_id": r.CommitSHA, "submitted_at": stamp(r.SubmittedAt), htmlURL: r.URL, "author_association": "COLLABORATOR",
		"pull_request_url": fmt.Sprintf("%s/repos/%s/pulls/%d", s.api(), t.Repo.FullName(), t.Number),
	}
}

// Remark is the n-th comment of a review thread; the first opens it.
func (s Site) Remark(t vcs.Thread, reviewID int64, sha string, r vcs.ReviewThread, n int) Object {
	c := r.Comments[n]
	u := fmt.Sprintf("%s/repos/%s/pulls/comments/%d", s.api(), t.Repo.FullName(), c.ID)
	o := Object{
		"id": c.ID, "node_id": nodeID("PullRequestReviewComment", c.ID), "body": c.Body, "user": s.User(c.Author),
		"path": r.Path, "diff_hunk": r.DiffHunk, "side": r.Side, "start_side": nil, "start_line": nil, "line": r.Line,
		"original_line": r.Line, "original_start_line": nil, "position": 1, "original_position": 1, "subject_type": "line",
		"commit_id": sha, "original_commit_id": sha, "pull_request_review_id": reviewID,
		"created_at": stamp(c.CreatedAt), "updated_at": stamp(c.UpdatedAt), htmlURL: c.URL, "url": u,
		"pull_request_url":   fmt.Sprintf("%s/repos/%s/pulls/%d", s.api(), t.Repo.FullName(), t.Number),
		"author_association": "COLLABORATOR", "reactions": reactions(u),
	}
	if r.StartLine > 0 {
		o["start_line"], o["original_start_line"], o["start_side"] = r.StartLine, r.StartLine, r.Side
	}
	if r.Outdated {
		o["line"], o["position"], o["start_line"] = nil, nil, nil
	}
	if n > 0 {
		o["in_reply_to_id"] = r.ID
	}
	return o
}

// CheckRun is a check run of the app that k.App names.
func (s Site) CheckRun(repo vcs.Repo, k vcs.Check) Object {
	status, done := "in_progress", any(nil)
	var concl any
	if k.Completed {
		status, done, concl = "completed", stamp(s.At), wireConclusion(k.Conclusion)
	}
	pulls := make([]Object, 0, len(k.PullRequests))
	for _, n := range k.PullRequests {
		side := Object{"ref": k.HeadBranch, "sha": k.HeadSHA, "repo": Object{"id": repo.ID, "name": repo.Name, "url": s.api() + "/repos/" + repo.FullName()}}
		pulls = append(pulls, Object{"id": 800_000 + n, "number": n, "url": fmt.Sprintf("%s/repos/%s/pulls/%d", s.api(), repo.FullName(), n), "head": side, "base": side})
	}
	app := Object{"id": 15368, "slug": k.App, "node_id": "MDM6QXBwMTUzNjg=", "name": k.App, htmlURL: s.URL + "/apps/" + k.App}
	return Object{
		"id": k.ID, "node_id": nodeID("CheckRun", k.ID), "name": k.Name, "head_sha": k.HeadSHA, "status": status,
		"conclusion": concl, "started_at": stamp(s.At), "completed_at": done, htmlURL: k.URL, "details_url": k.URL,
		"external_id": "", "url": fmt.Sprintf("%s/repos/%s/check-runs/%d", s.api(), repo.FullName(), k.ID), "app": app,
		"output": Object{"title": nil, "summary": nil, "text": nil, "annotations_count": 0},
		"check_suite": Object{
			"id": k.ID + 1, "head_branch": k.HeadBranch, "head_sha": k.HeadSHA, "status": status, "conclusion": concl,
			"pull_requests": pulls, "app": app,
		},
		"pull_requests": pulls,
	}
}

func wireConclusion(c vcs.Conclusion) string {
	if c == vcs.ConclusionCanceled {
		return "cancelled"
	}
	return string(c)
}
