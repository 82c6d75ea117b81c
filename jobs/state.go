package jobs

import (
	"errors"
	"fmt"
	"slices"
)

// State is where a job stands.
type State string

// The states. The last eight are final and name how it ended.
const (
	Queued     State = "queued"
	Preparing  State = "preparing"
	Baseline   State = "baseline"
	Working    State = "working"
	Verifying  State = "verifying"
	Publishing State = "publishing"

	Verified   State = "verified"    // published, and every verifying command is green on it
	Unverified State = "unverified"  // published, not proved; the report says why
	Answered   State = "answered"    // a question was answered
	NoChange   State = "no_change"   // nothing to change
	NeedsHuman State = "needs_human" // kept, not published: a person must decide
	Refused    State = "refused"     // policy or the model's vendor declined
	Canceled   State = "canceled"    // stopped by a person or a shutdown
	Failed     State = "failed"      // could not be done; the report says what was tried
)

// ErrTransition is wrapped by the error of a state change that is not allowed.
var ErrTransition = errors.New("state transition not allowed")

// next lists what may follow a state besides the ends that may follow any.
var next = map[State][]State{
	Queued:     {Preparing},
	Preparing:  {Baseline, Working},
	Baseline:   {Working, NoChange},
	Working:    {Verifying, Answered, NoChange},
	Verifying:  {Publishing, Working, NoChange},
	Publishing: {Verified, Unverified},
}

// anywhere lists the ends that a job can meet in every state.
var anywhere = []State{NeedsHuman, Refused, Canceled, Failed}

// Final reports whether the state is an end.
func (s State) Final() bool {
	_, goesOn := next[s]
	return s != "" && !goesOn
}

// To checks the change from s to t. A lost worker's job starts again at
// Preparing from every state that is not final. Its error wraps ErrTransition.
func (s State) To(t State) error {
	if s.Final() {
		return fmt.Errorf("%w: %s is final, wanted %s", ErrTransition, s, t)
	}
	if t == Preparing || slices.Contains(anywhere, t) || slices.Contains(next[s], t) {
		return nil
	}
	return fmt.Errorf("%w: %s to %s", ErrTransition, s, t)
}
