package vcs

// Conclusion is how a check ended. The zero value: it has not.
type Conclusion string

// The conclusions.
const (
	ConclusionSuccess        Conclusion = "success"
	ConclusionFailure        Conclusion = "failure"
	ConclusionTimedOut       Conclusion = "timed_out"
	ConclusionCanceled       Conclusion = "canceled"
	ConclusionSkipped        Conclusion = "skipped"
	ConclusionNeutral        Conclusion = "neutral"
	ConclusionActionRequired Conclusion = "action_required"
	ConclusionStale          Conclusion = "stale"
)

// Red reports whether the conclusion asks for a repair.
func (c Conclusion) Red() bool { return c == ConclusionFailure || c == ConclusionTimedOut }

// Check is a CI result on a commit.
type Check struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	App        string     `json:"app"` // slug of the app that reports it
	HeadSHA    string     `json:"head_sha"`
	HeadBranch string     `json:"head_branch"`
	Completed  bool       `json:"completed"`
	Conclusion Conclusion `json:"conclusion"`
	URL        string     `json:"url"`
	// PullRequests are the numbers of the open pull requests of this
	// repository whose head is HeadSHA, as the forge names them.
	PullRequests []int `json:"pull_requests"`
	// PullRequestsUnknown is set by an event of a forge that does not say them:
	// whoever needs them asks a [PullRequestFinder].
	PullRequestsUnknown bool `json:"pull_requests_unknown,omitempty"`
	// Part is set by an event about one of several checks that run together
	// and end with an event of their own (a job of a GitLab pipeline): the
	// whole has not settled yet.
	Part bool `json:"part,omitempty"`
}

// CheckJob is the CI job behind a check. On GitLab its steps are the commands
// of the job's script as its log shows them; without a log there are none.
type CheckJob struct {
	WorkflowPath string      `json:"workflow_path"` // in the repository, e.g. .github/workflows/ci.yml
	Name         string      `json:"name"`          // as shown, matrix values included
	HeadSHA      string      `json:"head_sha"`
	Steps        []CheckStep `json:"steps"`
}

// CheckStep is one step of a CI job.
type CheckStep struct {
	Number     int        `json:"number"` // 1-based, as the forge counts
	Name       string     `json:"name"`
	Conclusion Conclusion `json:"conclusion"`
}
