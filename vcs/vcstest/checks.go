package vcstest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// checkRun is a check and, when the Actions app reports it, its job.
type checkRun struct {
	check vcs.Check
	runID int64
	path  string
	steps []vcs.CheckStep
	log   string
}

// CheckResult is how a job of GitHub Actions or GitLab CI ended.
type CheckResult struct {
	SHA          string
	WorkflowPath string
	JobName      string
	Conclusion   vcs.Conclusion
	Steps        []vcs.CheckStep
	Log          string
	// App is the reporting app's slug; default is the forge's own CI. Others
	// have no job and no log.
	App string
	// Sender is the login that GitHub names as the event's sender: whoever
	// pushed. Default is the repository's owner.
	Sender string
	// Source is why a pipeline of GitLab runs: push, which is the default,
	// merge_request_event, parent_pipeline. GitHub has none.
	Source string
}

// FinishCheck ends a job on a commit and sends check_run.
func (r *Repo) FinishCheck(res CheckResult) (vcs.Check, error) {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	if res.App == "" {
		res.App = "github-actions"
	}
	if res.Sender == "" {
		res.Sender = r.meta.Owner
	}
	sender, err := g.user(res.Sender)
	if err != nil {
		return vcs.Check{}, err
	}
	if err := vcs.ValidateSHA(res.SHA); err != nil {
		return vcs.Check{}, err
	}
	run := r.addCheck(res)
	g.emit(g.site(g.now()).CheckRunEvent("completed", r.meta, run.check, sender))
	return run.check, nil
}

func (r *Repo) addCheck(res CheckResult) *checkRun {
	id, runID := r.srv.newID(), r.srv.newID()
	run := &checkRun{runID: runID, path: res.WorkflowPath, steps: res.Steps, log: res.Log, check: vcs.Check{
		ID: id, Name: res.JobName, App: res.App, HeadSHA: res.SHA, HeadBranch: r.branchAt(res.SHA), Completed: true,
		Conclusion: res.Conclusion, URL: fmt.Sprintf("%s/actions/runs/%d/job/%d", r.meta.URL, runID, id),
		PullRequests: r.pullsAt(res.SHA),
	}}
	r.checks = append(r.checks, run)
	return run
}

// StartCheck begins a job that has not ended: its check is not completed.
func (r *Repo) StartCheck(sha, workflowPath, jobName string) (vcs.Check, error) {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := vcs.ValidateSHA(sha); err != nil {
		return vcs.Check{}, err
	}
	run := r.addCheck(CheckResult{SHA: sha, WorkflowPath: workflowPath, JobName: jobName, App: "github-actions"})
	run.check.Completed = false
	return run.check, nil
}

func (r *Repo) branchAt(sha string) string { return branchOf(r.tips, sha) }

// branchOf is the first branch that ends in a commit.
func branchOf(tips map[string]string, sha string) string {
	for _, name := range slices.Sorted(maps.Keys(tips)) {
		if tips[name] == sha {
			return name
		}
	}
	return ""
}

func (r *Repo) pullsAt(sha string) []int {
	out := []int{}
	for _, n := range slices.Sorted(maps.Keys(r.threads)) {
		if p := r.threads[n].pull; p != nil && p.Open && p.Head.SHA == sha && r.threads[n].headRepo == r {
			out = append(out, n)
		}
	}
	return out
}

func (c *call) checkRun() *checkRun {
	for _, run := range c.repo.checks {
		if run.check.ID == c.number("id") {
			return run
		}
	}
	return nil
}

// job is the check run that has one.
func (c *call) job() *checkRun {
	if run := c.checkRun(); run != nil && run.check.App == "github-actions" {
		return run
	}
	return nil
}

// listCheckRuns lists the latest run of each name, as filter=latest does.
func listCheckRuns(c *call) reply {
	latest := map[string]int64{}
	for _, run := range c.repo.checks {
		if run.check.HeadSHA == c.r.PathValue("sha") {
			latest[run.check.Name] = run.check.ID
		}
	}
	var all []any
	for _, run := range c.repo.checks {
		if latest[run.check.Name] == run.check.ID {
			all = append(all, c.g.site(c.g.now()).CheckRun(c.repo.meta, run.check))
		}
	}
	part, header := c.page(all)
	if part == nil {
		part = []any{}
	}
	return reply{status: http.StatusOK, body: object{"total_count": len(all), "check_runs": part}, header: header}
}

func getCheckRun(c *call) reply {
	run := c.checkRun()
	if run == nil {
		return notFound()
	}
	return ok(c.g.site(c.g.now()).CheckRun(c.repo.meta, run.check))
}

func wireConclusion(c vcs.Conclusion) any {
	switch c {
	case "":
		return nil
	case vcs.ConclusionCanceled:
		return "cancelled"
	default:
		return string(c)
	}
}

func getJob(c *call) reply {
	run := c.job()
	if run == nil {
		return notFound()
	}
	steps := make([]object, 0, len(run.steps))
	for _, s := range run.steps {
		steps = append(steps, object{"name": s.Name, "number": s.Number, "status": "completed", "conclusion": wireConclusion(s.Conclusion)})
	}
	k := run.check
	return ok(object{
		"id": k.ID, "run_id": run.runID, "name": k.Name, "head_sha": k.HeadSHA, "head_branch": k.HeadBranch,
		"status": "completed", "conclusion": wireConclusion(k.Conclusion), "steps": steps, "html_url": k.URL, "run_attempt": 1,
	})
}

func getRun(c *call) reply {
	for _, run := range c.repo.checks {
		if run.runID == c.number("id") {
			k := run.check
			return ok(object{
				"id": run.runID, "name": "CI", "path": run.path, "head_sha": k.HeadSHA, "head_branch": k.HeadBranch,
				"event": "pull_request", "status": "completed", "conclusion": wireConclusion(k.Conclusion), "run_attempt": 1,
			})
		}
	}
	return notFound()
}

// getJobLogs redirects to another host, as GitHub does to its storage: the
// same listener under another name.
func getJobLogs(c *call) reply {
	run := c.job()
	if run == nil {
		return notFound()
	}
	other := strings.Replace(c.g.base, "127.0.0.1", "localhost", 1)
	return reply{status: http.StatusFound, header: map[string]string{
		"Location": fmt.Sprintf("%s%s%d?sig=%s", other, logPathPrefix, run.check.ID, "0a1b2c"),
	}}
}

// serveLog gives a log to whoever has the address; a credential sent along is
// a fault, for the real storage is not GitHub's.
func (g *GitHub) serveLog(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		g.fault("GET %s: a credential was sent to the log's storage", r.URL.Path)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, repo := range g.repos {
		for _, run := range repo.checks {
			if strconv.FormatInt(run.check.ID, 10) == r.PathValue("id") && r.URL.Query().Get("sig") != "" {
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				_, _ = w.Write([]byte(run.log)) // the client may have gone
				return
			}
		}
	}
	http.NotFound(w, r)
}
