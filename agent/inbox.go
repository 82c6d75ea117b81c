package agent

import (
	"context"
	"slices"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
)

// takeInbox appends messages that arrived.
func (r *run) takeInbox(ctx context.Context) error {
	for h := r.upcoming(); h != nil && h.Kind == EntryMessage && h.Said == SaidPerson; h = r.upcoming() {
		if err := r.hear(ctx, Message{}); err != nil {
			return err
		}
	}
	if !r.live() {
		return nil
	}
	arrived, err := r.arrivals(ctx)
	if err != nil {
		return err
	}
	return r.hearAll(ctx, arrived)
}

// arrivals are the messages that were not heard before. Of those that were,
// the inbox is told once more.
func (r *run) arrivals(ctx context.Context) ([]Message, error) {
	if r.agent.cfg.Inbox == nil {
		return nil, nil
	}
	all, err := r.agent.cfg.Inbox.Messages(ctx)
	if err != nil {
		return nil, err
	}
	var fresh []Message
	var known []string
	for _, m := range all {
		if r.heard[m.ID] && !r.holds(m.ID) {
			known = append(known, m.ID)
		} else if !r.heard[m.ID] {
			fresh = append(fresh, m)
		}
	}
	if len(known) > 0 {
		if err := r.agent.cfg.Inbox.Taken(ctx, known...); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

// holds says that a message waits for the results of this step.
func (r *run) holds(id string) bool {
	return slices.ContainsFunc(r.late, func(m Message) bool { return m.ID == id })
}

// hearAll lets messages join the transcript, then has them taken.
func (r *run) hearAll(ctx context.Context, messages []Message) error {
	ids := make([]string, len(messages))
	for i, m := range messages {
		if err := r.hear(ctx, m); err != nil {
			return err
		}
		ids[i] = m.ID
	}
	if len(ids) == 0 || r.agent.cfg.Inbox == nil {
		return nil
	}
	return r.agent.cfg.Inbox.Taken(ctx, ids...)
}

// hear lets one message join the transcript.
func (r *run) hear(ctx context.Context, m Message) error {
	text, _ := tool.Cut(inboxText(m), r.window.ItemBytes(), 0.7)
	return r.sayFrom(ctx, Entry{
		Said: SaidPerson, From: &Sender{ID: m.ID, Author: m.Author}, Message: new(model.Text(model.RoleUser, text)),
	})
}
