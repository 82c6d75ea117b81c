package dispatch

import (
	"context"
	"fmt"
	"strconv"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
)

// answer replies to what needs no job.
func (h *handling) answer(ctx context.Context, p trigger.Proposal) error {
	switch {
	case p.Problem != nil:
		return h.reply(ctx, h.problem(p))
	case p.Command.Verb == jobs.VerbHelp:
		return h.reply(ctx, h.rules.Parser.Help())
	case p.Command.Verb == jobs.VerbAsk:
		return h.reply(ctx, fmt.Sprintf("Ask what? Write the question after `%s ask`.", h.rules.Parser.Prefix))
	}
	return h.reply(ctx, fmt.Sprintf("This version does not do `%s` yet. `%s help` lists what it does.", p.Command.Verb, h.rules.Parser.Prefix))
}

// problem answers what is no command, with the nearest one (rule T4).
func (h *handling) problem(p trigger.Proposal) string {
	text := "Not understood: " + p.Problem.Message + "."
	if p.Problem.Nearest != "" {
		text += fmt.Sprintf(" Did you mean `%s`?", p.Problem.Nearest)
	}
	return journal.Line(text) + fmt.Sprintf(" `%s help` lists the commands.", h.rules.Parser.Prefix)
}

// reply writes one comment per command, edited when the event is handled
// again.
func (h *handling) reply(ctx context.Context, body string) error {
	key := h.ev.Key()
	if h.index > 0 {
		key += "|" + strconv.Itoa(h.index)
	}
	return h.say(ctx, h.ev.Thread, key, body)
}

// say writes the one comment of a key in a thread.
func (h *handling) say(ctx context.Context, thread vcs.Thread, key, body string) error {
	if thread.Number == 0 {
		return nil
	}
	if _, err := h.forge.PutComment(ctx, thread, vcs.StickyComment{Marker: "reply:" + string(jobID(key)), Body: body, Internal: h.ev.Internal()}); err != nil {
		return fromForge("replying", err)
	}
	return nil
}
