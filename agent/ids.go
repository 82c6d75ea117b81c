package agent

import (
	"fmt"

	"github.com/greenwright/greenwright/agent/model"
)

// maxIDLength is the strictest limit among the vendors (Anthropic and OpenAI
// Responses both refuse more than 64).
const maxIDLength = 64

// ids makes the calls of a transcript tell apart: servers leave ids out,
// repeat them, or use characters that others refuse.
type ids struct {
	seen map[string]bool
	next int
}

func newIDs() *ids { return &ids{seen: make(map[string]bool)} }

// fix gives every call of m an id that is legal and new in the transcript.
func (i *ids) fix(m *model.Message) {
	for p, part := range m.Parts {
		if part.Kind != model.PartToolCall || part.Call == nil {
			continue
		}
		call := *part.Call
		for !legalID(call.ID) || i.seen[call.ID] {
			i.next++
			call.ID = fmt.Sprintf("call_gw_%d", i.next)
		}
		i.seen[call.ID] = true
		m.Parts[p].Call = &call
	}
}

func legalID(id string) bool {
	if id == "" || len(id) > maxIDLength {
		return false
	}
	for _, c := range []byte(id) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
