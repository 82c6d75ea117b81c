// Package runner runs one job: prepare, baseline, work, verify, publish.
//
// It joins the forge (vcs), the mirror (vcs/git), the sandbox, the agent and
// the journal, and knows no queue: [Control] is how whoever owns the job
// listens and speaks. [Worker] is the owner behind the runs queue;
// `greenwright run` is another.
//
// Invariants: two rooms, never one: the commands that prove a change run in a
// workspace and a home that the agent has never been in, on the commit that is
// to be published; every outside text passes jobs/untrusted before a model
// sees it; every path leads to an end with a cause and, where a person can do
// something, advice; nothing is lost: a change that is not published is kept
// as a patch.
package runner
