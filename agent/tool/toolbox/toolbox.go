// Package toolbox puts a run's tools together, in the fixed order in which
// every request lists them.
//
// It sits under agent/tool and is the one place that knows all of them, so
// that a run and the command line offer the very same ones. What a part is
// missing for is not offered: without an executor there are no commands,
// without a repository no history.
//
// To add a tool: its constructor here, and what it needs in [Parts].
package toolbox

import (
	"encoding/json"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/ask"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/files"
	"github.com/greenwright/greenwright/agent/tool/finish"
	"github.com/greenwright/greenwright/agent/tool/history"
	"github.com/greenwright/greenwright/agent/tool/plan"
	"github.com/greenwright/greenwright/agent/tool/restore"
	"github.com/greenwright/greenwright/agent/tool/search"
	"github.com/greenwright/greenwright/agent/tool/shell"
	"github.com/greenwright/greenwright/agent/tool/symbols"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// Format is how a model writes its edits; one is offered, because a longer
// menu costs accuracy.
type Format string

// The closed set of formats.
const (
	FormatReplace Format = "replace" // edit_file
	FormatPatch   Format = "patch"   // apply_patch
	FormatAll     Format = "all"     // both
)

// Parts is what tools are made of. Workspace is required.
type Parts struct {
	Workspace *workspace.Workspace
	// Repository is the index of the workspace's names; nil makes one.
	Repository *symbols.Repository
	Executor   tool.Executor
	// Processes are the tools for commands that live on.
	Processes []tool.Tool
	Differ    tool.Differ
	Historian tool.Historian
	Restorer  tool.Restorer
	// Checks are what run_checks runs.
	Checks []model.Check
	// Infrastructure tells a command that cannot run here from a red one; it
	// may be nil.
	Infrastructure shell.Infrastructure
	// ReadOnly leaves out what changes files.
	ReadOnly bool
	// Format of edits; empty is [FormatReplace].
	Format Format
}

// New makes the tools.
func New(p Parts) []tool.Tool {
	if p.Repository == nil {
		p.Repository = symbols.NewRepository(p.Workspace, nil)
	}
	tools := []tool.Tool{
		files.NewRead(p.Workspace), files.NewList(p.Workspace), files.NewFind(p.Workspace), search.New(p.Workspace),
		symbols.NewOutline(p.Repository), symbols.NewFind(p.Repository),
	}
	if !p.ReadOnly {
		tools = append(tools, changing(p)...)
	}
	if p.Executor != nil {
		tools = append(tools, shell.New(p.Executor))
		if len(p.Checks) > 0 {
			tools = append(tools, shell.NewChecks(p.Executor, p.Checks, p.Infrastructure))
		}
	}
	tools = append(tools, p.Processes...)
	tools = append(append(tools, trusted(p)...), plan.New(), ask.New(), finish.New())
	for i, t := range tools {
		if !often(t.Spec().Name) {
			tools[i] = rare{t}
		}
	}
	return tools
}

// often says which tools are offered by their whole schema: those that nearly
// every run calls. The others have a line each.
func often(name string) bool {
	switch name {
	case "read_file", "search_code", "edit_file", "apply_patch", "write_file", shell.Name, shell.ChecksName, plan.Name, finish.Name:
		return true
	}
	return false
}

// rare offers a tool by a line.
type rare struct{ tool.Tool }

// Spec is the tool's, but for how it is offered.
func (r rare) Spec() tool.Spec {
	s := r.Tool.Spec()
	s.Rare = true
	return s
}

// Forget passes on what a tool is to forget.
func (r rare) Forget(args json.RawMessage) {
	if f, ok := r.Tool.(tool.Forgetter); ok {
		f.Forget(args)
	}
}

// trusted are the tools that ask the trusted side.
func trusted(p Parts) []tool.Tool {
	var tools []tool.Tool
	if p.Differ != nil {
		tools = append(tools, history.New(p.Differ))
	}
	if p.Historian != nil {
		tools = append(tools, history.NewLog(p.Historian), history.NewBlame(p.Historian))
	}
	if p.Restorer != nil && !p.ReadOnly {
		tools = append(tools, restore.New(p.Restorer))
	}
	return tools
}

// changing are the tools that change files.
func changing(p Parts) []tool.Tool {
	var tools []tool.Tool
	if p.Format != FormatPatch {
		tools = append(tools, edit.NewEdit(p.Workspace))
	}
	if p.Format == FormatPatch || p.Format == FormatAll {
		tools = append(tools, edit.NewPatch(p.Workspace))
	}
	return append(tools, edit.NewWrite(p.Workspace), edit.NewMove(p.Workspace), edit.NewDelete(p.Workspace))
}
