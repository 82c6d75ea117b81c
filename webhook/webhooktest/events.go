package webhooktest

import (
	"encoding/json"
	"fmt"

	"github.com/greenwright/greenwright/vcs"
)

// hook marshals a payload; its parts are built here, so it cannot fail.
func (s Site) hook(name, action string, repo vcs.Repo, sender vcs.Actor, parts Object) Hook {
	o := Object{
		"repository": s.Repo(repo), "sender": s.User(sender),
		"installation": Object{"id": 42, "node_id": nodeID("Integration", 42)},
	}
	if action != "" {
		o["action"] = action
	}
	for k, v := range parts {
		o[k] = v
	}
	b, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("marshalling a payload built of plain values: %v", err))
	}
	return Hook{Name: name, Body: b}
}

// IssueComment is issue_comment: action created, edited or deleted. previous
// is the text before an edit.
func (s Site) IssueComment(action string, repo vcs.Repo, i vcs.Issue, c vcs.Comment, sender vcs.Actor, previous string) Hook {
	parts := Object{"issue": s.Issue(i), "comment": s.Comment(i.Thread, c)}
	if action == "edited" {
		parts["changes"] = Object{"body": Object{"from": previous}}
	}
	return s.hook("issue_comment", action, repo, sender, parts)
}

// Issues is issues: opened, closed and the like. extra adds members: label,
// assignee, changes.
func (s Site) Issues(action string, repo vcs.Repo, i vcs.Issue, sender vcs.Actor, extra Object) Hook {
	parts := Object{"issue": s.Issue(i)}
	for k, v := range extra {
		parts[k] = v
	}
	return s.hook("issues", action, repo, sender, parts)
}

// Pull is pull_request: opened, synchronize, closed and the like.
func (s Site) Pull(action string, base vcs.Repo, head *vcs.Repo, p vcs.PullRequest, sender vcs.Actor, extra Object) Hook {
	parts := Object{"number": p.Number, "pull_request": s.PullRequest(p, base, head)}
	for k, v := range extra {
		parts[k] = v
	}
	return s.hook("pull_request", action, base, sender, parts)
}

// ReviewEvent is pull_request_review submitted.
func (s Site) ReviewEvent(base vcs.Repo, head *vcs.Repo, p vcs.PullRequest, r vcs.Review) Hook {
	return s.hook("pull_request_review", "submitted", base, r.Author, Object{
		"review": s.Review(p.Thread, r, string(r.State)), "pull_request": s.PullRequest(p, base, head),
	})
}

// RemarkEvent is pull_request_review_comment created, for the n-th comment of
// the review's thread.
func (s Site) RemarkEvent(base vcs.Repo, head *vcs.Repo, p vcs.PullRequest, reviewID int64, t vcs.ReviewThread, n int) Hook {
	return s.hook("pull_request_review_comment", "created", base, t.Comments[n].Author, Object{
		"comment": s.Remark(p.Thread, reviewID, p.Head.SHA, t, n), "pull_request": s.PullRequest(p, base, head),
	})
}

// CheckRunEvent is check_run: created or completed. GitHub names whoever
// pushed the commit as the sender.
func (s Site) CheckRunEvent(action string, repo vcs.Repo, k vcs.Check, sender vcs.Actor) Hook {
	return s.hook("check_run", action, repo, sender, Object{"check_run": s.CheckRun(repo, k)})
}

// Push is push of a branch.
func (s Site) Push(repo vcs.Repo, branch, before, after string, sender vcs.Actor) Hook {
	return s.hook("push", "", repo, sender, Object{
		"ref": "refs/heads/" + branch, "before": before, "after": after, "created": false, "deleted": false,
		"forced": false, "base_ref": nil, "compare": s.URL, "commits": []any{}, "head_commit": nil,
		"pusher": Object{"name": sender.Login, "email": sender.Login + "@example.com"},
	})
}

// Ping is what GitHub sends when a hook is set up.
func (s Site) Ping(repo vcs.Repo, sender vcs.Actor) Hook {
	return s.hook("ping", "", repo, sender, Object{
		"zen": "Keep it logically awesome.", "hook_id": 292430182, "hook": Object{"id": 292430182, "type": "Repository", "active": true},
	})
}
