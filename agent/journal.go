package agent

import (
	"context"
	"fmt"

	"github.com/greenwright/greenwright/agent/model"
)

// record hands one entry to the journal. The journal outlives a canceled run
// by recordTimeout, so that what was begun is also recorded to its end.
func (r *run) record(ctx context.Context, e Entry) error {
	if r.agent.cfg.Recorder == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	e.Time, e.Step, e.Phase = r.agent.cfg.Now(), r.out.Steps, r.phase.now
	if err := r.agent.cfg.Recorder.Record(ctx, e); err != nil {
		return fmt.Errorf("recording %s: %w", e.Kind, err)
	}
	return nil
}

// say appends a message of the platform or of a person to the transcript.
func (r *run) say(ctx context.Context, m model.Message) error {
	if err := r.record(ctx, Entry{Kind: EntryMessage, Message: &m}); err != nil {
		return err
	}
	r.window.Append(m)
	return nil
}

func (r *run) note(ctx context.Context, text string) error {
	return r.record(ctx, Entry{Kind: EntryNotice, Notice: text})
}
