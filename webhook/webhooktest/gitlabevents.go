package webhooktest

import (
	"maps"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// Note is a note with what vcs.Comment has no member for.
type Note struct {
	vcs.Comment
	// Discussion is the id of the discussion that it is in.
	Discussion string
	// System is GitLab's own note about what somebody did. GitLab sends no hook
	// of those any more; older versions did.
	System bool
	// Diff is where it stands in the diff from BaseSHA to HeadSHA; nil elsewhere.
	Diff *vcs.ReviewThread
	// Thread is a note in a discussion that is not on a diff.
	Thread           bool
	HeadSHA, BaseSHA string
}

func (n Note) kind() any {
	switch {
	case n.Diff != nil:
		return "DiffNote"
	case n.Thread:
		return "DiscussionNote"
	}
	return nil
}

// note is the object_attributes of a note on something.
func (s GitLabSite) note(action string, p vcs.Repo, n Note, by vcs.Actor, kind string, on any, commit string) Object {
	o := Object{
		"id": n.ID, "note": n.Body, "description": n.Body, "noteable_type": kind, "noteable_id": on, "author_id": n.Author.ID,
		"project_id": p.ID, "created_at": moment(n.CreatedAt), "updated_at": moment(n.UpdatedAt), "attachment": nil,
		"line_code": nil, "commit_id": commit, "system": n.System, "st_diff": nil, "type": n.kind(), "internal": n.Internal,
		"discussion_id": n.Discussion, "position": nil, "original_position": nil, "change_position": nil, "resolved_at": nil,
		"resolved_by_id": nil, "resolved_by_push": nil, "updated_by_id": nil, "action": action, "url": n.URL,
	}
	if action == "update" {
		o["updated_by_id"] = by.ID
	}
	if n.Diff != nil {
		at := place{n.Diff, n.BaseSHA, n.HeadSHA}
		o["position"], o["original_position"], o["line_code"] = at.object(), at.object(), at.code(n.Diff.Line)
	}
	return o
}

// noteHook is a payload about a note. GitLab names the note's author as its
// user, also when somebody else edits it.
func (s GitLabSite) noteHook(p vcs.Repo, n Note, hidden bool, attributes, on Object) Hook {
	name, kind := named(hidden || n.Internal, NoteHook, "note")
	o := Object{
		"object_kind": "note", "event_type": kind, "user": s.user(n.Author), "project_id": p.ID, "project": s.project(p),
		"object_attributes": attributes, "repository": s.repository(p),
	}
	maps.Copy(o, on)
	return gitlabHook(name, o)
}

// IssueNote is a note on an issue: action create or update.
func (s GitLabSite) IssueNote(action string, p vcs.Repo, i vcs.Issue, n Note, by vcs.Actor) Hook {
	attributes := s.note(action, p, n, by, "Issue", idOf(p, i.Number, false), "")
	return s.noteHook(p, n, i.Confidential, attributes, Object{"issue": s.issue(p, i)})
}

// MergeRequestNote is a note on a merge request, in its conversation or on its
// diff. The zero source is a project that was deleted.
func (s GitLabSite) MergeRequestNote(action string, p, source vcs.Repo, m vcs.PullRequest, n Note, by vcs.Actor) Hook {
	attributes := s.note(action, p, n, by, "MergeRequest", idOf(p, m.Number, true), "")
	return s.noteHook(p, n, false, attributes, Object{"merge_request": s.pull(p, source, m)})
}

// CommitNote is a note on a commit.
func (s GitLabSite) CommitNote(action string, p vcs.Repo, sha string, n Note, by vcs.Actor) Hook {
	return s.noteHook(p, n, false, s.note(action, p, n, by, "Commit", nil, sha), Object{"commit": s.commit(p, sha)})
}

// IssueEvent is open, close, reopen or update; changes are what an update
// changed, each with its previous and its current value.
func (s GitLabSite) IssueEvent(action string, p vcs.Repo, i vcs.Issue, by vcs.Actor, changes Object) Hook {
	name, kind := named(i.Confidential, IssueHook, "issue")
	attributes := s.issue(p, i)
	attributes["action"] = action
	return gitlabHook(name, Object{
		"object_kind": "issue", "event_type": kind, "user": s.user(by), "project": s.project(p), "repository": s.repository(p),
		"object_attributes": attributes, "labels": gitlabLabels(p.ID, i.Labels), "assignees": []any{}, "changes": orEmpty(changes),
	})
}

// MergeRequestEvent is open, close, reopen, merge, approved or update. A push
// to the source branch is an update that tells the head before.
func (s GitLabSite) MergeRequestEvent(action string, p, source vcs.Repo, m vcs.PullRequest, by vcs.Actor, oldSHA string, changes Object) Hook {
	attributes := s.pull(p, source, m)
	attributes["action"] = action
	if oldSHA != "" {
		attributes["oldrev"] = oldSHA
	}
	return gitlabHook(MergeRequestHook, Object{
		"object_kind": "merge_request", "event_type": "merge_request", "user": s.user(by), "project": s.project(p),
		"repository": s.repository(p), "object_attributes": attributes, "labels": []any{}, "changes": orEmpty(changes),
		"assignees": []any{}, "reviewers": []any{},
	})
}

func orEmpty(o Object) Object {
	if o == nil {
		return Object{}
	}
	return o
}

// PushEvent is a push to a branch; an object of zeros is none.
func (s GitLabSite) PushEvent(p vcs.Repo, branch, before, after string, by vcs.Actor) Hook {
	var checkout any
	if strings.Trim(after, "0") != "" {
		checkout = after
	}
	return gitlabHook(PushHook, Object{
		"object_kind": "push", "event_name": "push", "before": before, "after": after, "ref": "refs/heads/" + branch, "ref_protected": false,
		"checkout_sha": checkout, "message": nil, "user_id": by.ID, "user_name": by.Login, "user_username": by.Login, "user_email": nil,
		"user_avatar": nil, "project_id": p.ID, "project": s.project(p), "repository": s.repository(p), "commits": []any{},
		"total_commits_count": 1, "push_options": Object{},
	})
}
