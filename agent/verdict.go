package agent

import (
	"fmt"

	"github.com/greenwright/greenwright/agent/tool"
)

// Proof is the last run of a verifying command and the tree it left.
type Proof struct {
	// Check names the command: its directory and script.
	Check    string     `json:"check"`
	Cause    tool.Cause `json:"cause"`
	ExitCode int        `json:"exit_code"`
	Tree     string     `json:"tree"`
	// Output is its end, when it was not green.
	Output string `json:"output,omitempty"`
}

func (p Proof) green() bool { return p.Cause == tool.CauseExited && p.ExitCode == 0 }

// how is how it ended, in words.
func (p Proof) how() string {
	if p.Cause != tool.CauseExited {
		return "ended: " + string(p.Cause)
	}
	return fmt.Sprintf("exit code %d", p.ExitCode)
}

// VerdictKind says what a submission came to.
type VerdictKind string

// The closed set of verdicts.
const (
	VerdictReview   VerdictKind = "review"   // the difference was shown
	VerdictRefused  VerdictKind = "refused"  // something is missing
	VerdictHeld     VerdictKind = "held"     // people wrote in the meantime
	VerdictAccepted VerdictKind = "accepted" // the run ends
)

// Verdict is what a submission came to and what that depended on, so that
// whoever goes on with the run need not decide again on files that have
// changed since.
type Verdict struct {
	Kind VerdictKind `json:"kind"`
	// Digest is the SHA-256 of the difference that was shown, in hex.
	Digest string `json:"digest,omitempty"`
	// Held are the messages that came with the submission.
	Held []Message `json:"held,omitempty"`
	// State and Reason are how the run ends.
	State  State  `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
}
