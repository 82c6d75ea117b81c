package jobs

// Verb is what a command asks for.
type Verb string

// The verbs (rule T3).
const (
	VerbFix      Verb = "fix"
	VerbAsk      Verb = "ask"
	VerbPlan     Verb = "plan"
	VerbReview   Verb = "review"
	VerbRebase   Verb = "rebase"
	VerbRetry    Verb = "retry"
	VerbContinue Verb = "continue"
	VerbStatus   Verb = "status"
	VerbStop     Verb = "stop"
	VerbApprove  Verb = "approve"
	VerbDeny     Verb = "deny"
	VerbBudget   Verb = "budget"
	VerbUnlock   Verb = "unlock"
	VerbHelp     Verb = "help"
)

// Publishes reports whether what comes of a command can end in the repository,
// where everybody who may read it sees it.
func (v Verb) Publishes() bool {
	return v == VerbFix || v == VerbRebase || v == VerbRetry || v == VerbContinue
}

// Options are the flags of a command. The zero value asks for nothing.
type Options struct {
	Model    string `json:"model,omitempty"`
	Base     string `json:"base,omitempty"`
	DryRun   bool   `json:"dry_run,omitempty"`
	NoVerify bool   `json:"no_verify,omitempty"`
}

// Command is one parsed instruction of a person.
type Command struct {
	Verb    Verb    `json:"verb"`
	Text    string  `json:"text"` // free text, as written; what a person asked
	Options Options `json:"options"`
}
