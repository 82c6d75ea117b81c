package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// toolName is the tool that the probe offers; it is never run.
const toolName = "note_word"

func offered() []model.ToolSpec {
	return []model.ToolSpec{{
		Name: toolName, Description: "Notes one word.",
		Schema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`),
	}}
}

func (p *prober) found(question string, ok bool, took time.Duration, detail string, args ...any) {
	p.report.Findings = append(p.report.Findings, Finding{Question: question, OK: ok, Took: took.Round(time.Millisecond),
		Detail: fmt.Sprintf(detail, args...)})
}

// stream asks for a word: does the endpoint answer, and does it tell usage? An
// endpoint that does not is not asked any more.
func (p *prober) stream(ctx context.Context) error {
	res, took, err := p.ask(ctx, model.Request{System: []string{"You are brief."},
		Messages: []model.Message{model.Text(model.RoleUser, "Answer with the one word: ready")}})
	switch {
	case err != nil:
		p.found(QuestionStream, false, took, "%v", err)
		return fmt.Errorf("asking %s for a word: %w", p.report.Model, err)
	case res.Usage.InputTotal() == 0:
		p.found(QuestionStream, true, took, "answers, but tells no usage: budgets go by estimates")
	case res.Message.Plain() == "":
		p.found(QuestionStream, true, took, "answers without text (%s)", res.StopReason)
	default:
		p.found(QuestionStream, true, took, "answers and tells its usage")
	}
	return nil
}

// tools asks for one call: does it come as one, or in the text, and in which form?
func (p *prober) tools(ctx context.Context) {
	req := model.Request{System: []string{"You act by calling tools."}, Tools: offered(),
		Messages: []model.Message{model.Text(model.RoleUser, "Call "+toolName+" with the word green. Do not answer in text.")}}
	res, took, err := p.ask(ctx, req)
	if err != nil {
		p.found(QuestionTools, false, took, "%v", err)
		return
	}
	if calls := whole(res.Message.Calls()); len(calls) > 0 {
		if model.Is(p.report.Capabilities.Tools) || p.report.Capabilities.Tools == nil {
			p.report.Capabilities.Tools = model.Flag(true)
		}
		p.found(QuestionTools, true, took, "calls a tool%s", madeIDs(calls))
		return
	}
	for _, f := range model.CallFormats() {
		calls, _ := model.TextCalls(res.Message.Plain(), []model.CallFormat{f}, req.Tools)
		if len(calls) == 0 {
			continue
		}
		next := p.report.Capabilities
		if !slices.Contains(next.TextCalls, f) {
			next.TextCalls = append(slices.Clone(next.TextCalls), f)
		}
		if err := p.reopen(next); err != nil {
			p.found(QuestionTools, false, took, "%v", err)
			return
		}
		p.found(QuestionTools, true, took, "writes its calls into the text, in the form %s: switched on", f)
		return
	}
	p.found(QuestionTools, false, took, "calls no tool (%s): it wrote %q", res.StopReason, short(res.Message.Plain()))
}

// whole are the calls that could be run.
func whole(calls []model.ToolCall) []model.ToolCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c model.ToolCall) bool {
		var args struct {
			Word string `json:"word"`
		}
		return c.Cut || c.Name != toolName || json.Unmarshal(c.Arguments, &args) != nil || args.Word == ""
	})
}

func madeIDs(calls []model.ToolCall) string {
	for _, c := range calls {
		if model.MadeCallID(c.ID) {
			return ", without an id that can be used: ids are made here"
		}
	}
	return ""
}

// parallel asks for two calls at once, and once more with the flag that
// llama.cpp wants.
func (p *prober) parallel(ctx context.Context) {
	req := model.Request{System: []string{"You act by calling tools, several at once where you can."}, Tools: offered(),
		Messages: []model.Message{model.Text(model.RoleUser, "Call "+toolName+" twice in one reply: with the word red and with the word green.")}}
	res, took, err := p.ask(ctx, req)
	if err == nil && len(whole(res.Message.Calls())) < 2 && p.report.Capabilities.ParallelCalls == nil {
		before := p.report.Capabilities
		next := before
		next.ParallelCalls = model.Flag(true)
		if p.reopen(next) == nil {
			res, took, err = p.ask(ctx, req)
		}
		if err != nil || len(whole(res.Message.Calls())) < 2 {
			if again := p.reopen(before); again != nil {
				err = again
			}
		}
	}
	switch n := len(whole(res.Message.Calls())); {
	case err != nil:
		p.found(QuestionParallel, false, took, "%v", err)
	case n < 2:
		p.found(QuestionParallel, false, took, "%d calls in a reply: one at a time", n)
	default:
		p.found(QuestionParallel, true, took, "%d calls in a reply", n)
	}
}

// codeWord stands at the beginning of the long input, where servers cut.
const codeWord = "kestrel"

// long asks for the first word of a long input: is it refused with numbers, is
// a part of it dropped, or does it fit?
func (p *prober) long(ctx context.Context) {
	text := longText(p.opts.LongTokens)
	req := model.Request{Messages: []model.Message{
		model.Text(model.RoleUser, "The code word is "+codeWord+".\n"+text+"\nWhat is the code word? Answer with it alone.")}}
	res, took, err := p.ask(ctx, req)
	if e, ok := errors.AsType[*model.Error](err); ok && e.Class == model.ClassOverflow {
		p.report.Window = e.Limit
		p.found(QuestionLong, false, took, "%d tokens do not fit: %s", p.opts.LongTokens, short(e.Message))
		return
	}
	if err != nil {
		p.found(QuestionLong, false, took, "%v", err)
		return
	}
	estimate, counted := model.EstimateRequest(req), res.Usage.InputTotal()
	knows := strings.Contains(strings.ToLower(res.Message.Plain()), codeWord)
	switch {
	case counted > 0 && counted*2 < int64(estimate):
		p.report.Window = int(counted)
		p.found(QuestionLong, false, took, "about %d tokens were sent and %d were read: the server drops what does not fit", estimate, counted)
	case !knows && counted == 0:
		p.found(QuestionLong, false, took, "the beginning of the input is gone, and no usage was told: it wrote %q", short(res.Message.Plain()))
	case !knows:
		p.found(QuestionLong, true, took, "%d tokens fit, but the model did not find the word in them", counted)
	default:
		p.found(QuestionLong, true, took, "%d tokens fit", max(counted, int64(p.opts.LongTokens)))
	}
}

// longText is about n tokens of lines that differ, so that no server folds them.
func longText(n int) string {
	var b strings.Builder
	for i := 0; b.Len()*2 < n*7; i++ {
		fmt.Fprintf(&b, "Line %d of the ledger says that parcel %d went to bay %d.\n", i, i*7919%10_007, i*31%97)
	}
	return b.String()
}

// maxShort is how much of a text is quoted in a finding.
const maxShort = 120

func short(text string) string {
	if len(text) > maxShort {
		return strings.ToValidUTF8(text[:maxShort], "") + "…"
	}
	return text
}
