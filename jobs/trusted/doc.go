// Package trusted shows an agent's tools the trusted side of its workspace:
// what was changed, what came before, and states to go back to, all from the
// mirror and never by running git where commands have run.
//
// It sits under jobs between vcs/git and agent/tool, and is used by
// jobs/runner for a run and by cmd/internal/wire for tools by hand. A [Side]
// is a [tool.Differ], [tool.Historian], [tool.Restorer], agent.TreeHasher and
// agent.Snapshotter at once. Texts and names that it hands on are untrusted;
// the tools clean them.
//
// To show more of the trusted side: a method here, and a seam in agent/tool.
package trusted
