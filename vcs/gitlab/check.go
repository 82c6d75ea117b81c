package gitlab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlabwire"
)

const (
	// externalApp is whoever else reports statuses; GitLab does not tell who.
	externalApp = "external"
	// defaultConfig is where a project without a setting has its CI file.
	defaultConfig = ".gitlab-ci.yml"
	// maxPipelines bounds those of one commit whose jobs are read.
	maxPipelines = 20
	// mergeRef begins the ref of a merge request's pipeline.
	mergeRef = "refs/merge-requests/"
)

// Checks lists a commit's jobs, of the newest pipeline of each source, without
// those that were retried, and the statuses that others reported on it.
func (f *Forge) Checks(ctx context.Context, repo vcs.RepoRef, sha string) ([]vcs.Check, error) {
	doing := "listing the checks of " + sha
	if err := vcs.ValidateSHA(sha); err != nil {
		return nil, f.mapError(doing, err)
	}
	if err := validate(repo); err != nil {
		return nil, err
	}
	out, err := f.checks(ctx, repo, sha)
	if err != nil {
		return nil, f.mapError(doing, err)
	}
	return out, nil
}

func (f *Forge) checks(ctx context.Context, repo vcs.RepoRef, sha string) ([]vcs.Check, error) {
	on, err := f.openWith(ctx, repo, sha)
	if err != nil {
		return nil, err
	}
	out, jobs, err := f.jobChecks(ctx, repo, on)
	if err != nil {
		return nil, err
	}
	others, err := f.statusChecks(ctx, repo, on, jobs)
	return append(out, others...), err
}

// subject is a commit and the open merge requests whose head it is.
type subject struct {
	sha     string
	numbers []int
	heads   map[int]string // source branches, by number
}

func (f *Forge) openWith(ctx context.Context, repo vcs.RepoRef, sha string) (subject, error) {
	out := subject{sha: sha, numbers: []int{}, heads: map[int]string{}}
	all, err := collect[*gl.MergeRequest](ctx, f, pathOf(repo)+"/repository/commits/"+sha+"/merge_requests", nil)
	if err != nil {
		return subject{}, fmt.Errorf("listing the commit's merge requests: %w", err)
	}
	for _, m := range all {
		if m.State == opened && m.SHA == sha && m.IID > 0 {
			out.numbers = append(out.numbers, m.IID)
			out.heads[m.IID] = m.SourceBranch
		}
	}
	return out, nil
}

// PullRequestsAt are the numbers of the open merge requests at a commit.
func (f *Forge) PullRequestsAt(ctx context.Context, repo vcs.RepoRef, sha string) ([]int, error) {
	doing := "looking for the merge requests at " + sha
	if err := errors.Join(validate(repo), vcs.ValidateSHA(sha)); err != nil {
		return nil, f.mapError(doing, err)
	}
	on, err := f.openWith(ctx, repo, sha)
	return on.numbers, f.mapError(doing, err)
}

// jobChecks are the jobs; ids are those of older pipelines as well.
func (f *Forge) jobChecks(ctx context.Context, repo vcs.RepoRef, on subject) (out []vcs.Check, ids map[int]bool, err error) {
	out, ids = []vcs.Check{}, map[int]bool{}
	var pipelines []*gl.PipelineInfo
	q := url.Values{"sha": {on.sha}, "per_page": {strconv.Itoa(maxPipelines)}, "order_by": {"id"}, "sort": {"desc"}}
	if err := f.read(ctx, repo, "/pipelines", q, &pipelines); err != nil {
		return nil, nil, fmt.Errorf("listing pipelines: %w", err)
	}
	seen := map[string]bool{}
	for _, p := range pipelines {
		jobs, err := collect[*gl.Job](ctx, f, fmt.Sprintf("%s/pipelines/%d/jobs", pathOf(repo), p.ID), url.Values{"include_retried": {"false"}})
		if err != nil {
			return nil, nil, fmt.Errorf("listing the jobs of pipeline %d: %w", p.ID, err)
		}
		for _, j := range jobs {
			ids[j.ID] = true
			if seen[p.Source+" "+p.Ref] {
				continue
			}
			k, err := on.check(j.ID, j.Name, gitlabwire.CI, j.Ref, j.WebURL, outcome{j.Status, j.FailureReason, j.AllowFailure})
			if err != nil {
				return nil, nil, err
			}
			out = append(out, k)
		}
		seen[p.Source+" "+p.Ref] = true
	}
	return out, ids, nil
}

