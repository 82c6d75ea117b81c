package vcstest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// gitlabPipeline is a pipeline with its jobs.
type gitlabPipeline struct {
	id     int64
	sha    string
	ref    string
	source string
	tag    bool
	pull   *gitlabThread // of a merge request's pipeline
	jobs   []*gitlabJob
	others []gitlabStatus // of services, in a pipeline of their own
	made   time.Time
}

// gitlabJob is a job and its log.
type gitlabJob struct {
	id      int64
	name    string
	status  string
	reason  string // of a failure
	allowed bool   // to fail
	retried bool
	trace   string
}

// gitlabStatus is what another service reports on a commit.
type gitlabStatus struct {
	id           int64
	name, status string
}

// gitlabCI is the app of a check that is a job.
const gitlabCI = "gitlab-ci"

// The sources of pipelines that tests make.
const (
	pushSource  = "push"
	mergeSource = "merge_request_event"
	childSource = "parent_pipeline"
	// externalSource is that of the pipeline which holds what other services
	// report of a commit.
	externalSource = "external"
)

// wireStatus spells how a job ended.
func wireStatus(c vcs.Conclusion) (status, reason string) {
	switch c {
	case "":
		return "running", ""
	case vcs.ConclusionFailure:
		return "failed", "script_failure"
	case vcs.ConclusionTimedOut:
		return "failed", "job_execution_timeout"
	case vcs.ConclusionNeutral:
		return "failed", "script_failure"
	case vcs.ConclusionActionRequired:
		return "manual", ""
	}
	return string(c), ""
}

// FinishCheck ends a job on a commit and sends the hooks of the job and of its
// pipeline, which is one for all jobs of the commit. A job of the same name
// before it was retried. Any App but gitlab-ci reports a status.
func (p *Project) FinishCheck(res CheckResult) (vcs.Check, error) {
	g := p.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	sender := res.Sender
	if sender == "" {
		sender = ownerOf(p.meta.Owner)
	}
	by, err := g.user(sender)
	if err != nil {
		return vcs.Check{}, err
	}
	if err := vcs.ValidateSHA(res.SHA); err != nil {
		return vcs.Check{}, err
	}
	if res.App != "" && res.App != gitlabCI {
		return p.report(res, by), nil
	}
	pl := p.pipeline(res.SHA, res.Source)
	j := pl.run(g.newID(), res)
	p.emitCI(pl, j, by)
	return p.check(pl, j, res.Conclusion), nil
}

// StartCheck begins a job that has not ended.
func (p *Project) StartCheck(sha, _, jobName string) (vcs.Check, error) {
	return p.FinishCheck(CheckResult{SHA: sha, JobName: jobName})
}

// pipeline finds or makes the pipeline of a source on a commit.
func (p *Project) pipeline(sha, source string) *gitlabPipeline {
	if source == "" {
		source = pushSource
	}
	for _, pl := range p.pipelines {
		if pl.sha == sha && pl.source == source {
			return pl
		}
	}
	pl := &gitlabPipeline{id: p.srv.newID(), sha: sha, source: source, ref: p.branchAt(sha), made: p.srv.now()}
	if pulls := p.pullsAt(sha); source == mergeSource && len(pulls) > 0 {
		pl.pull = pulls[0]
		pl.ref = pl.pull.issue.HeadRef()
	}
	p.pipelines = append(p.pipelines, pl)
	return pl
}

func (pl *gitlabPipeline) run(id int64, res CheckResult) *gitlabJob {
	for _, old := range pl.jobs {
		old.retried = old.retried || old.name == res.JobName
	}
	j := &gitlabJob{id: id, name: res.JobName, allowed: res.Conclusion == vcs.ConclusionNeutral, trace: traceOf(res)}
	j.status, j.reason = wireStatus(res.Conclusion)
	pl.jobs = append(pl.jobs, j)
	return j
}

