package journal

import (
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
)

// Started opens a journal.
type Started struct {
	Job     jobs.Job `json:"job"`
	Attempt int      `json:"attempt"`
	Version string   `json:"version"` // of Greenwright
	Sandbox string   `json:"sandbox"` // driver
	// Carried is what earlier attempts at the job have used; it counts against
	// the same limits.
	Carried *Spent `json:"carried,omitempty"`
}

// Resumed is written by a worker that takes a run up.
type Resumed struct {
	Worker string `json:"worker"`
	Token  int64  `json:"token"` // of its lease
	Cause  string `json:"cause"`
	// Anew says that what was done is lost, and why: the run begins again.
	Anew string `json:"anew,omitempty"`
}

// Prepared pins what a run works on, for whoever takes it up.
type Prepared struct {
	Base    string `json:"base"`     // the commit that is worked on
	Trusted string `json:"trusted"`  // the base branch's tip: settings come from there
	BaseRef string `json:"base_ref"` // the base branch, empty for a checkout on none
}

// StateChanged is one transition.
type StateChanged struct {
	From  jobs.State `json:"from"`
	To    jobs.State `json:"to"`
	Cause string     `json:"cause"`
	// Actor is who or what caused it: a login, or a worker; empty in records of
	// old.
	Actor string `json:"actor,omitempty"`
}

// ModelChosen says which model works from here on.
type ModelChosen struct {
	Model  string `json:"model"`
	Reason string `json:"reason"`
	// Price is what it costs and since when that is known, in words; empty for
	// what costs nothing.
	Price string `json:"price,omitempty"`
	// Unpriced says that its price is not known, so that it is not counted.
	Unpriced bool `json:"unpriced,omitempty"`
}

// Spent is what runs have used of a model.
type Spent struct {
	Steps        int         `json:"steps,omitempty"` // replies
	Usage        model.Usage `json:"usage"`
	CostMicroUSD int64       `json:"cost_micro_usd,omitempty"`
}

// Add is the sum of both.
func (s Spent) Add(o Spent) Spent {
	return Spent{Steps: s.Steps + o.Steps, Usage: s.Usage.Add(o.Usage), CostMicroUSD: s.CostMicroUSD + o.CostMicroUSD}
}

// Sub is what s is more than o.
func (s Spent) Sub(o Spent) Spent {
	return Spent{
		Steps: s.Steps - o.Steps, CostMicroUSD: s.CostMicroUSD - o.CostMicroUSD,
		Usage: s.Usage.Add(model.Usage{Input: -o.Usage.Input, CacheRead: -o.Usage.CacheRead, CacheWrite: -o.Usage.CacheWrite, Output: -o.Usage.Output}),
	}
}

// Box is what the run's sandboxes are made of besides their files.
type Box struct {
	Image  string   `json:"image,omitempty"` // reference; empty is the worker's own system
	Digest string   `json:"digest,omitempty"`
	Egress []string `json:"egress,omitempty"` // rules that set-up commands have
}

// Phase is when a verifying command ran.
type Phase string

// The phases.
const (
	Before Phase = "before" // on the base, before any edit
	After  Phase = "after"  // on the tree that is to be published
)

// CheckRan is one verifying command that the platform ran itself.
type CheckRan struct {
	Phase    Phase         `json:"phase"`
	Name     string        `json:"name"`
	Command  string        `json:"command"`
	Dir      string        `json:"dir,omitempty"`
	Source   string        `json:"source"` // where the command comes from
	Commit   string        `json:"commit"`
	ExitCode int           `json:"exit_code"`
	Cause    string        `json:"cause"` // sandbox.Cause
	Duration time.Duration `json:"duration_ns"`
	Output   string        `json:"output"` // reduced
	// Environment is set when the failure is the sandbox's (no network, a
	// missing program), not the project's.
	Environment string `json:"environment,omitempty"`
}

// SetupIntended is written before a set-up command begins.
type SetupIntended struct {
	Room    string `json:"room"`
	Command string `json:"command"`
	Commit  string `json:"commit"`
}