// statusChecks are the newest statuses that no job is behind.
func (f *Forge) statusChecks(ctx context.Context, repo vcs.RepoRef, on subject, jobs map[int]bool) ([]vcs.Check, error) {
	all, err := collect[*gl.CommitStatus](ctx, f, pathOf(repo)+"/repository/commits/"+on.sha+"/statuses", nil)
	if err != nil {
		return nil, fmt.Errorf("listing statuses: %w", err)
	}
	var out []vcs.Check
	for _, s := range all {
		if jobs[s.ID] {
			continue
		}
		k, err := on.check(s.ID, s.Name, externalApp, s.Ref, s.TargetURL, outcome{s.Status, "", s.AllowFailure})
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// outcome is how a job or status stands, in GitLab's words.
type outcome struct {
	status, reason string
	allowed        bool // to fail
}

func (on subject) check(id int, name, app, ref, page string, o outcome) (vcs.Check, error) {
	k := vcs.Check{ID: int64(id), Name: name, App: app, HeadSHA: on.sha, HeadBranch: on.branch(ref), URL: page, PullRequests: on.numbers}
	k.Completed, k.Conclusion = gitlabwire.Conclusion(o.status, o.reason, o.allowed)
	if k.HeadBranch != "" {
		if err := vcs.ValidateBranch(k.HeadBranch); err != nil {
			return vcs.Check{}, err
		}
	}
	return k, nil
}

// branch is the source branch of a merge request's pipeline, else the ref.
func (on subject) branch(ref string) string {
	rest, found := strings.CutPrefix(ref, mergeRef)
	if !found {
		return ref
	}
	number, _, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(number)
	if err != nil {
		return ""
	}
	return on.heads[n]
}

// isJob refuses checks of others, and facts that name no job.
func isJob(k vcs.Check) error {
	if k.ID <= 0 || k.App != gitlabwire.CI {
		return fmt.Errorf("%w: check %q is not a job of GitLab CI", vcs.ErrNotFound, k.Name)
	}
	return nil
}

func jobPath(k vcs.Check) string { return "/jobs/" + strconv.FormatInt(k.ID, 10) }

// CheckJob finds the job behind a check. Its steps are the commands that its
// log shows.
func (f *Forge) CheckJob(ctx context.Context, repo vcs.RepoRef, k vcs.Check) (vcs.CheckJob, error) {
	if err := validate(repo); err != nil {
		return vcs.CheckJob{}, err
	}
	doing := fmt.Sprintf("reading the job of check %d", k.ID)
	if err := isJob(k); err != nil {
		return vcs.CheckJob{}, f.mapError(doing, err)
	}
	out, err := f.checkJob(ctx, repo, k)
	if err != nil {
		return vcs.CheckJob{}, f.mapError(doing, err)
	}
	return out, nil
}

func (f *Forge) checkJob(ctx context.Context, repo vcs.RepoRef, k vcs.Check) (vcs.CheckJob, error) {
	var j gl.Job
	if err := f.read(ctx, repo, jobPath(k), nil, &j); err != nil {
		return vcs.CheckJob{}, err
	}
	sha := j.Pipeline.Sha
	if sha == "" && j.Commit != nil {
		sha = j.Commit.ID
	}
	if err := vcs.ValidateSHA(sha); err != nil {
		return vcs.CheckJob{}, err
	}
	config, err := f.configPath(ctx, repo)
	if err != nil {
		return vcs.CheckJob{}, err
	}
	out := vcs.CheckJob{WorkflowPath: config, Name: j.Name, HeadSHA: sha, Steps: []vcs.CheckStep{}}
	log, err := f.trace(ctx, repo, k)
	if isNotFound(err) || hasStatus(err, http.StatusForbidden) { // erased, or for members only
		return out, nil
	}
	if err != nil {
		return vcs.CheckJob{}, err
	}
	defer log.Close()
	// What may fail has failed too, for its steps.
	_, end := gitlabwire.Conclusion(j.Status, j.FailureReason, false)
	out.Steps, err = stepsOf(log, end)
	return out, err
}

// configPath is the project's CI file. One of another project, or of another
// host, cannot be read beside the repository.
func (f *Forge) configPath(ctx context.Context, repo vcs.RepoRef) (string, error) {
	p, err := f.projectFacts(ctx, pathOf(repo))
	if err != nil {
		return "", err
	}
	switch file := p.CIConfigPath; {
	case file == "":
		return defaultConfig, nil
	case strings.Contains(file, "@") || strings.Contains(file, "://"):
		return "", fmt.Errorf("%w: the project's CI file is not its own: %s", vcs.ErrNotFound, file)
	default:
		return file, nil
	}
}

// CheckLog opens the job's log as the runner wrote it: with its sections,
// colours and, on newer ones, timestamps. A log over 64 MB ends in
// transport.ErrTooLarge after its beginning.
func (f *Forge) CheckLog(ctx context.Context, repo vcs.RepoRef, k vcs.Check) (io.ReadCloser, error) {
	if err := validate(repo); err != nil {
		return nil, err
	}
	doing := fmt.Sprintf("reading the log of check %d", k.ID)
	if err := isJob(k); err != nil {
		return nil, f.mapError(doing, err)
	}
	log, err := f.trace(ctx, repo, k)
	if err != nil {
		return nil, f.mapError(doing, err)
	}
	return log, nil
}

// trace opens a job's log; go-gitlab would read it whole.
func (f *Forge) trace(ctx context.Context, repo vcs.RepoRef, k vcs.Check) (io.ReadCloser, error) {
	r, err := f.api.NewRequest(http.MethodGet, pathOf(repo)+jobPath(k)+"/trace", nil, []gl.RequestOptionFunc{gl.WithContext(ctx)})
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	r.Header.Set("Accept", "text/plain, */*")
	resp, err := f.http.Do(r.Request)
	if err != nil {
		return nil, err
	}
	if err := gl.CheckResponse(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp.Body, nil
}