// traceOf is a log as a runner writes it: sections, each command before what it
// prints, and how it ended. A log that has commands already stays as it is.
func traceOf(res CheckResult) string {
	if strings.Contains(res.Log, "\x1b[32;1m$ ") || res.Conclusion == "" {
		return res.Log
	}
	var b strings.Builder
	b.WriteString("\x1b[0KRunning with gitlab-runner 17.11.0\n")
	b.WriteString("section_start:1715000000:step_script\r\x1b[0K\x1b[0K\x1b[36;1mExecuting \"step_script\" stage of the job script\x1b[0;m\x1b[0;m\n")
	for _, s := range res.Steps {
		fmt.Fprintf(&b, "\x1b[32;1m$ %s\x1b[0;m\n", s.Name)
	}
	b.WriteString(res.Log)
	if !strings.HasSuffix(res.Log, "\n") {
		b.WriteString("\n")
	}
	b.WriteString("section_end:1715000009:step_script\r\x1b[0K")
	if res.Conclusion.Red() {
		b.WriteString("\x1b[31;1mERROR: Job failed: exit code 1\n\x1b[0;m")
	} else {
		b.WriteString("\x1b[32;1mJob succeeded\x1b[0;m\n")
	}
	return b.String()
}

// status is how a pipeline stands as a whole.
func (pl *gitlabPipeline) status() string {
	out := "success"
	for _, j := range pl.jobs {
		switch {
		case j.retried || j.status == "failed" && j.allowed:
		case j.status == "running":
			return "running"
		case j.status == "failed":
			out = "failed"
		case j.status == "canceled" && out != "failed":
			out = "canceled"
		}
	}
	for _, s := range pl.others {
		if s.status == "failed" {
			out = "failed"
		}
	}
	return out
}

func (p *Project) check(pl *gitlabPipeline, j *gitlabJob, c vcs.Conclusion) vcs.Check {
	out := vcs.Check{
		ID: j.id, Name: j.name, App: gitlabCI, HeadSHA: pl.sha, HeadBranch: p.branchAt(pl.sha), Completed: c != "", Conclusion: c,
		URL: p.jobURL(j), PullRequests: []int{},
	}
	for _, t := range p.pullsAt(pl.sha) {
		out.PullRequests = append(out.PullRequests, t.issue.Number)
	}
	return out
}

func (p *Project) jobURL(j *gitlabJob) string { return fmt.Sprintf("%s/-/jobs/%d", p.meta.URL, j.id) }

func (p *Project) branchAt(sha string) string { return branchOf(p.tips, sha) }

// pullsAt are the open merge requests whose head is the commit.
func (p *Project) pullsAt(sha string) []*gitlabThread {
	var out []*gitlabThread
	for _, t := range p.row(true) {
		if t.pull.Open && t.pull.Head.SHA == sha {
			out = append(out, t)
		}
	}
	return out
}

// report keeps the status of another service: the last one of each name counts.
func (p *Project) report(res CheckResult, by vcs.Actor) vcs.Check {
	pl := p.pipeline(res.SHA, externalSource)
	status, _ := wireStatus(res.Conclusion)
	s := gitlabStatus{id: p.srv.newID(), name: res.JobName, status: status}
	pl.others = append(slices.DeleteFunc(pl.others, func(o gitlabStatus) bool { return o.name == s.name }), s)
	p.emit(p.site(p.srv.now()).PipelineEvent(p.shown(), pl.shown(), by))
	return vcs.Check{
		ID: s.id, Name: s.name, App: res.App, HeadSHA: pl.sha, HeadBranch: pl.ref, Completed: res.Conclusion != "", Conclusion: res.Conclusion,
		PullRequests: []int{},
	}
}

// shown is a pipeline as hooks show it, with its jobs but those that were
// retried.
func (pl *gitlabPipeline) shown() webhooktest.Pipeline {
	out := webhooktest.Pipeline{ID: pl.id, Ref: pl.ref, SHA: pl.sha, Tag: pl.tag, Source: pl.source, Status: pl.status()}
	if pl.pull != nil {
		shown := pl.pull.marked()
		out.Pull = &shown
	}
	for _, j := range pl.jobs {
		if !j.retried {
			out.Jobs = append(out.Jobs, j.shown())
		}
	}
	return out
}

func (j *gitlabJob) shown() webhooktest.Build {
	return webhooktest.Build{ID: j.id, Name: j.name, Status: j.status, AllowFailure: j.allowed, FailureReason: j.reason}
}

func (p *Project) emitCI(pl *gitlabPipeline, j *gitlabJob, by vcs.Actor) {
	site := p.site(p.srv.now())
	p.emit(site.JobEvent(p.shown(), pl.shown(), j.shown(), by))
	p.emit(site.PipelineEvent(p.shown(), pl.shown(), by))
}
