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
		step, ok := matchStep(job, s.Name, namesakes(ci.Steps, s))
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

// namesakes counts the steps of the same name before one.
func namesakes(steps []vcs.CheckStep, of vcs.CheckStep) int {
	n := 0
	for _, s := range steps {
		if s.Number < of.Number && strings.TrimSpace(s.Name) == strings.TrimSpace(of.Name) {
			n++
		}
	}
	return n
}

// matchStep is the step that is shown by a name, after so many others that are.
func matchStep(j workflow.Job, name string, after int) (found workflow.Step, ok bool) {
	for _, s := range j.Steps {
		if strings.TrimSpace(s.Name) != strings.TrimSpace(name) {
			continue
		}
		if found, ok = s, true; after == 0 {
			break
		}
		after--
	}
	return found, ok
}

// MaxLog is how much of a log is read at most.
const MaxLog = 16 << 20
