package process_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/process"
)

var _ tool.Keeper = (*process.Table)(nil)

// TestProcessesOfAnEarlierWorkerAreGone: they are told of as gone, and their
// ids are not given again.
func TestProcessesOfAnEarlierWorkerAreGone(t *testing.T) {
	table := process.New(&spawner{})
	if kept := table.Keep(); len(kept) != 0 {
		t.Errorf("kept %v", kept)
	}
	table.Restore(map[string]string{"started": "2"})
	r, err := tool.NewRegistry(table.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"p1": "p1 is gone", "p2": "p2 is gone", "p3": "none was started", "2": "none was started"} {
		args, err := json.Marshal(map[string]string{"id": id})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{process.ReadName, process.StopName} {
			if res := r.Run(t.Context(), tool.Call{Name: name, Args: args}); res.OK || !strings.Contains(res.Text, want) {
				t.Errorf("%s %s: %q", name, id, res.Text)
			}
		}
	}
	res := r.Run(t.Context(), tool.Call{Name: process.StartName, Args: json.RawMessage(`{"command":"serve"}`)})
	if !res.OK || !strings.HasPrefix(res.Text, "p3:") || table.Keep()["started"] != "3" {
		t.Errorf("%q, kept %v", res.Text, table.Keep())
	}
	other := process.New(&spawner{})
	other.Restore(map[string]string{"started": "many"})
	if len(other.Keep()) != 0 {
		t.Error("what cannot be read is taken for something")
	}
}
