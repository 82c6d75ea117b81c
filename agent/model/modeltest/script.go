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
	// Protocol is one of [Protocols], or "model" in process.
	Protocol  string
	System    string
	Messages  []model.Message
	Tools     []string
	NoCalls   bool
	MaxOutput int    // the limit of the reply in tokens; 0 where none was sent
	Window    int    // options.num_ctx of Ollama, else 0
	Raw       []byte // the body; empty in process
}

// The protocols that the server speaks.
const (
	ProtocolAnthropic = "anthropic"
	ProtocolResponses = "responses"
	ProtocolChat      = "chat"
	ProtocolOllama    = "ollama"
	ProtocolGemini    = "gemini"
)

// Protocols are all that the server speaks.
func Protocols() []string {
	return []string{ProtocolAnthropic, ProtocolResponses, ProtocolChat, ProtocolOllama, ProtocolGemini}
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
	FaultPage        Fault = "page"         // Reply.Status with Reply.Message as the whole body: a proxy's page, or nothing
	FaultCutStream   Fault = "cut_stream"   // the connection ends inside the reply
	FaultCutEnd      Fault = "cut_end"      // the connection ends when all is said but the end
	FaultSilent      Fault = "silent"       // the stream starts and then nothing comes
	FaultMalformed   Fault = "malformed"    // an event that is no JSON
	FaultStreamError Fault = "stream_error" // an error event after status 200
	FaultMaxTokens   Fault = "max_tokens"   // the output limit ends the reply inside its last part
	FaultMissingIDs  Fault = "missing_ids"  // calls come without ids
	FaultRefusal     Fault = "refusal"      // the vendor's policy declines
	FaultOverflow    Fault = "overflow"     // the prompt is too long
	FaultRepeatedIDs Fault = "repeated_ids" // calls come with the same id, in Chat at index 0 without one
	FaultTextCalls   Fault = "text_calls"   // calls come in the text, in Hermes' form
	FaultStopCut     Fault = "stop_cut"     // the output limit ends the reply, but the server says that it ended well
	FaultOpenBlock   Fault = "open_block"   // Anthropic: blocks begin and never stop
	FaultSilentCut   Fault = "silent_cut"   // Ollama: a part of the prompt is dropped without a word
)

// Reply is one reply. The zero value is an empty reply.
type Reply struct {
	Thinking string
	Redacted string // Anthropic: thinking that is not shown
	StopWord string // Anthropic: the stop reason, instead of what follows from the rest
	Text     string
	Calls    []Call
	Usage    model.Usage // made up when zero

	Fault      Fault
	Status     int           // for FaultStatus and FaultPage
	Message    string        // for FaultStatus and FaultPage; the event of FaultStreamError if set
	RetryAfter time.Duration // for FaultStatus

	window int  // the request's, for FaultSilentCut
	made   bool // the usage is made up
}

// cutsArguments says whether the last call of the reply ends inside its arguments.
func (r Reply) cutsArguments() bool { return r.Fault == FaultMaxTokens || r.Fault == FaultStopCut }

// dressed is the reply as its fault has the server write it.
func (r Reply) dressed(req Request) Reply {
	r.window = req.Window
	if r.made && req.Protocol == ProtocolOllama { // its driver checks the count against the request
		r.Usage.Input = max(r.Usage.Input, int64(len(req.Raw)*2/7))
	}
	switch r.Fault {
	case FaultRepeatedIDs:
		calls := append([]Call(nil), r.Calls...)
		for i := range calls {
			calls[i].ID = "call_same"
		}
		r.Calls = calls
	case FaultTextCalls:
		for _, c := range r.Calls {
			r.Text += fmt.Sprintf("\n<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", c.Name, c.arguments())
		}
		r.Calls = nil
	case FaultStopCut:
		r.Usage.Output = int64(max(req.MaxOutput, 1))
	case FaultNone, FaultStatus, FaultPage, FaultCutStream, FaultCutEnd, FaultSilent, FaultMalformed, FaultStreamError,
		FaultMaxTokens, FaultMissingIDs, FaultRefusal, FaultOverflow, FaultOpenBlock, FaultSilentCut:
	}
	return r
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

// FailPage is a step that answers with a status and a body that is not the
// service's own: a proxy's page, or nothing at all.
func FailPage(status int, body string) Step {
	return func(Request) Reply { return Reply{Fault: FaultPage, Status: status, Message: body} }
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
		reply.Usage, reply.made = model.Usage{Input: 1_000, Output: 50}, true
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