// SetupRan is one set-up command, with the network open to the allow-list.
type SetupRan struct {
	Room     string        `json:"room"` // proof or work
	Command  string        `json:"command"`
	Source   string        `json:"source"`
	Commit   string        `json:"commit"`
	ExitCode int           `json:"exit_code"`
	Cause    string        `json:"cause"` // sandbox.Cause
	Duration time.Duration `json:"duration_ns"`
	Output   string        `json:"output"` // reduced
	// Connections are what it asked the proxy for.
	Connections []Connection `json:"connections,omitempty"`
}

// Green reports an exit with code 0.
func (s SetupRan) Green() bool { return s.Cause == "exited" && s.ExitCode == 0 }

// Connection sums up the connections of one kind to one host.
type Connection struct {
	Host     string `json:"host"`
	Port     uint16 `json:"port"`
	Verdict  string `json:"verdict"` // allowed or refused
	Reason   string `json:"reason,omitempty"`
	Count    int64  `json:"count"`
	BytesOut int64  `json:"bytes_out"`
	BytesIn  int64  `json:"bytes_in"`
}

// Green reports an exit with code 0.
func (c CheckRan) Green() bool { return c.Cause == "exited" && c.ExitCode == 0 }

// File is one changed file.
type File struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
}

// Changed is the difference that the run made, as the trusted side sees it.
type Changed struct {
	Base  string   `json:"base"`
	Tree  string   `json:"tree"`
	Files []File   `json:"files"`
	Notes []string `json:"notes,omitempty"`
}

// Committed is a commit of ours. The same tree, parent and time make the same
// commit again.
type Committed struct {
	Commit string    `json:"commit"`
	Tree   string    `json:"tree"`
	Parent string    `json:"parent"`
	When   time.Time `json:"when"`
}

// Aimed is where a change goes, before anything goes there.
type Aimed struct {
	Branch string `json:"branch"`
	Base   string `json:"base,omitempty"`   // of a new pull request
	Expect string `json:"expect,omitempty"` // the branch's head; empty for a new branch
}

// Verdict is what the checks before and after add up to.
type Verdict struct {
	Verified bool     `json:"verified"`
	Fixed    []string `json:"fixed,omitempty"`     // red before, green after
	StillRed []string `json:"still_red,omitempty"` // red before and after
	NewlyRed []string `json:"newly_red,omitempty"` // green before, red after
	Why      string   `json:"why"`                 // one sentence
}

// ActionIntended announces an effect outside.
type ActionIntended struct {
	Key    string `json:"key"`
	Kind   string `json:"kind"` // push, open_pull_request, reply …
	Target string `json:"target"`
	Text   string `json:"text,omitempty"`
}

// ActionFinished says what became of it.
type ActionFinished struct {
	Key    string `json:"key"`
	Result string `json:"result,omitempty"` // what was read back
	URL    string `json:"url,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Note is something worth telling: a refusal, a thing left out.
type Note struct {
	Kind string `json:"kind"` // NoteRefusal, NoteNotice
	Text string `json:"text"`
}

// The kinds of note.
const (
	NoteRefusal = "refusal"
	NoteNotice  = "notice"
)

// Ended closes a journal.
type Ended struct {
	State jobs.State `json:"state"`
	Cause string     `json:"cause"`
	// Advice is what a person can do now, empty when nothing is needed.
	Advice string `json:"advice,omitempty"`
	// Actor is who or what ended it: a login, or a worker.
	Actor string `json:"actor,omitempty"`
	// What came out, for whoever has to tell it.
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	Pull   int    `json:"pull,omitempty"`
	URL    string `json:"url,omitempty"`
	Answer string `json:"answer,omitempty"` // untrusted
}

// AgentEnded is how a model's work ended, with what it says of it.
type AgentEnded struct {
	Model        string            `json:"model"`
	State        string            `json:"state"` // agent.State
	Reason       string            `json:"reason"`
	Claim        string            `json:"claim,omitempty"` // the model's own words
	Question     string            `json:"question,omitempty"`
	Answer       string            `json:"answer,omitempty"`
	Replies      map[string]string `json:"replies,omitempty"`
	CostMicroUSD int64             `json:"cost_micro_usd,omitempty"`
}
