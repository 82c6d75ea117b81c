package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/tool"
)

// statusEvery is how many steps pass before the status is told again although
// the phase is the same.
const statusEvery = 20

// statusLine says where the run stands, behind the results of a step. It
// becomes part of the transcript, so that the prefix which a vendor has cached
// stays as it is, and is told only when it says something new.
func (r *run) statusLine() string {
	if r.out.Steps%statusEvery != 0 && r.status == string(r.phase.now) {
		return ""
	}
	r.status = string(r.phase.now)
	used := r.spent()
	return fmt.Sprintf("\n[phase %s; step %d of %d; %d %% of the limit on %s used]",
		r.phase.now, r.out.Steps, r.limits.Steps, int(used.share*100), used.what)
}

// ours are how lines of the platform begin.
var ours = [...]string{"[phase ", noticeMark}

// noticeMark begins what the platform says.
const noticeMark = "Platform notice: "

// notOurs moves lines of a result that begin like the platform's by a space:
// what a command prints must not pass for what the platform says.
func notOurs(text string) string {
	for _, mark := range ours {
		text = strings.ReplaceAll(text, "\n"+mark, "\n "+mark)
		if strings.HasPrefix(text, mark) {
			text = " " + text
		}
	}
	return text
}

// snapshot keeps the state of the files if it is not kept yet.
func (r *run) snapshot(ctx context.Context) error {
	if r.agent.cfg.Snapshots == nil || r.tree == r.kept || !r.live() {
		return nil
	}
	if ctx.Err() != nil { // what is recorded as done is also kept
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSnapshotLimit)
		defer cancel()
		ctx = detached
	}
	id, err := r.agent.cfg.Snapshots.Take(ctx, fmt.Sprintf("after step %d", r.out.Steps))
	if err != nil { // restore can then not go back to here, which is no reason to stop
		return r.unkept(ctx, err)
	}
	r.kept = r.tree
	return r.record(ctx, Entry{Kind: EntrySnapshot, Snapshot: &SnapshotRecord{ID: id, Tree: r.tree}})
}

// lastSnapshotLimit bounds the snapshot of a run that is being stopped, which
// has ten seconds for all.
const lastSnapshotLimit = 5 * time.Second

func (r *run) unkept(ctx context.Context, why error) error {
	return r.note(ctx, "the state of the files could not be kept: "+tool.Clean(why.Error()))
}
