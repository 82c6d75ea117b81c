package agent

import (
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool/plan"
)

// State is how a run ended.
type State string

// The closed set of states.
const (
	StateFinished         State = "finished"          // submitted a change
	StateAnswered         State = "answered"          // submitted an answer
	StateNoChange         State = "no_change"         // submitted without a difference
	StateStalled          State = "stalled"           // stopped calling tools
	StateLooped           State = "looped"            // kept repeating blocked calls
	StateStepLimit        State = "step_limit"        //
	StateCallLimit        State = "call_limit"        //
	StateTimeLimit        State = "time_limit"        // the run's wall clock
	StateOutOfBudget      State = "out_of_budget"     // tokens or money
	StateOutputLimit      State = "output_limit"      // replies cut again and again
	StateFormatErrors     State = "format_errors"     // calls that cannot be read
	StateContextExhausted State = "context_exhausted" // nothing more to leave out
	StateCanceled         State = "canceled"          //
	StateRefused          State = "refused"           // the model's vendor declined
	StateAwaitingApproval State = "awaiting_approval" // policy asks a person first
	StateAsked            State = "asked"             // the agent asks a person
	StateYielded          State = "yielded"           // Config.Yield asked for it; Resume goes on
	StateFailed           State = "failed"            // infrastructure; Run's error says what
)

// PlanItem is one entry of the agent's plan.
type PlanItem = plan.Item

// Outcome is what a run came to.
type Outcome struct {
	State State
	// Reason is the platform's sentence about the state.
	Reason string
	// Summary is the model's own account of its work: untrusted claims.
	Summary string
	// Answer is the text for a task of [KindAnswer]; untrusted.
	Answer string
	// Unverified is the model's reason for submitting without the checks
	// having run after its last edit; empty when it gave none.
	Unverified string
	// Question is what the agent asks, for [StateAsked]; untrusted.
	Question    string
	Steps       int
	ToolCalls   int
	Compactions int
	Usage       model.Usage
	// CostMicroUSD is what the replies cost, each at its own model's price.
	CostMicroUSD int64
	Plan         []PlanItem
	// Replies are the agent's answers by ContextBlock.ID.
	Replies map[string]string
}
