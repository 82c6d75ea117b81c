package agent_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
)

// lostCall is the call of which the last results say that its end is not known.
func lostCall(messages []model.Message) (model.ToolCall, bool) {
	for i := len(messages) - 1; i > 0 && messages[i].Role != model.RoleAssistant; i-- {
		for _, p := range messages[i].Parts {
			if p.Result != nil && strings.HasPrefix(p.Result.Text, string(tool.CodeUncertain)) {
				return callOf(messages, p.Result.CallID), true
			}
		}
	}
	return model.ToolCall{}, false
}

func callOf(messages []model.Message, id string) model.ToolCall {
	for _, m := range messages {
		for _, c := range m.Calls() {
			if c.ID == id {
				return c
			}
		}
	}
	return model.ToolCall{}
}

var (
	stepNumber = regexp.MustCompile(`step \d+ of \d+; \d+ %`)
	movedMark  = "Platform notice: the worker that ran this is lost or was replaced"
)

// undisturbed is a transcript without what a lost worker left in it: the
// notice, and a command that was run again in the place of the one whose end is
// not known. The numbers of steps are left out with them.
func undisturbed(t *testing.T, messages []model.Message) string {
	t.Helper()
	var out []model.Message
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if strings.HasPrefix(m.Plain(), movedMark) {
			continue
		}
		if calls := m.Calls(); len(calls) == 1 && strings.HasPrefix(calls[0].ID, "again") {
			at := len(out) - 1
			for out[at].Role != model.RoleTool {
				at--
			}
			lost := &out[at]
			answer := *messages[i+1].Parts[0].Result
			answer.CallID = lost.Parts[len(lost.Parts)-1].Result.CallID
			lost.Parts[len(lost.Parts)-1].Result = &answer
			i++
			continue
		}
		m.Parts = append([]model.Part(nil), m.Parts...)
		out = append(out, m)
	}
	data, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return stepNumber.ReplaceAllString(string(data), "step")
}
