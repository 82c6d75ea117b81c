package vcstest

import (
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// position is where a discussion stands in the diff. The place is the one that
// the last push has left it at.
func position(d *discussion) object { return webhooktest.GitLabPosition(*d.at, d.base, d.head) }

func (c *gitlabCall) mergeObject(t *gitlabThread) object {
	p := t.pull
	o := c.threadObject(t)
	reviewers := []any{}
	for _, r := range t.reviewers {
		reviewers = append(reviewers, c.g.apiUser(r.by))
	}
	var sourceID, mergedAt any
	if t.source != nil {
		sourceID = t.source.meta.ID
	}
	if p.Merged {
		mergedAt = t.updated
	}
	maps.Copy(o, object{
		"draft": p.Draft, "work_in_progress": p.Draft, "source_branch": p.Head.Name, "target_branch": p.Base.Name, "source_project_id": sourceID,
		"target_project_id": t.project.meta.ID, "sha": p.Head.SHA, "merge_status": "can_be_merged", "detailed_merge_status": "mergeable",
		"reviewers": reviewers, "merged_at": mergedAt, "merge_commit_sha": nil, "squash_commit_sha": nil, "squash": false, "merge_user": nil,
		"should_remove_source_branch": nil, "force_remove_source_branch": nil, "has_conflicts": false, "blocking_discussions_resolved": true,
		"prepared_at": t.issue.CreatedAt, "time_stats": object{"time_estimate": 0, "total_time_spent": 0},
	})
	maps.Copy(o, t.settings)
	if t.source != t.project {
		o["allow_collaboration"], o["allow_maintainer_to_push"] = p.MaintainerCanModify, p.MaintainerCanModify
	}
	return o
}

// whole is a merge request by itself, which shows more than one in a listing.
func (c *gitlabCall) whole(t *gitlabThread) object {
	o := c.mergeObject(t)
	o["diff_refs"] = object{"base_sha": t.startSHA, "start_sha": t.startSHA, "head_sha": t.pull.Head.SHA}
	o["changes_count"], o["first_contribution"], o["subscribed"], o["user"] = "1", false, false, object{"can_merge": true}
	return o
}

func getMerge(c *gitlabCall) reply {
	t := c.place()
	if t == nil {
		return missingThing("Not found")
	}
	return ok(c.whole(t))
}

func listMerges(c *gitlabCall) reply {
	q := c.r.URL.Query()
	rows := c.project.row(true)
	slices.Reverse(rows) // newest first
	var all []any
	for _, t := range rows {
		state := q.Get("state")
		if (state == "" || state == "all" || state == t.state()) && isOr(q.Get("source_branch"), t.pull.Head.Name) &&
			isOr(q.Get("target_branch"), t.pull.Base.Name) && isOr(q.Get("author_id"), strconv.FormatInt(t.pull.Author.ID, 10)) {
			all = append(all, c.mergeObject(t))
		}
	}
	return c.list(all)
}

// isOr reports whether a filter is empty or lets the value through.
func isOr(filter, value string) bool { return filter == "" || filter == value }

// mergeInput is what is read of a merge request.
type mergeInput struct {
	SourceBranch       string  `json:"source_branch"`
	TargetBranch       *string `json:"target_branch"`
	TargetProjectID    int64   `json:"target_project_id"`
	Title              *string `json:"title"`
	Description        *string `json:"description"`
	StateEvent         *string `json:"state_event"`
	ReviewerIDs        []int64 `json:"reviewer_ids"`
	AssigneeIDs        []int64 `json:"assignee_ids"`
	Labels             string  `json:"labels"`
	RemoveSourceBranch *bool   `json:"remove_source_branch"`
	Squash             *bool   `json:"squash"`
	AllowCollaboration *bool   `json:"allow_collaboration"`
	DiscussionLocked   *bool   `json:"discussion_locked"`
}

func (c *gitlabCall) mergeInput() (in mergeInput, rep reply, good bool) {
	if rep, good := c.decode(&in); !good {
		return in, rep, false
	}
	if in.Title != nil && (*in.Title == "" || len([]rune(*in.Title)) > maxGitLabTitle) || in.Description != nil && tooLongText(*in.Description) {
		c.g.fault("%s %s: title or description is empty or too long", c.r.Method, c.r.URL.Path)
		return in, reply{status: http.StatusBadRequest, body: object{"message": object{"title": []string{"is too long (maximum is 255 characters)"}}}}, false
	}
	return in, reply{}, true
}

// createMergeRequest needs a developer; the source is a branch of this project.
func createMergeRequest(c *gitlabCall) reply {
	if c.project.levelOf(c.actor()) < developer {
		return c.forbid("developer")
	}
	in, rep, good := c.mergeInput()
	if !good {
		return rep
	}
	if in.SourceBranch == "" || in.TargetBranch == nil || in.Title == nil {
		return c.bad("source_branch, target_branch or title is missing")
	}
	if rep, good := c.mayMerge(in); !good {
		return rep
	}
	t, err := c.project.addPull(c.actor(), c.project, in.SourceBranch, *in.TargetBranch, *in.Title)
	if err != nil {
		c.g.fault("opening a merge request: %v", err)
		return gitlabRefuse(http.StatusInternalServerError, "500 Internal Server Error")
	}
	if in.Description != nil {
		c.written(t, in.Description)
		t.setBody(*in.Description)
	}
	t.set(in)
	c.ask(t, in.ReviewerIDs)
	t.emitThread("open", c.actor(), "", nil)
	return created(c.whole(t))
}

// mayMerge refuses what GitLab does.
func (c *gitlabCall) mayMerge(in mergeInput) (reply, bool) {
	if in.TargetProjectID != 0 && in.TargetProjectID != c.project.meta.ID {
		return c.bad("target_project_id: another project"), false
	}
	for _, t := range c.project.row(true) {
		if t.pull.Open && t.source == c.project && t.pull.Head.Name == in.SourceBranch && t.pull.Base.Name == *in.TargetBranch {
			return reply{status: http.StatusConflict, body: object{"message": []string{
				"Another open merge request already exists for this source branch: !" + strconv.Itoa(t.issue.Number),
			}}}, false
		}
	}
	if c.project.tips[in.SourceBranch] == "" || c.project.tips[*in.TargetBranch] == "" {
		// GitLab makes one that can never be merged: nobody means that.
		return c.bad("source_branch or target_branch is not there"), false
	}
	return reply{}, true
}

// set keeps the settings of a merge request.
func (t *gitlabThread) set(in mergeInput) {
	if t.settings == nil {
		t.settings = object{}
	}
	if in.RemoveSourceBranch != nil {
		t.settings["force_remove_source_branch"] = *in.RemoveSourceBranch
	}
	if in.Squash != nil {
		t.settings["squash"] = *in.Squash
	}
}

// editMerge needs the author, or a developer.
func editMerge(c *gitlabCall) reply {
	t := c.place()
	if t == nil {
		return missingThing("Not found")
	}
	if c.project.levelOf(c.actor()) < developer && !t.issue.Author.Is(c.actor()) {
		return c.forbid("developer, or the author")
	}
	in, rep, good := c.mergeInput()
	if !good {
		return rep
	}
	if in.SourceBranch != "" {
		return c.bad("source_branch cannot be changed")
	}
	c.change(t, in)
	t.touch()
	t.emitThread("update", c.actor(), "", nil)
	return ok(c.whole(t))
}

func (c *gitlabCall) change(t *gitlabThread, in mergeInput) {
	if in.Title != nil {
		t.setTitle(*in.Title)
	}
	if in.Description != nil { // quick actions in an edited description are executed too
		c.written(t, in.Description)
		t.setBody(*in.Description)
	}
	if in.StateEvent != nil {
		t.setOpen(*in.StateEvent == "reopen")
	}
	t.set(in)
	if in.ReviewerIDs != nil {
		t.reviewers = slices.DeleteFunc(t.reviewers, func(r *gitlabReviewer) bool { return !slices.Contains(in.ReviewerIDs, r.by.ID) })
		c.ask(t, in.ReviewerIDs)
	}
}

// ask adds reviewers; GitLab leaves out, in silence, who cannot see the merge
// request.
func (c *gitlabCall) ask(t *gitlabThread, ids []int64) {
	for _, id := range ids {
		if a, there := c.g.byID(id); there && c.project.readsCode(a) {
			t.askTo(a)
		}
	}
}

func listReviewers(c *gitlabCall) reply {
	t := c.place()
	if t == nil {
		return missingThing("Not found")
	}
	var all []any
	for _, r := range t.reviewers {
		all = append(all, object{"user": c.g.apiUser(r.by), "state": r.state, "created_at": c.g.now()})
	}
	return c.list(all)
}

func listDiscussions(c *gitlabCall) reply {
	t := c.place()
	if t == nil {
		return missingThing("Not found")
	}
	var all []any
	for _, d := range t.discussions {
		if notes := c.seen(d.notes); len(notes) > 0 {
			all = append(all, c.discussionObject(t, d, notes))
		}
	}
	return c.list(all)
}

func (c *gitlabCall) discussionObject(t *gitlabThread, d *discussion, notes []*gitlabNote) object {
	out := make([]object, 0, len(notes))
	for _, n := range notes {
		out = append(out, c.noteObject(t, d, n))
	}
	return object{"id": d.id, "individual_note": d.individual, "notes": out}
}

// replyInDiscussion answers in a discussion; a note that stands alone becomes one
// by it.
func replyInDiscussion(c *gitlabCall) reply {
	t := c.place()
	if t == nil {
		return missingThing("Not found")
	}
	i := slices.IndexFunc(t.discussions, func(d *discussion) bool { return d.id == c.r.PathValue("discussion") })
	if i < 0 {
		return missingThing("Discussion")
	}
	in, rep, good := c.noteInput()
	if !good {
		return rep
	}
	return c.post(t, t.discussions[i].widen, in)
}
