package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// record hands one entry to the journal. The journal outlives a canceled run
// by recordTimeout, so that what was begun is also recorded to its end.
func (r *run) record(ctx context.Context, e Entry) error {
	e.Time, e.Step, e.Phase, e.ElapsedMS = r.agent.cfg.Now(), r.out.Steps, r.phase.now, r.elapsed().Milliseconds()
	r.segment.take(e)
	if r.agent.cfg.Recorder == nil {
		return nil
	}
	limit := recordTimeout
	if ctx.Err() != nil {
		limit = lastRecordTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := r.agent.cfg.Recorder.Record(ctx, e); err != nil {
		return fmt.Errorf("recording %s: %w", e.Kind, err)
	}
	return nil
}

// say appends a message of the platform to the transcript.
func (r *run) say(ctx context.Context, why Saying, m model.Message) error {
	return r.sayFrom(ctx, Entry{Said: why, Message: &m})
}

// sayFrom appends the message of an entry to the transcript; one that is
// recorded already joins as it was recorded. What a person said no compaction
// may lose.
func (r *run) sayFrom(ctx context.Context, e Entry) error {
	e.Kind = EntryMessage
	recorded, err := r.recorded(e.Said)
	switch {
	case err != nil:
		return err
	case recorded != nil:
		e = *recorded
		r.segment.take(e)
	default:
		if err := r.recordSaid(ctx, e); err != nil {
			return err
		}
	}
	r.window.Append(*e.Message)
	if e.From != nil {
		r.people = append(r.people, e.Message.Plain())
		r.heard[e.From.ID] = true
	}
	return nil
}

// recorded is the message that is to be said as a worker before has recorded
// it, nil if none has.
func (r *run) recorded(why Saying) (*Entry, error) {
	h := r.upcoming()
	if h == nil && r.live() {
		return nil, nil //nolint:nilnil // nothing is recorded
	}
	if h == nil || h.Kind != EntryMessage || h.Message == nil || h.Said != why {
		return nil, fmt.Errorf("something else than a message (%s) is recorded: %w", why, errDiverged)
	}
	e, _ := r.tape.pop(EntryMessage)
	return &e, nil
}

// recordSaid records a message, behind the word that another worker goes on.
func (r *run) recordSaid(ctx context.Context, e Entry) error {
	if e.Said != SaidTask && e.Said != SaidMoved {
		if err := r.sayMoved(ctx); err != nil {
			return err
		}
	}
	return r.record(ctx, e)
}

// sayMoved says, once and before anything else, that another worker goes on.
func (r *run) sayMoved(ctx context.Context) error {
	if !r.live() || !r.moved {
		return nil
	}
	r.moved = false
	return r.say(ctx, SaidMoved, model.Text(model.RoleUser, r.movedText()))
}

// upcoming is the next entry that is recorded already. That another worker goes
// on was said by it and not by the step, and is passed.
func (r *run) upcoming() *Entry {
	for {
		h := r.tape.head()
		if h == nil || h.Kind != EntryMessage || h.Said != SaidMoved || h.Message == nil {
			return h
		}
		e, _ := r.tape.pop(EntryMessage)
		r.segment.take(e)
		r.window.Append(*e.Message)
	}
}

func (r *run) note(ctx context.Context, text string) error {
	if r.tape.noted(text) {
		return nil
	}
	return r.record(ctx, Entry{Kind: EntryNotice, Notice: text})
}

// elapsed is how much of its wall clock the run has used.
func (r *run) elapsed() time.Duration { return r.before + max(r.agent.cfg.Now().Sub(r.since), 0) }
