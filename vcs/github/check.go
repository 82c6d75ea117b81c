package github

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/greenwright/greenwright/vcs"
)

// actionsApp is the slug of the app that reports GitHub Actions' jobs. The id
// of such a check run is its job's.
const actionsApp = "github-actions"

// Checks lists the latest check runs of a commit.
func (f *Forge) Checks(ctx context.Context, repo vcs.RepoRef, sha string) ([]vcs.Check, error) {
	doing := "listing the checks of " + sha
	if err := vcs.ValidateSHA(sha); err != nil {
		return nil, f.mapError(doing, err)
	}
	c, err := f.client(ctx, repo, grantChecks())
	if err != nil {
		return nil, err
	}
	opts := gh.ListCheckRunsOptions{Filter: gh.String("latest"), ListOptions: gh.ListOptions{PerPage: perPage}}
	out := []vcs.Check{}
	for range maxPages {
		got, resp, err := c.Checks.ListCheckRunsForRef(ctx, repo.Owner, repo.Name, sha, &opts)
		if err != nil {
			return nil, f.mapError(doing, err)
		}
		for _, r := range got.CheckRuns {
			k, err := checkOf(repo, r)
			if err != nil {
				return nil, f.mapError(doing, err)
			}
			out = append(out, k)
		}
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	return out, nil
}

func checkOf(repo vcs.RepoRef, r *gh.CheckRun) (vcs.Check, error) {
	k := vcs.Check{
		ID: r.GetID(), Name: r.GetName(), App: r.GetApp().GetSlug(), HeadSHA: r.GetHeadSHA(),
		HeadBranch: r.GetCheckSuite().GetHeadBranch(), Completed: r.GetStatus() == "completed",
		Conclusion: conclusionOf(r.GetConclusion()), URL: r.GetHTMLURL(), PullRequests: []int{},
	}
	if err := vcs.ValidateSHA(k.HeadSHA); err != nil {
		return vcs.Check{}, err
	}
	if k.HeadBranch != "" {
		if err := vcs.ValidateBranch(k.HeadBranch); err != nil {
			return vcs.Check{}, err
		}
	}
	suffix := strings.ToLower("/repos/" + repo.FullName())
	for _, p := range r.PullRequests {
		if p.GetNumber() > 0 && strings.HasSuffix(strings.ToLower(p.GetBase().GetRepo().GetURL()), suffix) {
			k.PullRequests = append(k.PullRequests, p.GetNumber())
		}
	}
	return k, nil
}

// isJob refuses checks of other apps, and facts that name no job.
func isJob(k vcs.Check) error {
	if k.ID <= 0 || k.App != "" && k.App != actionsApp {
		return fmt.Errorf("%w: check %q is not a job of GitHub Actions", vcs.ErrNotFound, k.Name)
	}
	return nil
}

// CheckJob finds the Actions job behind a check.
func (f *Forge) CheckJob(ctx context.Context, repo vcs.RepoRef, k vcs.Check) (vcs.CheckJob, error) {
	doing := fmt.Sprintf("reading the job of check %d", k.ID)
	if err := isJob(k); err != nil {
		return vcs.CheckJob{}, f.mapError(doing, err)
	}
	c, err := f.client(ctx, repo, grantActions())
	if err != nil {
		return vcs.CheckJob{}, err
	}
	job, _, err := c.Actions.GetWorkflowJobByID(ctx, repo.Owner, repo.Name, k.ID)
	if err != nil {
		return vcs.CheckJob{}, f.mapError(doing, err)
	}
	// go-github's WorkflowRun has no path.
	var run struct {
		Path    string `json:"path"`
		HeadSHA string `json:"head_sha"`
	}
	path := fmt.Sprintf("repos/%s/%s/actions/runs/%d", repo.Owner, repo.Name, job.GetRunID())
	if err := c.get(ctx, path, &run); err != nil {
		return vcs.CheckJob{}, f.mapError(doing, err)
	}
	if err := vcs.ValidateSHA(run.HeadSHA); err != nil {
		return vcs.CheckJob{}, f.mapError(doing, err)
	}
	return jobOf(job, run.Path, run.HeadSHA), nil
}

func jobOf(job *gh.WorkflowJob, path, sha string) vcs.CheckJob {
	file, _, _ := strings.Cut(path, "@") // some runs carry the ref: file@refs/heads/main
	out := vcs.CheckJob{WorkflowPath: file, Name: job.GetName(), HeadSHA: sha, Steps: []vcs.CheckStep{}}
	for _, s := range job.Steps {
		out.Steps = append(out.Steps, vcs.CheckStep{
			Number: int(s.GetNumber()), Name: s.GetName(), Conclusion: conclusionOf(s.GetConclusion()),
		})
	}
	return out
}

// CheckLog opens the job's log. GitHub answers with a short-lived address on
// another host, which is asked without the credential. A log over 64 MB ends in
// transport.ErrTooLarge after its beginning.
func (f *Forge) CheckLog(ctx context.Context, repo vcs.RepoRef, k vcs.Check) (io.ReadCloser, error) {
	doing := fmt.Sprintf("reading the log of check %d", k.ID)
	if err := isJob(k); err != nil {
		return nil, f.mapError(doing, err)
	}
	c, err := f.client(ctx, repo, grantActions())
	if err != nil {
		return nil, err
	}
	at, resp, err := c.Actions.GetWorkflowJobLogs(ctx, repo.Owner, repo.Name, k.ID, 1)
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusFound {
			err = fmt.Errorf("%w: %w", sentinel(resp.Response), err)
		}
		return nil, f.mapError(doing, err)
	}
	if at.Scheme != f.at.api.Scheme && at.Scheme != "https" || at.Host == "" {
		return nil, f.mapError(doing, fmt.Errorf("%w: redirect to %q", vcs.ErrUnavailable, at.Scheme))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, f.mapError(doing, err)
	}
	return f.download(doing, r)
}

func (f *Forge) download(doing string, r *http.Request) (io.ReadCloser, error) {
	resp, err := f.plain.RoundTrip(r)
	if err != nil {
		return nil, f.mapError(doing, err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, f.mapError(doing, sentinel(resp))
	}
	return resp.Body, nil
}
