package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/shell"
)

// runMissing runs the task's checks that the model did not run since its last
// edit, so that it need not be sent away for them. A check of its plan it runs
// itself.
func (r *run) runMissing(ctx context.Context) error {
	known := make(map[string]bool)
	for _, c := range r.task.Checks {
		known[c.Name] = true
	}
	names := slices.DeleteFunc(r.unproved(), func(n string) bool { return !known[n] })
	slices.Sort(names)
	names = slices.Compact(names) // a name stands for all that have it
	if _, there := r.agent.registry.Spec(shell.ChecksName); !there || len(names) == 0 {
		return nil
	}
	if err := r.snapshot(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithDeadlineCause(ctx, r.softEnd, errTimeLimit)
	defer cancel()
	args, err := json.Marshal(map[string][]string{"names": names})
	if err != nil {
		return fmt.Errorf("encoding the names of checks: %w", err)
	}
	call := model.ToolCall{ID: r.platformID(), Name: shell.ChecksName, Arguments: args}
	past := r.tape.call(call.ID)
	switch {
	case past.finished != nil:
		r.adoptProofs(past.finished.Call)
		if past.finished.Call.Result.Code == tool.CodeUncertain {
			return r.runMissing(ctx)
		}
		return nil
	case past.open():
		res := r.uncertain(call, past)
		if err := r.recordCall(ctx, call, EntryFinished, &res); err != nil {
			return err
		}
		return r.runMissing(ctx) // the platform has looked: the files are known
	}
	if err := r.recordCall(ctx, call, EntryIntended, nil); err != nil {
		return err
	}
	result := r.execute(ctx, call)
	r.refreshTree(ctx, len(result.Effects) > 0)
	if runs, ok := result.Data.([]shell.Run); ok {
		for _, ran := range runs {
			r.prove(ran)
		}
	}
	if err := r.snapshot(ctx); err != nil {
		return err
	}
	return r.recordCall(ctx, call, EntryFinished, &result)
}

// platformPrefix begins the ids of the platform's own calls.
const platformPrefix = "platform_checks_"

// PlatformCall reports whether the id of a recorded call is that of one that the
// platform made by itself.
func PlatformCall(id string) bool { return strings.HasPrefix(id, platformPrefix) }

// platformID is an id for a call of the platform's own that no call has.
func (r *run) platformID() string {
	n, id := r.nextPlatformID()
	r.checkRuns = n
	r.ids.Know(id)
	return id
}

func (r *run) nextPlatformID() (int, string) {
	for n := r.checkRuns + 1; ; n++ {
		if id := platformPrefix + strconv.Itoa(n); !r.ids.Known(id) {
			return n, id
		}
	}
}

// adoptChecks takes what is recorded of the platform's own calls and of a
// second look within a submission that is recorded to its end.
func (r *run) adoptChecks() {
	for {
		_, id := r.nextPlatformID()
		past := r.tape.call(id)
		if past.intended == nil {
			break
		}
		r.platformID()
		if past.finished != nil {
			r.adoptProofs(past.finished.Call)
		}
	}
	for next, open := r.tape.next(); open && next == RoleReview; next, open = r.tape.next() {
		if reply, came := r.tape.reply(RoleReview); came {
			r.count(RoleReview, reply)
		}
	}
}

func (r *run) adoptProofs(rec *CallRecord) {
	r.tree = rec.Tree
	for _, p := range rec.Proved {
		r.proved(p)
	}
}
