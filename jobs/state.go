package jobs

import (
	"errors"
	"fmt"
	"slices"
)

// State is where a job stands.
type State string

// The states. The last nine are final and name how it ended.
const (
	Queued           State = "queued"
	Preparing        State = "preparing"
	Baseline         State = "baseline"
	Working          State = "working"
	Verifying        State = "verifying"
	Publishing       State = "publishing"
	Paused           State = "paused"            // nobody works on it; it goes on by itself
	AwaitingApproval State = "awaiting_approval" // nobody works on it; a person decides

	Verified   State = "verified"    // published, and every verifying command is green on it
	Unverified State = "unverified"  // published, not proved; the report says why
	Answered   State = "answered"    // a question was answered
	NoChange   State = "no_change"   // nothing to change
	NeedsHuman State = "needs_human" // kept, not published: a person must decide
	Refused    State = "refused"     // policy or the model's vendor declined
	Canceled   State = "canceled"    // stopped by a person or a shutdown
	Failed     State = "failed"      // could not be done; the report says what was tried
	Lapsed     State = "expired"     // what waited for approval was not answered in time
)

// ErrTransition is wrapped by the error of a state change that is not allowed.
var ErrTransition = errors.New("state transition not allowed")

// next lists what may follow a state besides what may follow any.
var next = map[State][]State{
	Queued:           {Preparing},
	Preparing:        {Baseline, Working, NoChange},
	Baseline:         {Working, NoChange},
	Working:          {Verifying, Answered, NoChange, AwaitingApproval},
	Verifying:        {Publishing, Working, NoChange, AwaitingApproval},
	Publishing:       {Verified, Unverified},
	Paused:           {Baseline, Working, Verifying, Publishing},
	AwaitingApproval: {Working, Verifying, Publishing, Lapsed},
}

// anywhere lists what a job can meet in every state that is not final: ends, a
// pause, and, where what was done is lost, the beginning.
var anywhere = []State{NeedsHuman, Refused, Canceled, Failed, Paused, Preparing}

// Final reports whether the state is an end.
func (s State) Final() bool {
	_, goesOn := next[s]
	return s != "" && !goesOn
}

// To checks the change from s to t. A state is no change of itself, but for
// Preparing, which every attempt at it begins. Its error wraps ErrTransition.
func (s State) To(t State) error {
	switch {
	case s.Final():
		return fmt.Errorf("%w: %s is final, wanted %s", ErrTransition, s, t)
	case s == t && t != Preparing:
		return fmt.Errorf("%w: it is %s already", ErrTransition, s)
	case slices.Contains(anywhere, t), slices.Contains(next[s], t):
		return nil
	}
	return fmt.Errorf("%w: %s to %s", ErrTransition, s, t)
}
