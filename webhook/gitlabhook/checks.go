package gitlabhook

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlabwire"
)

// pipeline is a pipeline that ended: the whole of a head's checks.
func (c converter) pipeline() error {
	w, err := attributes(c.parser.pipelines, c.wire.Attributes)
	if err != nil {
		return err
	}
	if !c.decide(facts{status: w.Status, source: w.Source, tag: w.Tag}) {
		return nil
	}
	k := vcs.Check{
		ID: w.ID, Name: "pipeline", App: gitlabwire.CI, HeadSHA: w.SHA, HeadBranch: branchOf(w.Ref), Completed: true,
		URL: w.URL,
	}
	_, k.Conclusion = gitlabwire.Conclusion(w.Status, "", false)
	if k.URL == "" {
		k.URL = c.page("pipelines", w.ID)
	}
	k.PullRequestsUnknown = true
	if m := c.wire.MergeRequest; m != nil {
		c.ofMergeRequest(&k, m)
	}
	return c.check(k, "pipeline", "/"+stamp(w.FinishedAt)) // a pipeline whose jobs run again ends again
}

// ofMergeRequest says which merge request a pipeline is of. One of a fork's
// pipeline is another project's.
func (c converter) ofMergeRequest(k *vcs.Check, m *mergeRequest) {
	if m.SourceBranch != "" {
		k.HeadBranch = m.SourceBranch
	}
	if m.TargetProjectID != c.event.Repo.ID || m.IID <= 0 {
		return
	}
	k.PullRequestsUnknown, k.PullRequests = false, []int{}
	if m.State == "" || open(m.State) {
		k.PullRequests = []int{m.IID}
	}
}

// branchOf is the branch that a ref names. That of a merge request's pipeline,
// in versions and events that do not name its source branch, is none.
func branchOf(ref string) string {
	if strings.HasPrefix(ref, "refs/merge-requests/") {
		return ""
	}
	return strings.TrimPrefix(ref, "refs/heads/")
}

// job is a job that ended: part of a pipeline.
func (c converter) job() error {
	w := c.wire
	if !c.decide(facts{status: w.BuildStatus, tag: w.Tag}) {
		return nil
	}
	k := vcs.Check{
		ID: w.BuildID, Name: w.BuildName, App: gitlabwire.CI, HeadSHA: w.SHA, HeadBranch: branchOf(w.Ref), Completed: true,
		URL: c.page("jobs", w.BuildID), PullRequestsUnknown: true, Part: true,
	}
	_, k.Conclusion = gitlabwire.Conclusion(w.BuildStatus, w.FailureReason, w.AllowFailure)
	return c.check(k, "job", "")
}

// page is the address of a pipeline or job.
func (c converter) page(kind string, id int64) string {
	if c.event.Repo.URL == "" {
		return ""
	}
	return c.event.Repo.URL + "/-/" + kind + "/" + strconv.FormatInt(id, 10)
}

// check sets the event's check after looking at what names something.
func (c converter) check(k vcs.Check, kind, version string) error {
	if k.ID <= 0 {
		return fmt.Errorf("%w: %s id %d", vcs.ErrInvalid, kind, k.ID)
	}
	if err := vcs.ValidateSHA(k.HeadSHA); err != nil {
		return fmt.Errorf("head of a %s: %w", kind, err)
	}
	if k.HeadBranch != "" {
		if err := vcs.ValidateBranch(k.HeadBranch); err != nil {
			return fmt.Errorf("head of a %s: %w", kind, err)
		}
	}
	c.event.Check = &k
	c.identify(numbered(kind, k.ID), k.HeadSHA+"/"+string(k.Conclusion)+version)
	return nil
}

// push is about a branch; of deletions nothing is read.
func (c converter) push() (err error) {
	w := c.wire
	name, found := strings.CutPrefix(w.Ref, "refs/heads/")
	if !found || strings.Trim(w.After, "0") == "" {
		return nil
	}
	if c.event.Actor, err = actorOf(&user{ID: w.UserID, Username: w.UserName}); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	if err := vcs.ValidateBranch(name); err != nil {
		return fmt.Errorf("pushed: %w", err)
	}
	if err := vcs.ValidateSHA(w.After); err != nil {
		return fmt.Errorf("pushed: %w", err)
	}
	c.decide(facts{})
	c.identify("branch:"+name, w.After)
	return nil
}
