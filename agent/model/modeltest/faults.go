package modeltest

import (
	"net/http"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// FaultCase is one row of the fault suite: what a service does, and what must
// come of it in every protocol. A protocol in which the fault cannot occur says
// why.
type FaultCase struct {
	Name  string
	Steps []Step // the fault and what follows it
	Want  FaultWant
	In    map[string]FaultWant // where a protocol differs
	Not   map[string]string    // protocol: why it has no such fault
}

// FaultWant is the end state of a request that is sent through model.WithRetry.
type FaultWant struct {
	Requests int         // how often it was sent
	Class    model.Class // of the error in the end; empty: a reply
	Stop     model.StopReason
	// Runs are the arguments of the calls that may run: whole and not cut.
	Runs []string
	Cut  int // calls that are marked as cut
	// Wait is the least delay before the first retry.
	Wait time.Duration
	// RetryAfter, Asked and Limit are what the error tells.
	RetryAfter   time.Duration
	Asked, Limit int
}

// For is what is wanted of a protocol, or why it has no such fault.
func (c FaultCase) For(protocol string) (want FaultWant, not string) {
	if why := c.Not[protocol]; why != "" {
		return FaultWant{}, why
	}
	if want, ok := c.In[protocol]; ok {
		return want, ""
	}
	return c.Want, ""
}

// Recovered is the text of the reply that follows a fault which passes.
const Recovered = "recovered"

// SilentStream is the row that needs a driver of little patience.
const SilentStream = "silent stream"

// FaultTool is the tool that the calls of the suite name; its argument is path.
const FaultTool = "look"

// SuiteWindow is the window that Ollama's driver asks for in the suite, in tokens.
const SuiteWindow = 65_536

func look(args ...string) []Call {
	calls := make([]Call, len(args))
	for i, a := range args {
		calls[i] = Call{Name: FaultTool, Args: a}
	}
	return calls
}

func only(why string, but ...string) map[string]string {
	not := make(map[string]string)
	for _, p := range Protocols() {
		not[p] = why
	}
	for _, p := range but {
		delete(not, p)
	}
	return not
}

// Faults is the fault suite: run it through every driver, and a loop over it.
func Faults() []FaultCase {
	return append(append(passing(), final()...), replies()...)
}

// passing are the faults that another try cures.
func passing() []FaultCase {
	again := FaultWant{Requests: 2, Stop: model.StopEnd}
	row := func(name string, fault Step) FaultCase {
		return FaultCase{Name: name, Steps: []Step{fault, Say(Recovered)}, Want: again}
	}
	wait := row("429 with Retry-After", FailStatus(http.StatusTooManyRequests, "slow down", 7*time.Second))
	wait.Want.Wait = 7 * time.Second
	return []FaultCase{
		row("cut stream", Fail(FaultCutStream)),
		row("cut after a whole call", func(Request) Reply { return Reply{Fault: FaultCutEnd, Calls: look(`{"path":"a"}`)} }),
		row(SilentStream, Fail(FaultSilent)),
		wait,
		row("429 without Retry-After", FailStatus(http.StatusTooManyRequests, "slow down", 0)),
		row("429 that speaks of tokens", FailStatus(http.StatusTooManyRequests, "prompt is too long for your rate limit", 0)),
		row("529", FailStatus(529, "overloaded", 0)),
		row("500", FailStatus(http.StatusInternalServerError, "oops", 0)),
		row("502 with a proxy's page", FailPage(http.StatusBadGateway, "<html><body>Bad Gateway</body></html>")),
		row("malformed JSON", Fail(FaultMalformed)),
		row("error after 200", Fail(FaultStreamError)),
	}
}

// final are the faults that no other try cures.
func final() []FaultCase {
	fatal := FaultWant{Requests: 1, Class: model.ClassFatal}
	overflow := FaultWant{Requests: 1, Class: model.ClassOverflow, Asked: 210_000, Limit: 200_000}
	unknown := FaultWant{Requests: 1, Class: model.ClassOverflow}
	silent := FaultWant{Requests: 1, Class: model.ClassOverflow, Asked: SuiteWindow - 1, Limit: SuiteWindow}
	return []FaultCase{
		{Name: "429 that asks for two minutes", Steps: []Step{FailStatus(http.StatusTooManyRequests, "slow down", 2*time.Minute)},
			Want: FaultWant{Requests: 1, Class: model.ClassRetryable, RetryAfter: 2 * time.Minute}},
		{Name: "quota", Steps: []Step{FailStatus(http.StatusTooManyRequests, "insufficient_quota: you exceeded your current quota", 0)}, Want: fatal},
		{Name: "key", Steps: []Step{FailStatus(http.StatusUnauthorized, "bad key", 0)}, Want: fatal},
		{Name: "403 with a proxy's page", Steps: []Step{FailPage(http.StatusForbidden, "<html>no</html>")}, Want: fatal},
		{Name: "context overflow", Steps: []Step{Fail(FaultOverflow)}, Want: overflow},
		{Name: "400 without a body", Steps: []Step{FailPage(http.StatusBadRequest, "")}, Want: unknown},
		{Name: "413 without a body", Steps: []Step{FailPage(http.StatusRequestEntityTooLarge, "")}, Want: unknown},
		{Name: "prompt silently cut", Steps: []Step{Fail(FaultSilentCut)}, Want: silent,
			Not: only("the service refuses what does not fit", ProtocolOllama)},
		{Name: "500 for ever", Steps: forever(FailStatus(http.StatusInternalServerError, "oops", 0)),
			Want: FaultWant{Requests: model.DefaultTries, Class: model.ClassRetryable}},
	}
}

func forever(s Step) []Step {
	steps := make([]Step, model.DefaultTries+1)
	for i := range steps {
		steps[i] = s
	}
	return steps
}

// replies are the faults inside a reply that arrives.
func replies() []FaultCase {
	row := func(name string, r Reply, want FaultWant) FaultCase {
		want.Requests = 1
		return FaultCase{Name: name, Steps: []Step{func(Request) Reply { return r }}, Want: want}
	}
	a, b := `{"path":"a"}`, `{"path":"b"}`
	both := FaultWant{Stop: model.StopToolUse, Runs: []string{a, b}}
	text := row("calls in the text", Reply{Fault: FaultTextCalls, Text: "Looking.", Calls: look(a, b)}, both)
	asText := FaultWant{Requests: 1, Stop: model.StopEnd}
	text.In = map[string]FaultWant{ProtocolAnthropic: asText, ProtocolGemini: asText} // no server of theirs needs it: text is text
	refusal := row("refusal", Reply{Fault: FaultRefusal, Text: "no"}, FaultWant{Stop: model.StopRefusal})
	refusal.Not = map[string]string{ProtocolOllama: "the protocol has no refusal: a model that declines does so in text"}
	said := row("stop although cut", Reply{Fault: FaultStopCut, Calls: look(a, b)}, FaultWant{Stop: model.StopMaxTokens, Runs: []string{a}, Cut: 1})
	said.Not = map[string]string{ProtocolGemini: "arguments come whole, and the service says MAX_TOKENS"}
	open := row("block never stopped", Reply{Fault: FaultOpenBlock, Calls: look(a)}, FaultWant{Stop: model.StopMaxTokens, Cut: 1})
	open.Not = only("the protocol has no blocks", ProtocolAnthropic)
	return []FaultCase{
		row("missing ids", Reply{Fault: FaultMissingIDs, Calls: look(a, b)}, both),
		row("repeated ids", Reply{Fault: FaultRepeatedIDs, Calls: look(a, b)}, both),
		text,
		row("calls in the text to unknown tools", Reply{Fault: FaultTextCalls, Calls: []Call{{Name: "rm", Args: a}}}, FaultWant{Stop: model.StopEnd}),
		refusal,
		row("empty reply", Reply{}, FaultWant{Stop: model.StopEnd}),
		row("output limit", Reply{Fault: FaultMaxTokens, Calls: look(a, b)}, FaultWant{Stop: model.StopMaxTokens, Runs: []string{a}, Cut: 1}),
		said,
		open,
		row("huge reply", Reply{Calls: look(`{"path":"` + strings.Repeat("x", model.MaxReplyBytes+1) + `"}`)}, FaultWant{Stop: model.StopMaxTokens, Cut: 1}),
		row("repetition", Reply{Text: strings.Repeat("I will look at the file again and then decide. ", 2_000), Calls: look(a)}, FaultWant{Stop: model.StopRepetition}),
		row("broken arguments", Reply{Calls: look(`{"path": nope}`)}, FaultWant{Stop: model.StopToolUse}),
		row("arguments that can be mended", Reply{Calls: look("{\"path\":\"a\nb\",}")}, FaultWant{Stop: model.StopToolUse, Runs: []string{`{"path":"a\nb"}`}}),
	}
}
