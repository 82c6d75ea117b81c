package webhooktest

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// GitLabSite builds the payloads of one GitLab.
type GitLabSite struct {
	// URL is what people see, a path below the host included.
	URL string
	// At is the time of the change, used where vcs's types have none.
	At time.Time
	// Internal shows projects as visible to every account and nobody else.
	Internal bool
}

// GitLab's names of events, as the header has them.
const (
	NoteHook              = "Note Hook"
	ConfidentialNoteHook  = "Confidential Note Hook"
	IssueHook             = "Issue Hook"
	ConfidentialIssueHook = "Confidential Issue Hook"
	MergeRequestHook      = "Merge Request Hook"
	PipelineHook          = "Pipeline Hook"
	JobHook               = "Job Hook"
	PushHook              = "Push Hook"
)

// visibility is GitLab's number for who sees a project
// (docs.gitlab.com/api/projects, "Project visibility level").
func (s GitLabSite) visibility(p vcs.Repo) int {
	switch {
	case s.Internal:
		return 10
	case p.Private:
		return 0
	}
	return 20
}

// moment is a time as hooks have it, which is finer than a second where GitLab
// keeps it so.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Truncate(time.Millisecond).Format("2006-01-02T15:04:05.000Z")
}

// user is an account; the zero Actor is null, as where GitLab knows none. Hooks
// do not tell bots from people, but for their names.
func (s GitLabSite) user(a vcs.Actor) any {
	if a.ID == 0 {
		return nil
	}
	return Object{
		"id": a.ID, "name": a.Login, "username": a.Login, "email": "[REDACTED]",
		"avatar_url": fmt.Sprintf("%s/uploads/-/system/user/avatar/%d/avatar.png", s.URL, a.ID),
	}
}

// project is the project of a payload.
func (s GitLabSite) project(p vcs.Repo) Object {
	git, ssh := p.URL+".git", "git@forge:"+p.FullName()+".git"
	return Object{
		"id": p.ID, "name": p.Name, "description": "Parts for machines", "web_url": p.URL, "avatar_url": nil,
		"git_ssh_url": ssh, "git_http_url": git, "namespace": p.Owner, "visibility_level": s.visibility(p),
		"path_with_namespace": p.FullName(), "default_branch": p.DefaultBranch,
		"homepage": p.URL, "url": ssh, "ssh_url": ssh, "http_url": git,
	}
}

// repository is the older and shorter form that payloads carry as well.
func (s GitLabSite) repository(p vcs.Repo) Object {
	return Object{"name": p.Name, "url": "git@forge:" + p.FullName() + ".git", "description": "Parts for machines", "homepage": p.URL}
}

// gitlabLabels are labels of a project; their ids come from their names.
func gitlabLabels(project int64, titles []string) []Object {
	out := make([]Object, 0, len(titles))
	for _, t := range titles {
		out = append(out, Object{
			"id": labelID(t), "title": t, "color": "#ededed", "project_id": project, "created_at": "2024-01-02T03:04:05.000Z",
			"updated_at": "2024-01-02T03:04:05.000Z", "template": false, "description": nil, "type": "ProjectLabel", "group_id": nil,
		})
	}
	return out
}

func labelID(title string) int {
	n := 0
	for _, b := range []byte(title) {
		n = (n*31 + int(b)) % 1_000_000
	}
	return n + 1
}

// stateOf is GitLab's name for the state of an issue or merge request.
func stateOf(open, merged bool) string {
	switch {
	case merged:
		return "merged"
	case open:
		return "opened"
	}
	return "closed"
}

// idOf is a thread's id in the whole of GitLab, which differs from its number.
func idOf(p vcs.Repo, number int, isPull bool) int64 {
	id := p.ID*100_000 + int64(number)
	if isPull {
		id += 50_000
	}
	return id
}

// issue describes an issue, in its own payloads and in those of notes.
func (s GitLabSite) issue(p vcs.Repo, i vcs.Issue) Object {
	var closed any
	if !i.Open {
		closed = moment(s.At)
	}
	return Object{
		"id": idOf(p, i.Number, false), "iid": i.Number, "title": i.Title, "description": i.Body, "author_id": i.Author.ID,
		"project_id": p.ID, "state": stateOf(i.Open, false), "state_id": stateID(stateOf(i.Open, false)), "confidential": i.Confidential,
		"discussion_locked": i.Locked, "created_at": moment(i.CreatedAt), "updated_at": moment(s.At), "closed_at": closed,
		"labels": gitlabLabels(p.ID, i.Labels), "assignee_ids": []any{}, "assignee_id": nil, "milestone_id": nil, "due_date": nil,
		"last_edited_at": nil, "last_edited_by_id": nil, "updated_by_id": nil, "moved_to_id": nil, "duplicated_to_id": nil,
		"relative_position": nil, "time_estimate": 0, "total_time_spent": 0, "time_change": 0, "human_total_time_spent": nil,
		"human_time_change": nil, "human_time_estimate": nil, "weight": nil, "health_status": nil, "severity": "unknown",
		"type": "Issue", "url": i.URL,
	}
}

