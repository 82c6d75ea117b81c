package model

import (
	"fmt"
	"strconv"
	"strings"
)

// madePrefix begins the ids that were made here; vendors use other ones.
const madePrefix = "call_gw_"

// MaxCallID is the longest id of a call that all vendors accept (Anthropic and
// OpenAI Responses both refuse more than 64 characters).
const MaxCallID = 64

// LegalCallID says whether id matches [a-zA-Z0-9_-]{1,64}.
func LegalCallID(id string) bool {
	if id == "" || len(id) > MaxCallID {
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

// MadeCallID says whether the id was made here because the server sent none
// that could be used. Protocols that pair by order leave such an id out.
func MadeCallID(id string) bool { return strings.HasPrefix(id, madePrefix) }

// CallIDs makes the calls of a transcript tell apart: servers leave ids out,
// repeat them, or use characters that others refuse. It is for one goroutine.
type CallIDs struct {
	seen map[string]bool
	next int
}

// NewCallIDs knows no ids yet.
func NewCallIDs() *CallIDs { return &CallIDs{seen: make(map[string]bool)} }

// Fix gives every call of m an id that is legal and that no call before had.
func (c *CallIDs) Fix(m *Message) {
	for i, p := range m.Parts {
		if p.Kind != PartToolCall || p.Call == nil {
			continue
		}
		call := *p.Call
		for !LegalCallID(call.ID) || c.seen[call.ID] {
			c.next++
			call.ID = fmt.Sprintf("%s%d", madePrefix, c.next)
		}
		c.seen[call.ID] = true
		m.Parts[i].Call = &call
	}
}

// Know notes ids that are in use. Of those that were made here it goes on
// counting, so that whoever goes on with a transcript makes no id twice.
func (c *CallIDs) Know(ids ...string) {
	for _, id := range ids {
		c.seen[id] = true
		if rest, made := strings.CutPrefix(id, madePrefix); made {
			if n, err := strconv.Atoi(rest); err == nil {
				c.next = max(c.next, n)
			}
		}
	}
}

// Known says whether an id is in use.
func (c *CallIDs) Known(id string) bool { return c.seen[id] }

// FixCallIDs gives every call of m an id that is legal and new in before. The
// ids depend on nothing but the arguments, so that a request that is sent
// again gets the same ones.
func FixCallIDs(m *Message, before []Message) {
	if len(m.Calls()) == 0 {
		return
	}
	ids := NewCallIDs()
	for _, old := range before {
		for _, c := range old.Calls() {
			ids.seen[c.ID] = true
			ids.next++
		}
	}
	ids.Fix(m)
}
