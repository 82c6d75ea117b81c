package githubhook

import (
	"fmt"
	"strconv"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/scan"
)

// The reasons of a Glance.
const (
	reasonEvent    = "event not used"
	reasonAction   = "action not used"
	reasonOwnCheck = "own check"
)

// checkRunEvent is the one event that is looked into by Peek.
const checkRunEvent = "check_run"

// kind maps an event's name and action; an absent row is EventUnsupported. An
// event without an action has its row under "".
func kind(name, action string) vcs.EventKind {
	switch name {
	case "issue_comment", "pull_request_review_comment":
		switch action {
		case "created", "edited":
			return vcs.EventComment
		}
	case "issues", "pull_request":
		return threadKind(name, action)
	case "pull_request_review":
		if action == "submitted" {
			return vcs.EventReview
		}
	case checkRunEvent, "check_suite", "workflow_run":
		if action == "completed" {
			return vcs.EventCheck
		}
	case "status":
		return vcs.EventCheck
	case "push":
		return vcs.EventPush
	case "ping":
		return vcs.EventPing
	case "installation", "installation_repositories":
		return vcs.EventInstall
	}
	return vcs.EventUnsupported
}

func threadKind(name, action string) vcs.EventKind {
	switch action {
	case "opened":
		return vcs.EventOpened
	case "edited":
		return vcs.EventComment
	case "closed":
		return vcs.EventClosed
	case "labeled":
		return vcs.EventLabeled
	case "assigned":
		return vcs.EventAssigned
	case "synchronize":
		if name == "pull_request" {
			return vcs.EventPush
		}
	}
	return vcs.EventUnsupported
}

// known reports whether any action of the event is used.
func known(name string) bool {
	switch name {
	case "issue_comment", "pull_request_review_comment", "issues", "pull_request", "pull_request_review",
		checkRunEvent, "check_suite", "workflow_run", "status", "push", "ping", "installation", "installation_repositories":
		return true
	}
	return false
}

// hasAction reports events whose payload always says an action.
func hasAction(name string) bool {
	switch name {
	case "status", "push", "ping":
		return false
	}
	return known(name)
}

// senderWrote is false for the checks that GitHub attributes to whoever pushed.
func senderWrote(name string) bool {
	return name != checkRunEvent && name != "check_suite" && name != "workflow_run"
}

// Peek reads the action, the sender's id and a check's app, and skips the rest.
func (p *Parser) Peek(name string, body []byte) (webhook.Glance, error) {
	var g webhook.Glance
	var sender, appID int64
	s := scan.New(body)
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "action":
			g.Action, err = shortText(s)
		case "sender":
			sender, err = member(s, "id")
		case "check_run": // the member has the event's name
			appID, err = member(s, "app", "id")
		default:
			_, err = s.Value()
		}
		return err
	})
	if err == nil && !s.End() {
		err = scan.ErrSyntax
	}
	if err == nil && g.Action == "" && hasAction(name) {
		err = missing("action")
	}
	if err != nil {
		return webhook.Glance{}, fmt.Errorf("%w: payload of %s: %w", vcs.ErrInvalid, name, err)
	}
	if senderWrote(name) {
		g.Sender = sender
	}
	g.Ignore = p.ignore(name, g.Action, appID)
	return g, nil
}

func (p *Parser) ignore(name, action string, appID int64) string {
	switch {
	case !known(name):
		return reasonEvent
	case kind(name, action) == vcs.EventUnsupported:
		return reasonAction
	case name == checkRunEvent && p.appID != 0 && appID == p.appID:
		return reasonOwnCheck
	}
	return ""
}

// shortText reads a string of plain characters; anything else reads as empty,
// and so as an action that is not used.
func shortText(s *scan.Scanner) (string, error) {
	v, err := s.Value()
	if err != nil || len(v) < 2 || v[0] != '"' || !within(string(v[1:len(v)-1]), isEventChar) {
		return "", err
	}
	return string(v[1 : len(v)-1]), nil
}

// member reads the integer at a path of member names, 0 when there is none.
func member(s *scan.Scanner, path ...string) (n int64, err error) {
	if len(path) == 0 {
		v, err := s.Value()
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			return 0, nil //nolint:nilerr // not an integer: no member of ours
		}
		return n, nil
	}
	if s.Next() != '{' {
		_, err := s.Value()
		return 0, err
	}
	err = s.Object(func(key []byte) (err error) {
		if string(key) == path[0] {
			n, err = member(s, path[1:]...)
			return err
		}
		_, err = s.Value()
		return err
	})
	return n, err
}
