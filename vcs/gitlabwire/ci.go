package gitlabwire

import "github.com/greenwright/greenwright/vcs"

// CI is what GitLab's own CI is called in a vcs.Check, whose id is then its
// job's.
const CI = "gitlab-ci"

// Conclusion is how a job, a pipeline or a status stands; mayFail is a job's
// allow_failure. A manual job that nobody has started asks for nothing.
func Conclusion(status, reason string, mayFail bool) (ended bool, c vcs.Conclusion) {
	switch status {
	case "success":
		return true, vcs.ConclusionSuccess
	case "failed":
		switch {
		case mayFail:
			return true, vcs.ConclusionNeutral
		case reason == "job_execution_timeout" || reason == "stuck_or_timeout_failure":
			return true, vcs.ConclusionTimedOut
		}
		return true, vcs.ConclusionFailure
	case "canceled":
		return true, vcs.ConclusionCanceled
	case "skipped", "manual":
		return true, vcs.ConclusionSkipped
	}
	return false, ""
}
