package webhooktest

import (
	"fmt"

	"github.com/greenwright/greenwright/vcs"
)

// Pipeline is a run of a project's CI.
type Pipeline struct {
	ID int64
	// Ref is the branch or tag; of a merge request's pipeline
	// refs/merge-requests/7/head.
	Ref, SHA string
	Tag      bool
	Source   string // push, merge_request_event, parent_pipeline, schedule, …
	Status   string
	// Pull is the merge request that it is of, or nil.
	Pull *vcs.PullRequest
	Jobs []Build
}

// Build is a job of a pipeline.
type Build struct {
	ID            int64
	Name, Status  string
	AllowFailure  bool
	FailureReason string // when it failed; empty is script_failure
}

// ended reports a status that a job or pipeline does not leave by itself.
func ended(status string) bool {
	return status == "success" || status == "failed" || status == "canceled" || status == "skipped"
}

func (s GitLabSite) endOf(status string) any {
	if !ended(status) {
		return nil
	}
	return moment(s.At)
}

func (b Build) reason() any {
	switch {
	case b.Status != "failed":
		return nil
	case b.FailureReason == "":
		return "script_failure"
	}
	return b.FailureReason
}

func (b Build) when() string {
	if b.Status == "manual" {
		return "manual"
	}
	return "on_success"
}

func runner() Object {
	return Object{"id": 12, "description": "runner-12", "runner_type": "instance_type", "active": true, "is_shared": true, "tags": []string{"linux"}}
}

// PipelineEvent is a pipeline that changed its status; by is who started it, and
// may be nobody.
func (s GitLabSite) PipelineEvent(p vcs.Repo, l Pipeline, by vcs.Actor) Hook {
	o := Object{
		"object_kind": "pipeline", "object_attributes": s.pipeline(p, l), "merge_request": nil, "user": s.user(by),
		"project": s.project(p), "commit": s.commit(p, l.SHA), "builds": s.builds(l, by),
	}
	if m := l.Pull; m != nil {
		o["merge_request"] = Object{
			"id": idOf(p, m.Number, true), "iid": m.Number, "title": m.Title, "source_branch": m.Head.Name, "source_project_id": p.ID,
			"target_branch": m.Base.Name, "target_project_id": p.ID, "state": stateOf(m.Open, m.Merged), "merge_status": "can_be_merged",
			"detailed_merge_status": "mergeable", "url": m.URL,
		}
	}
	return gitlabHook(PipelineHook, o)
}

func (s GitLabSite) pipeline(p vcs.Repo, l Pipeline) Object {
	ref := l.Ref
	if l.Pull != nil {
		ref = l.Pull.Head.Name // GitLab shows the source branch here, and the ref in its jobs
	}
	return Object{
		"id": l.ID, "iid": l.ID % 1000, "name": nil, "ref": ref, "tag": l.Tag, "sha": l.SHA, "before_sha": l.SHA, "source": l.Source,
		"status": l.Status, "detailed_status": l.Status, "stages": []string{"test"}, "created_at": moment(s.At),
		"finished_at": s.endOf(l.Status), "duration": 63, "queued_duration": 12, "variables": []any{}, "protected_ref": false,
		"url": fmt.Sprintf("%s/-/pipelines/%d", p.URL, l.ID),
	}
}

func (s GitLabSite) builds(l Pipeline, by vcs.Actor) []Object {
	out := []Object{}
	for _, b := range l.Jobs {
		out = append(out, Object{
			"id": b.ID, "stage": "test", "name": b.Name, "status": b.Status, "created_at": moment(s.At), "started_at": moment(s.At),
			"finished_at": s.endOf(b.Status), "duration": 17.1, "queued_duration": 3.5, "failure_reason": b.reason(), "when": b.when(),
			"manual": b.Status == "manual", "allow_failure": b.AllowFailure, "user": s.user(by), "runner": runner(),
			"artifacts_file": Object{"filename": nil, "size": nil}, "environment": nil,
		})
	}
	return out
}

// JobEvent is a job that changed its status.
func (s GitLabSite) JobEvent(p vcs.Repo, l Pipeline, b Build, by vcs.Actor) Hook {
	reason := b.reason()
	if reason == nil {
		reason = "unknown_failure" // what GitLab says of a job that has not failed
	}
	return gitlabHook(JobHook, Object{
		"object_kind": "build", "ref": l.Ref, "tag": l.Tag, "before_sha": l.SHA, "sha": l.SHA, "retries_count": 0, "build_id": b.ID,
		"build_name": b.Name, "build_stage": "test", "build_status": b.Status, "build_created_at": moment(s.At),
		"build_started_at": moment(s.At), "build_finished_at": s.endOf(b.Status), "build_duration": 17.1, "build_queued_duration": 3.5,
		"build_allow_failure": b.AllowFailure, "build_failure_reason": reason, "pipeline_id": l.ID, "runner": runner(),
		"project_id": p.ID, "project_name": p.Owner + " / " + p.Name, "user": s.user(by), "environment": nil, "project": s.project(p),
		"commit": Object{
			"id": l.ID, "name": nil, "sha": l.SHA, "message": "Change\n", "author_name": "Ada", "author_email": "[REDACTED]",
			"author_url": "mailto:ada@example.com", "status": l.Status, "duration": nil, "started_at": moment(s.At), "finished_at": nil,
		},
		"repository": Object{
			"name": p.Name, "url": "git@forge:" + p.FullName() + ".git", "description": "Parts for machines", "homepage": p.URL,
			"git_http_url": p.URL + ".git", "git_ssh_url": "git@forge:" + p.FullName() + ".git", "visibility_level": s.visibility(p),
		},
	})
}
