package modeltest

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// Request is what a step sees of the request it answers.
type Request struct {
	// Protocol is "anthropic", "responses", "chat", or "model" in process.
	Protocol string
	System   string
	Messages []model.Message
	Tools    []string
	NoCalls  bool
	Raw      []byte // the body; empty in process
}

// LastResults are the texts of the tool results that came with the last reply's
// calls, in order.
func (r Request) LastResults() []string {
	var texts []string
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != model.RoleTool {
			continue
		}
		for _, p := range r.Messages[i].Parts {
			if p.Result != nil {
				texts = append(texts, p.Result.Text)
			}
		}
		break
	}
	return texts
}

// Call is a tool call of a reply. Args is a json.RawMessage or string, sent as
// it is, or any value, sent as JSON.
type Call struct {
	ID   string // made up when empty
	Name string
	Args any
}

func (c Call) arguments() string {
	switch a := c.Args.(type) {
	case json.RawMessage:
		return string(a)
	case string:
		return a
	case nil:
		return "{}"
	}
	data, err := json.Marshal(c.Args)
	if err != nil {
		return fmt.Sprintf(`{"unmarshalable": %q}`, err)
	}
	return string(data)
}

// Fault is a way in which a service fails.
type Fault string

// The faults that a [Reply] can have.
const (
	FaultNone        Fault = ""
	FaultStatus      Fault = "status"       // Reply.Status with Reply.RetryAfter
	FaultCutStream   Fault = "cut_stream"   // the connection ends inside the reply
	FaultSilent      Fault = "silent"       // the stream starts and then nothing comes
	FaultMalformed   Fault = "malformed"    // an event that is no JSON
	FaultStreamError Fault = "stream_error" // an error event after status 200
	FaultMaxTokens   Fault = "max_tokens"   // the output limit ends the reply inside its last part
	FaultMissingIDs  Fault = "missing_ids"  // calls come without ids
	FaultRefusal     Fault = "refusal"      // the vendor's policy declines
	FaultOverflow    Fault = "overflow"     // the prompt is too long
)

// Reply is one reply. The zero value is an empty reply.
type Reply struct {
	Thinking string
	Text     string
	Calls    []Call
	Usage    model.Usage // made up when zero

	Fault      Fault
	Status     int           // for FaultStatus
	Message    string        // for FaultStatus
	RetryAfter time.Duration // for FaultStatus
}

// Step answers one request.
type Step func(Request) Reply

// Say is a step that answers in text.
func Say(text string) Step { return func(Request) Reply { return Reply{Text: text} } }

// Do is a step that calls tools.
func Do(calls ...Call) Step { return func(Request) Reply { return Reply{Calls: calls} } }

// Fail is a step that fails.
func Fail(f Fault) Step {
	return func(Request) Reply { return Reply{Text: "partial text", Fault: f} }
}

// FailStatus is a step that answers with an HTTP status.
func FailStatus(status int, message string, retryAfter time.Duration) Step {
	return func(Request) Reply {
		return Reply{Fault: FaultStatus, Status: status, Message: message, RetryAfter: retryAfter}
	}
}

// script hands out steps in order and keeps the requests.
type script struct {
	mu       sync.Mutex // guards all below
	steps    []Step
	next     int
	ids      int
	requests []Request
	faults   []error
}

// take returns the reply to req, or false when the script is at its end.
func (s *script) take(req Request) (Reply, bool) {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	if s.next >= len(s.steps) {
		s.mu.Unlock()
		return Reply{}, false
	}
	step := s.steps[s.next]
	s.next++
	s.mu.Unlock()
	reply := step(req)
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]Call, len(reply.Calls))
	for i, c := range reply.Calls {
		if s.ids++; c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", s.ids)
		}
		calls[i] = c
	}
	reply.Calls = calls
	if reply.Usage == (model.Usage{}) {
		reply.Usage = model.Usage{Input: 1_000, Output: 50}
	}
	return reply, true
}

func (s *script) violate(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, err)
}

// Append adds steps to the end of the script.
func (s *script) Append(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Requests are the requests answered so far.
func (s *script) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Violations are the requests that the real services would have refused.
func (s *script) Violations() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.faults...)
}

// Left is how many steps have not been used.
func (s *script) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps) - s.next
}
