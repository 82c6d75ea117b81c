// Package checks finds out what a red check ran: from the CI job that the
// forge names to the step of the workflow file at that commit, and from its
// log to the part worth reading.
//
// It is pure over a workflow's text and a log; jobs/runner fetches both.
package checks

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/jobs/workflow"
	"github.com/greenwright/greenwright/vcs"
)

// Failed is the step that made a check red.
type Failed struct {
	Job  workflow.Job
	Step workflow.Step
}

// Locate finds the failed step of a CI job in its workflow. The error says
// what could not be matched.
func Locate(w workflow.Workflow, ci vcs.CheckJob) (Failed, error) {
	job, ok := matchJob(w, ci.Name)
	if !ok {
		return Failed{}, fmt.Errorf("%s has no job that is shown as %q", w.Path, ci.Name)
	}
	for _, s := range ci.Steps {
		if !s.Conclusion.Red() {
			continue
		}
		step, ok := matchStep(job, s.Name)
		if !ok {
			return Failed{Job: job}, fmt.Errorf("%s, job %q has no step that is shown as %q", w.Path, ci.Name, s.Name)
		}
		return Failed{Job: job, Step: step}, nil
	}
	return Failed{Job: job}, fmt.Errorf("no step of job %q is red", ci.Name)
}

// matchJob compares the names as shown. A job of a called workflow is shown
// as "caller / job".
func matchJob(w workflow.Workflow, name string) (workflow.Job, bool) {
	short := name
	if i := strings.LastIndex(name, " / "); i >= 0 {
		short = name[i+len(" / "):]
	}
	for _, j := range w.Jobs {
		if j.Name == name || j.ID == name || j.Name == short || j.ID == short {
			return j, true
		}
	}
	return workflow.Job{}, false
}

func matchStep(j workflow.Job, name string) (workflow.Step, bool) {
	for _, s := range j.Steps {
		if s.Name == name || strings.TrimSpace(s.Name) == strings.TrimSpace(name) {
			return s, true
		}
	}
	return workflow.Step{}, false
}

// MaxLog is how much of a log is read at most.
const MaxLog = 16 << 20
