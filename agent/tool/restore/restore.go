// Package restore is the tool that takes the workspace's files back to a state
// that was kept.
//
// It sits under agent/tool and works through a [tool.Restorer], which the
// trusted side provides. It changes no marks of what the model has read: those
// hold contents, so a file that is as it was shown counts as shown, and any
// other does not.
package restore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/tool"
)

//go:embed restore.md
var description string

// Name is the tool's name.
const Name = "restore"

// Ids that are not in a list.
const (
	// Start is the id of the first snapshot.
	Start = "start"
	// Last stands for the newest.
	Last = "last"
)

const (
	// timeout is ample for reading every file of a large workspace anew.
	timeout = 2 * time.Minute
	// maxShown bounds the paths that a result names.
	maxShown = 40
)

// PartialError is an error beside what was restored: some paths are not as
// they were then. A [tool.Restorer] returns it with its answer.
type PartialError struct {
	Left []string // each a path and why
}

// Error implements error.
func (e *PartialError) Error() string { return "not restored: " + strings.Join(e.Left, "; ") }

type args struct {
	Snapshot string   `json:"snapshot,omitempty" jsonschema:"id from the list, start, or last; default: list what is kept"`
	Paths    []string `json:"paths,omitempty" jsonschema:"files or directories relative to the workspace; default all"`
}

// New makes the restore tool over r.
func New(r tool.Restorer) tool.Tool {
	return tool.Typed(tool.Spec{
		Name: Name, Description: description, Tier: tool.TierPatch, Effect: tool.EffectWrite, Timeout: timeout,
	}, func(ctx context.Context, a args) tool.Result {
		kept, err := r.Snapshots(ctx)
		if err != nil {
			return tool.Failf(tool.CodeInternal, "the snapshots could not be listed: %v", err)
		}
		if a.Snapshot == "" {
			if len(a.Paths) > 0 {
				return tool.Failf(tool.CodeInvalidArgs, "paths need a snapshot to take them from").Suggest("%s", known(kept))
			}
			return tool.OKText(list(kept))
		}
		return restore(ctx, r, kept, a)
	})
}

// list shows what is kept, newest last.
func list(kept []tool.Snapshot) string {
	if len(kept) == 0 {
		return "No snapshot is kept yet."
	}
	var b strings.Builder
	for _, s := range kept {
		fmt.Fprintf(&b, "%s  %s\n", s.ID, s.Label)
	}
	return b.String()
}

func known(kept []tool.Snapshot) string {
	var ids []string
	for _, s := range kept {
		ids = append(ids, s.ID)
	}
	return "kept are: " + strings.Join(ids, ", ")
}

func restore(ctx context.Context, r tool.Restorer, kept []tool.Snapshot, a args) tool.Result {
	paths, refused := cleanPaths(a.Paths)
	if refused != nil {
		return *refused
	}
	id := a.Snapshot
	if id == Last && len(kept) > 0 {
		id = kept[len(kept)-1].ID
	}
	done, err := r.Restore(ctx, id, paths)
	var partial *PartialError
	switch {
	case err == nil:
	case errors.As(err, &partial):
	case errors.Is(err, tool.ErrNoSuchSnapshot):
		return tool.Failf(tool.CodeInvalidArgs, "there is no snapshot %q", a.Snapshot).Suggest("%s", known(kept))
	case errors.Is(err, tool.ErrNoSuchPath):
		return tool.Failf(tool.CodeFileNotFound, "%v", err)
	default:
		res := tool.Failf(tool.CodeInternal, "the files could not be restored: %v", err)
		if len(done.Effects) > 0 {
			res = res.WithDetail(describe(id, done, nil))
		}
		res.Effects = done.Effects
		return res
	}
	if partial == nil && len(done.Effects) == 0 {
		return tool.OKText(fmt.Sprintf("No file differs from snapshot %s; directories are as then.", id))
	}
	res := tool.OKText(describe(id, done, partial))
	res.Effects = done.Effects
	return res
}

// cleanPaths takes "./a/" for "a"; the workspace itself means everything.
func cleanPaths(paths []string) ([]string, *tool.Result) {
	var out []string
	for _, p := range paths {
		switch clean := path.Clean(p); {
		case clean == ".":
			return nil, nil
		case path.IsAbs(clean), clean == "..", strings.HasPrefix(clean, "../"):
			res := tool.Failf(tool.CodePathOutsideWorkspace, "%q is not a path relative to the workspace", p)
			return nil, &res
		case clean == ".git", strings.HasPrefix(clean, ".git/"):
			res := tool.Failf(tool.CodeProtectedPath, "%q is the repository's own: it is not kept", p)
			return nil, &res
		default:
			out = append(out, clean)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// describe says what was changed, what was not, and the way back.
func describe(id string, done tool.Restored, partial *PartialError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Took %s back to snapshot %s.\n", count(len(done.Effects), "file"), id)
	for i, e := range done.Effects {
		if i == maxShown {
			fmt.Fprintf(&b, "and %d more\n", len(done.Effects)-i)
			break
		}
		fmt.Fprintf(&b, "%s %s\n", verb(e), e.Path)
	}
	if partial != nil {
		fmt.Fprintf(&b, "%s not as then:\n", count(len(partial.Left), "path"))
		for i, l := range partial.Left {
			if i == maxShown {
				fmt.Fprintf(&b, "and %d more\n", len(partial.Left)-i)
				break
			}
			b.WriteString(l + "\n")
		}
	}
	if done.Before != "" {
		fmt.Fprintf(&b, "To undo this: snapshot %s.\n", done.Before)
	}
	return b.String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func verb(e tool.FileEffect) string {
	switch {
	case e.Before == "":
		return "made   "
	case e.After == "":
		return "removed"
	case e.Before == e.After:
		return "mode of"
	}
	return "changed"
}