func stateID(state string) int {
	return map[string]int{"opened": 1, "closed": 2, "merged": 3}[state]
}

// pull describes a merge request; the zero from is a source project that was
// deleted.
func (s GitLabSite) pull(target, from vcs.Repo, m vcs.PullRequest) Object {
	var source, sourceID any
	if from.ID != 0 {
		source, sourceID = s.project(from), from.ID
	}
	state := stateOf(m.Open, m.Merged)
	return Object{
		"id": idOf(target, m.Number, true), "iid": m.Number, "title": m.Title, "description": m.Body, "author_id": m.Author.ID,
		"source_branch": m.Head.Name, "source_project_id": sourceID, "target_branch": m.Base.Name, "target_project_id": target.ID,
		"state": state, "state_id": stateID(state), "draft": m.Draft, "work_in_progress": m.Draft, "created_at": moment(s.At),
		"updated_at": moment(s.At), "assignee_ids": []any{}, "assignee_id": nil, "reviewer_ids": []any{}, "milestone_id": nil,
		"labels": []any{}, "source": source, "target": s.project(target), "last_commit": s.commit(target, m.Head.SHA),
		"merge_status": "can_be_merged", "detailed_merge_status": "mergeable", "blocking_discussions_resolved": true,
		"first_contribution": false, "head_pipeline_id": nil, "last_edited_at": nil, "last_edited_by_id": nil, "merge_commit_sha": nil,
		"merge_error": nil, "merge_params": Object{"force_remove_source_branch": "1"}, "merge_user_id": nil,
		"merge_when_pipeline_succeeds": false, "time_estimate": 0, "total_time_spent": 0, "time_change": 0,
		"human_total_time_spent": nil, "human_time_change": nil, "human_time_estimate": nil, "updated_by_id": nil, "url": m.URL,
		"prepared_at": moment(s.At), "target_branch_protected": true,
	}
}

// commit is null for a merge request without one.
func (s GitLabSite) commit(p vcs.Repo, sha string) any {
	if sha == "" {
		return nil
	}
	return Object{
		"id": sha, "message": "Change\n", "title": "Change", "timestamp": s.At.UTC().Truncate(time.Second).Format(time.RFC3339),
		"url": p.URL + "/-/commit/" + sha, "author": Object{"name": "Ada", "email": "[REDACTED]"},
	}
}

// GitLabPosition is where a thread stands in the diff from base to head, as both
// hooks and API have it.
func GitLabPosition(t vcs.ReviewThread, base, head string) Object {
	return place{&t, base, head}.object()
}

// place is where a note stands in the diff from base to head.
type place struct {
	*vcs.ReviewThread
	base, head string
}

// object is the position in GitLab's words.
func (p place) object() Object {
	o := Object{
		"base_sha": p.base, "start_sha": p.base, "head_sha": p.head, "old_path": p.Path, "new_path": p.Path, "position_type": "text",
		"old_line": nil, "new_line": nil, "line_range": nil, "ignore_whitespace_change": false,
	}
	o[p.side()+"_line"] = lineOf(p.Line)
	if p.StartLine > 0 {
		o["line_range"] = Object{"start": p.end(p.StartLine), "end": p.end(p.Line)}
	}
	return o
}

func (p place) side() string {
	if p.Side == "LEFT" {
		return "old"
	}
	return "new"
}

func (p place) end(line int) Object {
	o := Object{"line_code": p.code(line), "type": p.side(), "old_line": nil, "new_line": nil}
	o[p.side()+"_line"] = line
	return o
}

// code names a line: the path's digest and both numbers.
func (p place) code(line int) string {
	sum := sha1.Sum([]byte(p.Path))
	if p.Side == "LEFT" {
		return fmt.Sprintf("%s_%d_0", hex.EncodeToString(sum[:]), line)
	}
	return fmt.Sprintf("%s_0_%d", hex.EncodeToString(sum[:]), line)
}

func lineOf(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// gitlabHook marshals a payload; its parts are built here, so it cannot fail.
func gitlabHook(name string, o Object) Hook {
	b, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("marshalling a payload built of plain values: %v", err))
	}
	return Hook{Name: name, Body: b}
}

// named is the name and event_type of what perhaps not everybody may see.
func named(hidden bool, name, kind string) (hookName, eventType string) {
	if hidden {
		return "Confidential " + name, "confidential_" + kind
	}
	return name, kind
}
