package gitlabhook

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/scan"
)

// object is what a payload is about, as its object_kind says.
type object string

// The objects that anything is read of.
const (
	objectNote         object = "note"
	objectIssue        object = "issue"
	objectWorkItem     object = "work_item"
	objectMergeRequest object = "merge_request"
	objectPipeline     object = "pipeline"
	objectBuild        object = "build"
	objectPush         object = "push"
)

// used reports whether any payload about the object is used.
func (o object) used() bool {
	switch o {
	case objectNote, objectIssue, objectWorkItem, objectMergeRequest, objectPipeline, objectBuild, objectPush:
		return true
	}
	return false
}

const confidentialName = "Confidential "

// mixed reports the names under which payloads about anything come: of system
// hooks, and of hooks that an integration has.
func mixed(name string) bool { return name == "System Hook" || name == "Service Hook" }

// objectOf is what an event's name says that its payload is about; empty for
// names that nothing reacts to.
func objectOf(name string) object {
	switch strings.TrimPrefix(name, confidentialName) {
	case "Note Hook":
		return objectNote
	case "Issue Hook", "Work Item Hook":
		return objectIssue
	case "Merge Request Hook":
		return objectMergeRequest
	case "Pipeline Hook":
		return objectPipeline
	case "Job Hook", "Build Hook":
		return objectBuild
	case "Push Hook":
		return objectPush
	}
	return ""
}

// known reports whether any payload under the name is used.
func known(name string) bool { return mixed(name) || objectOf(name) != "" }

// fits reports whether the name and the payload agree: a signature covers the
// payload and not the headers.
func fits(name string, o object) bool {
	if o == objectWorkItem {
		o = objectIssue
	}
	return mixed(name) || objectOf(name) == o
}

// EventName is the name of the event that a stored payload is of, as GitLab's
// header has it; of a payload that nothing reacts to, "System Hook", under which
// anything may come. Its error wraps vcs.ErrInvalid when the payload does not
// say what it is.
func EventName(body []byte) (string, error) {
	w, err := scan.NewDecoder[kinds]().Decode(body)
	if err != nil {
		return "", fmt.Errorf("%w: payload: %w", vcs.ErrInvalid, err)
	}
	prefix := ""
	if confidential(w.EventType) {
		prefix = confidentialName
	}
	switch w.ObjectKind {
	case objectNote:
		return prefix + "Note Hook", nil
	case objectIssue, objectWorkItem:
		return prefix + "Issue Hook", nil
	case objectMergeRequest:
		return "Merge Request Hook", nil
	case objectPipeline:
		return "Pipeline Hook", nil
	case objectBuild:
		return "Job Hook", nil
	case objectPush:
		return "Push Hook", nil
	}
	if w.ObjectKind == "" && w.EventName == "" {
		return "", fmt.Errorf("%w: payload has neither object_kind nor event_name", vcs.ErrInvalid)
	}
	return "System Hook", nil
}

// confidential reads an event_type.
func confidential(eventType string) bool { return strings.HasPrefix(eventType, "confidential_") }

// The reasons of a Glance.
const (
	reasonEvent     = "event not used"
	reasonAction    = "action not used"
	reasonMismatch  = "event and payload differ"
	reasonSystem    = "system note"
	reasonElsewhere = "note on something else"
	reasonRunning   = "check has not ended"
	reasonTag       = "tag pipeline"
	reasonChild     = "child pipeline"
	reasonGroup     = "not of a project"
)

// facts are what decides whether a payload is used.
type facts struct {
	object object
	action string
	// Of a note.
	system bool
	on     string
	// Of a pipeline or job.
	status, source string
	tag            bool
}

// ignore is why a payload is not used, and empty when it is.
func (f facts) ignore(name string) string {
	switch {
	case !known(name) || !f.object.used():
		return reasonEvent
	case !fits(name, f.object):
		return reasonMismatch
	}
	switch f.object {
	case objectNote:
		return f.ignoreNote()
	case objectPipeline, objectBuild:
		return f.ignoreCheck()
	case objectPush:
		return ""
	default:
	}
	if f.kind() == vcs.EventUnsupported {
		return reasonAction
	}
	return ""
}

func (f facts) ignoreNote() string {
	switch {
	case f.system:
		return reasonSystem
	case onMergeRequest(f.on) || onIssue(f.on):
	default:
		return reasonElsewhere
	}
	if f.kind() == vcs.EventUnsupported {
		return reasonAction
	}
	return ""
}

func onIssue(on string) bool { return on == "Issue" || on == "WorkItem" }

func onMergeRequest(on string) bool { return on == "MergeRequest" }

func (f facts) ignoreCheck() string {
	switch {
	case f.tag:
		return reasonTag
	case f.source == "parent_pipeline":
		return reasonChild
	case !ended(f.status):
		return reasonRunning
	}
	return ""
}

// ended reports a status that only a retry leaves. A pipeline that waits for a
// manual job has not failed, and may still.
func ended(status string) bool {
	switch status {
	case "success", "failed", "canceled", "skipped":
		return true
	}
	return false
}

// kind is the event's, as far as the action tells: an update is what its
// changes say, and a note on a diff is a review.
func (f facts) kind() vcs.EventKind {
	switch f.object {
	case objectNote:
		if f.action == "create" || f.action == "update" || f.action == "" { // versions before 16.11 do not say
			return vcs.EventComment
		}
	case objectIssue, objectWorkItem, objectMergeRequest:
		return threadKind(f.action)
	case objectPipeline, objectBuild:
		return vcs.EventCheck
	case objectPush:
		return vcs.EventPush
	}
	return vcs.EventUnsupported
}

func threadKind(action string) vcs.EventKind {
	switch action {
	case "open":
		return vcs.EventOpened
	case "update":
		return vcs.EventComment
	case "close", "merge":
		return vcs.EventClosed
	}
	return vcs.EventUnsupported
}

// unusable is the error of a verified payload that cannot be used.
func unusable(name string, err error) error {
	return fmt.Errorf("%w: payload of %s: %w", webhook.ErrUnusable, name, err)
}

func missing(what string) error { return fmt.Errorf("%w: no %s", vcs.ErrInvalid, what) }
