package jobs

import (
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// Decision is what became of an approval.
type Decision string

// The closed set of decisions; the empty one waits for a person.
const (
	Waiting  Decision = ""
	Approved Decision = "approved"
	Denied   Decision = "denied"  // one denial vetoes
	Expired  Decision = "expired" // nobody answered in time
)

// ApprovalLife is how long people have to answer (RUNTIME 1.12).
const ApprovalLife = 24 * time.Hour

// ApprovalKind is what an approval is for.
type ApprovalKind string

// The closed set of kinds.
const (
	ApproveCommand ApprovalKind = "command" // a command that policy asks about
	ApproveChange  ApprovalKind = "change"  // a change of what policy protects
)

// Approval asks people for leave to do one thing, which is shown to them in
// full and which Hash binds the answer to.
type Approval struct {
	ID   string       `json:"id"` // short, to be typed
	Job  JobID        `json:"job"`
	Run  RunID        `json:"run"`
	Kind ApprovalKind `json:"kind"`
	// Hash names what was shown: job, exact text, directory and tree.
	Hash    string    `json:"hash"`
	Shown   string    `json:"shown"`  // the command or the diff, as it would be done; untrusted
	Reason  string    `json:"reason"` // why policy asks
	AskedAt time.Time `json:"asked_at"`
	Expires time.Time `json:"expires"`

	Decision  Decision  `json:"decision,omitempty"`
	By        vcs.Actor `json:"by,omitzero"`
	Why       string    `json:"why,omitempty"` // a denial's reason, as written; untrusted
	DecidedAt time.Time `json:"decided_at,omitzero"`
	// Used says that what was approved was done: an approval holds once.
	Used bool `json:"used,omitempty"`
}
