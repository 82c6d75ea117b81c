package vcstest

import (
	"net/http"
	"slices"
	"strconv"
)

// listCommitMerges are the merge requests that bring a commit in.
func listCommitMerges(c *gitlabCall) reply {
	sha, state := c.r.PathValue("sha"), c.r.URL.Query().Get("state")
	var all []any
	for _, t := range c.project.row(true) {
		if isOr(state, t.state()) && t.brings(sha) {
			all = append(all, c.mergeObject(t))
		}
	}
	return c.list(all)
}

// brings reports whether a commit is in the source and not in the target.
func (t *gitlabThread) brings(sha string) bool {
	git, dir := t.project.srv.git, t.project.dir
	_, in := git.run(dir, nil, "merge-base", "--is-ancestor", sha, t.pull.Head.SHA)
	_, out := git.run(dir, nil, "merge-base", "--is-ancestor", sha, t.startSHA)
	return in == nil && out != nil
}

// listStatuses shows the jobs too, for each has a status of its own.
func listStatuses(c *gitlabCall) reply {
	sha := c.r.PathValue("sha")
	var all []any
	for _, pl := range c.project.pipelines {
		if pl.sha != sha {
			continue
		}
		for _, j := range pl.jobs {
			if !j.retried {
				all = append(all, c.statusObject(pl, j.id, j.name, j.status, j.allowed, c.project.jobURL(j)))
			}
		}
		for _, s := range pl.others {
			all = append(all, c.statusObject(pl, s.id, s.name, s.status, false, "https://ci.example/"+s.name))
		}
	}
	return c.list(all)
}

func (c *gitlabCall) statusObject(pl *gitlabPipeline, id int64, name, status string, allowed bool, target string) object {
	return object{
		"id": id, "sha": pl.sha, "ref": pl.ref, "name": name, "status": status, "allow_failure": allowed, "target_url": target, "description": nil,
		"coverage": nil, "created_at": pl.made, "started_at": nil, "finished_at": pl.made, "pipeline_id": pl.id, "author": c.g.apiUser(c.g.bot),
	}
}

func (c *gitlabCall) pipelineObject(pl *gitlabPipeline) object {
	return object{
		"id": pl.id, "iid": pl.id - firstID, "project_id": c.project.meta.ID, "sha": pl.sha, "ref": pl.ref, "status": pl.status(), "source": pl.source,
		"created_at": pl.made, "updated_at": pl.made, "name": nil, "web_url": c.project.meta.URL + "/-/pipelines/" + strconv.FormatInt(pl.id, 10),
	}
}

// listPipelines is newest first, and leaves out child pipelines unless they are
// asked for, as GitLab does.
func listPipelines(c *gitlabCall) reply {
	q := c.r.URL.Query()
	var all []any
	for _, pl := range c.project.pipelines {
		if isOr(q.Get("sha"), pl.sha) && isOr(q.Get("ref"), pl.ref) && isOr(q.Get("status"), pl.status()) &&
			(q.Get("source") == pl.source || q.Get("source") == "" && pl.source != childSource) {
			all = append(all, c.pipelineObject(pl))
		}
	}
	if q.Get("sort") != "asc" {
		slices.Reverse(all)
	}
	return c.list(all)
}

// pipeline finds the one of the path.
func (c *gitlabCall) pipeline() *gitlabPipeline {
	for _, pl := range c.project.pipelines {
		if pl.id == c.number("pipeline") {
			return pl
		}
	}
	return nil
}

func getPipeline(c *gitlabCall) reply {
	pl := c.pipeline()
	if pl == nil {
		return missingThing("Not found")
	}
	o := c.pipelineObject(pl)
	o["tag"], o["before_sha"], o["yaml_errors"], o["duration"] = pl.tag, nil, nil, 2
	return ok(o)
}

func (c *gitlabCall) jobObject(pl *gitlabPipeline, j *gitlabJob) object {
	o := object{
		"id": j.id, "name": j.name, "stage": "test", "status": j.status, "ref": pl.ref, "tag": pl.tag, "allow_failure": j.allowed,
		"web_url": c.project.jobURL(j), "created_at": pl.made, "started_at": pl.made, "finished_at": pl.made, "duration": 1.5, "queued_duration": 0.5,
		"commit": object{"id": pl.sha, "short_id": pl.sha[:8], "title": "A change", "message": "A change\n"}, "pipeline": c.pipelineObject(pl),
		"artifacts": []any{}, "runner": nil, "coverage": nil, "archived": false, "user": c.g.apiUser(c.g.bot), "project": object{"ci_job_token_scope_enabled": false},
	}
	if j.reason != "" {
		o["failure_reason"] = j.reason
	}
	return o
}

// listPipelineJobs is newest first and without those that were retried, unless
// they are asked for.
func listPipelineJobs(c *gitlabCall) reply {
	pl := c.pipeline()
	if pl == nil {
		return missingThing("Not found")
	}
	var all []any
	for _, j := range pl.jobs {
		if !j.retried || c.r.URL.Query().Get("include_retried") == "true" {
			all = append(all, c.jobObject(pl, j))
		}
	}
	slices.Reverse(all)
	return c.list(all)
}

// listBridges are the jobs that started the child pipelines of the commit; they
// stand in its push pipeline.
func listBridges(c *gitlabCall) reply {
	pl := c.pipeline()
	if pl == nil {
		return missingThing("Not found")
	}
	var all []any
	for _, child := range c.project.pipelines {
		if child.source == childSource && child.sha == pl.sha && pl.source == pushSource {
			all = append(all, object{
				"id": child.id + 1, "name": "child", "stage": "test", "status": child.status(), "ref": pl.ref, "allow_failure": false,
				"pipeline": c.pipelineObject(pl), "downstream_pipeline": c.pipelineObject(child), "web_url": c.project.meta.URL,
			})
		}
	}
	return c.list(all)
}

// job finds the one of the path.
func (c *gitlabCall) job() (*gitlabPipeline, *gitlabJob) {
	for _, pl := range c.project.pipelines {
		for _, j := range pl.jobs {
			if j.id == c.number("job") {
				return pl, j
			}
		}
	}
	return nil, nil
}

func getGitLabJob(c *gitlabCall) reply {
	pl, j := c.job()
	if j == nil {
		return missingThing("Not found")
	}
	return ok(c.jobObject(pl, j))
}

func getTrace(c *gitlabCall) reply {
	_, j := c.job()
	if j == nil {
		return missingThing("Not found")
	}
	return reply{status: http.StatusOK, body: []byte(j.trace)}
}
