package gitlabhook

import (
	"encoding/json"
	"fmt"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/scan"
)

// Parse decodes a payload. What nothing reacts to gives an Event of kind
// EventUnsupported; a name, number or object name that is not acceptable gives
// an error that wraps vcs.ErrInvalid.
func (p *Parser) Parse(name string, id vcs.DeliveryID, body []byte) (vcs.Event, error) {
	e := vcs.Event{Forge: vcs.GitLab, Name: within(name, isNameChar), DeliveryID: id, Kind: vcs.EventUnsupported}
	if !known(name) || mixed(name) && p.unused(body) {
		return e, nil
	}
	w, err := p.payloads.Decode(body)
	if err != nil {
		return vcs.Event{}, unusable(name, fmt.Errorf("%w: %w", vcs.ErrInvalid, err))
	}
	if !w.ObjectKind.used() || !fits(name, w.ObjectKind) || w.Project == nil && w.Repository == nil {
		return e, nil
	}
	c := converter{event: &e, wire: &w, parser: p}
	if err := c.convert(); err != nil {
		return vcs.Event{}, unusable(name, err)
	}
	return e, nil
}

// converter fills one event from one payload.
type converter struct {
	event  *vcs.Event
	wire   *payload
	parser *Parser
}

func (c converter) convert() (err error) {
	if c.event.Repo, err = c.repo(); err != nil {
		return err
	}
	switch c.wire.ObjectKind {
	case objectPipeline:
		return c.pipeline()
	case objectBuild:
		return c.job()
	default: // only there is the user who did it; see glance.sender
	}
	if c.event.Actor, err = actorOf(c.wire.User); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	return c.written()
}

// written is an event that its actor caused.
func (c converter) written() error {
	switch c.wire.ObjectKind {
	case objectNote:
		return c.note()
	case objectIssue, objectWorkItem:
		return c.issue()
	case objectMergeRequest:
		return c.mergeRequest()
	case objectPush:
		return c.push()
	default:
	}
	return fmt.Errorf("%w: no conversion", vcs.ErrInvalid)
}

// decide sets the event's action and kind, and reports whether to go on.
func (c converter) decide(f facts) bool {
	f.object = c.wire.ObjectKind
	f.action = within(f.action, isWordChar)
	c.event.Action = f.action
	if f.ignore(c.event.Name) != "" {
		return false
	}
	c.event.Kind = f.kind()
	return true
}

// attributes decodes object_attributes.
func attributes[T any](d scan.Decoder[T], raw json.RawMessage) (T, error) {
	if len(raw) == 0 {
		var none T
		return none, missing("object_attributes")
	}
	w, err := d.Decode(raw)
	if err != nil {
		return w, fmt.Errorf("%w: object_attributes: %w", vcs.ErrInvalid, err)
	}
	return w, nil
}
