package githubhook

import (
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// conclusion maps GitHub's spelling; an unknown one is neutral, which asks for
// nothing.
func conclusion(s string) vcs.Conclusion {
	switch s {
	case "cancelled":
		return vcs.ConclusionCanceled
	case "startup_failure":
		return vcs.ConclusionFailure
	case "success", "failure", "timed_out", "skipped", "neutral", "action_required", "stale":
		return vcs.Conclusion(s)
	case "":
		return ""
	}
	return vcs.ConclusionNeutral
}

// check sets the event's check after looking at what names something.
func (c converter) check(k vcs.Check, kind string, id int64, version string) error {
	if id <= 0 {
		return fmt.Errorf("%w: %s id %d", vcs.ErrInvalid, kind, id)
	}
	if err := vcs.ValidateSHA(k.HeadSHA); err != nil {
		return fmt.Errorf("head of a check: %w", err)
	}
	if k.HeadBranch != "" {
		if err := vcs.ValidateBranch(k.HeadBranch); err != nil {
			return fmt.Errorf("head of a check: %w", err)
		}
	}
	c.event.Check = &k
	c.identify(object(kind, id), k.HeadSHA+"/"+string(k.Conclusion)+version)
	return nil
}

// pulls keeps the pull requests of this repository.
func (c converter) pulls(refs []prRef) []int {
	out := make([]int, 0, len(refs))
	for _, r := range refs {
		if r.Number > 0 && r.Base.Repo.ID == c.event.Repo.ID {
			out = append(out, r.Number)
		}
	}
	return out
}

func (c converter) checkRun() error {
	w := c.wire.CheckRun
	if w == nil {
		return missing("check run")
	}
	k := vcs.Check{
		ID: w.ID, Name: w.Name, HeadSHA: w.HeadSHA, Completed: w.Status == "completed",
		Conclusion: conclusion(w.Conclusion), URL: w.HTMLURL, PullRequests: c.pulls(w.PullRequests),
	}
	if w.App != nil {
		k.App = w.App.Slug
	}
	if w.CheckSuite != nil {
		k.HeadBranch = w.CheckSuite.HeadBranch
	}
	return c.check(k, "check", w.ID, "")
}

// checkSuite, workflowRun and status give a Check whose ID is 0: they say that
// something on the head ended, not which job; Checks of the head does.
func (c converter) checkSuite() error {
	w := c.wire.CheckSuite
	if w == nil {
		return missing("check suite")
	}
	k := vcs.Check{
		HeadSHA: w.HeadSHA, HeadBranch: w.HeadBranch, Completed: w.Status == "completed",
		Conclusion: conclusion(w.Conclusion), PullRequests: c.pulls(w.PullRequests),
	}
	if w.App != nil {
		k.App, k.Name = w.App.Slug, w.App.Slug
	}
	return c.check(k, "suite", w.ID, "")
}

func (c converter) workflowRun() error {
	w := c.wire.WorkflowRun
	if w == nil {
		return missing("workflow run")
	}
	k := vcs.Check{
		Name: w.Name, App: "github-actions", HeadSHA: w.HeadSHA, HeadBranch: w.HeadBranch,
		Completed: w.Status == "completed", Conclusion: conclusion(w.Conclusion),
		URL: w.HTMLURL, PullRequests: c.pulls(w.PullRequests),
	}
	return c.check(k, "workflow", w.ID, fmt.Sprintf("/%d", w.RunAttempt))
}

func (c converter) status() error {
	w := c.wire
	k := vcs.Check{
		Name: w.Context, HeadSHA: w.SHA, URL: w.TargetURL, Completed: true, PullRequests: []int{},
	}
	switch w.State {
	case "success":
		k.Conclusion = vcs.ConclusionSuccess
	case "failure", "error":
		k.Conclusion = vcs.ConclusionFailure
	case "pending":
		c.event.Kind, k.Completed = vcs.EventUnsupported, false
	default:
		return fmt.Errorf("%w: status %q", vcs.ErrInvalid, w.State)
	}
	if len(w.Branches) == 1 {
		k.HeadBranch = w.Branches[0].Name
	}
	return c.check(k, "status", w.ID, "")
}

// push is about a branch; of tags and deletions nothing is read.
func (c converter) push() error {
	name, found := strings.CutPrefix(c.wire.Ref, "refs/heads/")
	if !found || c.wire.Deleted {
		c.event.Kind = vcs.EventUnsupported
		return nil
	}
	if err := vcs.ValidateBranch(name); err != nil {
		return fmt.Errorf("pushed: %w", err)
	}
	if err := vcs.ValidateSHA(c.wire.After); err != nil {
		return fmt.Errorf("pushed: %w", err)
	}
	c.identify("branch:"+name, c.wire.After)
	return nil
}

func (c converter) install() error {
	if c.wire.Installation == nil || c.wire.Installation.ID <= 0 {
		return missing("installation")
	}
	c.identify(object("installation", c.wire.Installation.ID), string(c.event.DeliveryID))
	return nil
}

// updatedAt is the time of the last change of the thread.
func (c converter) updatedAt() time.Time {
	if c.wire.PullRequest != nil {
		return c.wire.PullRequest.UpdatedAt
	}
	return c.wire.Issue.UpdatedAt
}
