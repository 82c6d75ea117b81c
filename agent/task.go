package agent

import "github.com/greenwright/greenwright/agent/model"

// TaskKind says what a task must end with.
type TaskKind string

// The closed set of kinds.
const (
	KindChange TaskKind = "change" // ends with a difference in the workspace
	KindAnswer TaskKind = "answer" // ends with text
)

// Task is what a person asked, with what the platform knows about it.
type Task struct {
	// ID names the run in records and logs.
	ID string
	// Instruction is what the entitled person wrote.
	Instruction string
	// Context is quoted material; untrusted.
	Context []ContextBlock
	Kind    TaskKind
	// Checks are the verifying commands with their baseline.
	Checks []model.Check
	// RepoFacts is the platform's own short description of the repository.
	RepoFacts string
	// Instructions are the maintainers' files (AGENTS.md and the like) from
	// the base branch.
	Instructions string
	// Leads is where to look first, found by the platform: files that the task
	// names, a map of the repository. Names in it are untrusted.
	Leads  string
	Limits Limits
}

// ContextBlock is one piece of quoted material: an issue body, a review
// remark, a check's log.
type ContextBlock struct {
	// ID is what the agent answers to (a review thread's id), empty when
	// nothing is to be answered.
	ID string
	// Label says what it is and who wrote it, in the platform's words.
	Label string
	Text  string
}
