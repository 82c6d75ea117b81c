package githubhook

import (
	"fmt"

	"github.com/greenwright/greenwright/vcs"
)

// Parse decodes a payload. Events and actions that nothing reacts to give an
// Event of kind EventUnsupported; a name, number or object name that is not
// acceptable gives an error that wraps vcs.ErrInvalid.
func (p *Parser) Parse(name string, id vcs.DeliveryID, body []byte) (vcs.Event, error) {
	if !within(name, isEventChar) {
		return vcs.Event{}, fmt.Errorf("%w: event name", vcs.ErrInvalid)
	}
	w, err := p.payload.Decode(body)
	if err != nil {
		return vcs.Event{}, fmt.Errorf("event %s: %w: payload: %w", name, vcs.ErrInvalid, err)
	}
	e := vcs.Event{Forge: vcs.GitHub, Name: name, DeliveryID: id, Kind: kind(name, w.Action)}
	if w.Action != "" {
		if !within(w.Action, isEventChar) {
			return vcs.Event{}, fmt.Errorf("event %s: %w: action", name, vcs.ErrInvalid)
		}
		e.Action = w.Action
	}
	c := converter{event: &e, wire: &w}
	if err := c.convert(); err != nil {
		return vcs.Event{}, fmt.Errorf("event %s: %w", name, err)
	}
	return e, nil
}

// converter fills one event from one payload.
type converter struct {
	event *vcs.Event
	wire  *payload
}

func (c converter) convert() error {
	if err := c.common(); err != nil {
		return err
	}
	switch c.event.Kind {
	case vcs.EventUnsupported, vcs.EventPing:
		return nil
	case vcs.EventInstall:
		return c.install()
	default:
	}
	if c.event.Repo.IsZero() {
		return fmt.Errorf("%w: no repository", vcs.ErrInvalid)
	}
	switch c.event.Kind {
	case vcs.EventComment, vcs.EventOpened, vcs.EventReview, vcs.EventLabeled, vcs.EventAssigned, vcs.EventClosed:
		if c.event.Actor.ID == 0 {
			return fmt.Errorf("%w: no sender", vcs.ErrInvalid)
		}
	default: // checks and pushes are judged by what they say, not by who
	}
	return c.byName()
}

func (c converter) byName() error {
	switch c.event.Name {
	case "issue_comment":
		return c.issueComment()
	case "pull_request_review_comment":
		return c.reviewComment()
	case "issues":
		return c.issues()
	case "pull_request":
		return c.pullRequest()
	case "pull_request_review":
		return c.review()
	case checkRunEvent:
		return c.checkRun()
	case "check_suite":
		return c.checkSuite()
	case "workflow_run":
		return c.workflowRun()
	case "status":
		return c.status()
	case "push":
		return c.push()
	}
	return fmt.Errorf("%w: no conversion", vcs.ErrInvalid)
}

// common fills repository and actor, where the payload has them.
func (c converter) common() (err error) {
	if r := c.wire.Repository; r != nil {
		if c.event.Repo, err = repoOf(r); err != nil {
			return err
		}
	}
	if c.event.Actor, err = actorOf(c.wire.Sender); err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	return nil
}
