package model

import (
	"fmt"
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

// FixCallIDs gives every call of m an id that is legal and new in before. The
// ids depend on nothing but the arguments, so that a request that is sent
// again gets the same ones.
func FixCallIDs(m *Message, before []Message) {
	if len(m.Calls()) == 0 {
		return
	}
	seen, next := make(map[string]bool), 0
	for _, old := range before {
		for _, p := range old.Parts {
			if p.Kind == PartToolCall && p.Call != nil {
				seen[p.Call.ID] = true
				next++
			}
		}
	}
	for i, p := range m.Parts {
		if p.Kind != PartToolCall || p.Call == nil {
			continue
		}
		call := *p.Call
		for !LegalCallID(call.ID) || seen[call.ID] {
			next++
			call.ID = fmt.Sprintf("%s%d", madePrefix, next)
		}
		seen[call.ID] = true
		m.Parts[i].Call = &call
	}
}
