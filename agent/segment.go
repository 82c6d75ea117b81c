package agent

import (
	"slices"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
)

// segment folds entries to the part of the transcript that they stand for.
type segment struct {
	messages []model.Message
	role     Role             // of the last request
	calls    []model.ToolCall // of the last reply, as long as they are open
	results  map[string]*tool.Result
	answers  int // where the last message of results is, counted from 1
}

func newSegment() *segment { return &segment{results: make(map[string]*tool.Result)} }

func (s *segment) take(e Entry) {
	switch {
	case e.Kind == EntryRequest && e.Request != nil:
		s.role = e.Request.Role
	case e.Kind == EntryReply && e.Reply != nil && (s.role == RolePlan || s.role == RoleEdit):
		s.answer()
		if len(e.Reply.Message.Parts) > 0 {
			s.messages = append(s.messages, e.Reply.Message)
		}
		s.calls = e.Reply.Message.Calls()
	case e.Kind == EntryFinished && e.Call != nil:
		s.results[e.Call.Call.ID] = e.Call.Result
	case e.Kind == EntryMessage && e.Message != nil:
		s.answer()
		s.messages = append(s.messages, *e.Message)
	}
}

// answer appends the results of the open calls, once there are some.
func (s *segment) answer() {
	if len(s.calls) == 0 {
		return
	}
	answers := make([]model.ToolResult, 0, len(s.calls))
	for _, c := range s.calls {
		res := s.results[c.ID]
		if res == nil { // open, and so are those behind it
			return
		}
		answers = append(answers, model.ToolResult{CallID: c.ID, Text: notOurs(res.Text), Error: !res.OK})
	}
	s.messages = append(s.messages, model.Results(answers...))
	s.answers, s.calls = len(s.messages), nil
}

// closed is the messages at a boundary; line stands behind the last result.
func (s *segment) closed(line string) []model.Message {
	s.answer()
	if line == "" || s.answers == 0 {
		return s.messages
	}
	out := slices.Clone(s.messages)
	m := &out[s.answers-1]
	m.Parts = slices.Clone(m.Parts)
	last := *m.Parts[len(m.Parts)-1].Result
	last.Text += line
	m.Parts[len(m.Parts)-1].Result = &last
	return out
}
