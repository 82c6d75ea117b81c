package restore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/restore"
)

// keeper is a Restorer whose next answer is set.
type keeper struct {
	kept  []tool.Snapshot
	done  tool.Restored
	err   error
	asked string
}

func (k *keeper) Snapshots(context.Context) ([]tool.Snapshot, error) { return k.kept, nil }

func (k *keeper) Restore(_ context.Context, id string, paths []string) (tool.Restored, error) {
	k.asked = fmt.Sprint(id, paths)
	return k.done, k.err
}

func run(t *testing.T, k *keeper, args string) tool.Result {
	t.Helper()
	reg, err := tool.NewRegistry(restore.New(k))
	if err != nil {
		t.Fatal(err)
	}
	return reg.Run(t.Context(), tool.Call{Name: restore.Name, Args: json.RawMessage(args)})
}

func two() []tool.Snapshot {
	return []tool.Snapshot{{ID: "start", Label: "as the run began"}, {ID: "s4", Label: "after step 9"}}
}

func TestWhatIsAskedFor(t *testing.T) {
	for args, want := range map[string]string{
		`{"snapshot":"last"}`: "s4[]",
		`{"snapshot":"start","paths":["b/","./a","b","x/../a"]}`:   "start[a b]",
		`{"snapshot":"s4","paths":["a","."]}`:                      "s4[]",
		`{"snapshot":"s4","paths":[]}`:                             "s4[]",
		`{}`:                                                       "",
		`{"snapshot":"s4","paths":["a/../../b"]}`:                  "",
		`{"snapshot":"s4","paths":[".git"]}`:                       "",
		`{"snapshot":"","paths":["a"]}`:                            "",
		`{"snapshot":"start","paths":["directory with spaces/f"]}`: "start[directory with spaces/f]",
	} {
		k := &keeper{kept: two()}
		run(t, k, args)
		if k.asked != want {
			t.Errorf("%s asked for %q, want %q", args, k.asked, want)
		}
	}
}

func TestEmptyList(t *testing.T) {
	if res := run(t, &keeper{}, `{}`); !res.OK || !strings.Contains(res.Text, "No snapshot") {
		t.Errorf("%+v", res)
	}
	if res := run(t, &keeper{err: fmt.Errorf("x: %w", tool.ErrNoSuchSnapshot)}, `{"snapshot":"last"}`); res.Code != tool.CodeInvalidArgs {
		t.Errorf("%+v", res)
	}
}

func TestAnswers(t *testing.T) {
	effects := []tool.FileEffect{{Path: "m", After: "1"}, {Path: "r", Before: "1"}, {Path: "c", Before: "1", After: "2"}, {Path: "p", Before: "1", After: "1"}}
	k := &keeper{kept: two(), done: tool.Restored{Before: "s5", Effects: effects}, err: &restore.PartialError{Left: []string{"big: too large"}}}
	res := run(t, k, `{"snapshot":"start"}`)
	want := "Took 4 files back to snapshot start.\nmade    m\nremoved r\nchanged c\nmode of p\n1 path not as then:\nbig: too large\nTo undo this: snapshot s5.\n"
	if diff := cmp.Diff(want, res.Text); diff != "" || !res.OK {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(effects, res.Effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

// TestBrokenOffTellsEffects: what was done before an error is not hidden.
func TestBrokenOffTellsEffects(t *testing.T) {
	k := &keeper{kept: two(), done: tool.Restored{Before: "s5", Effects: []tool.FileEffect{{Path: "m", After: "1"}}}, err: errors.New("disk full")}
	res := run(t, k, `{"snapshot":"start"}`)
	if res.OK || len(res.Effects) != 1 || !strings.Contains(res.Text, "made    m") || !strings.Contains(res.Text, "disk full") {
		t.Errorf("%+v", res)
	}
}

func TestManyFilesAreCounted(t *testing.T) {
	k := &keeper{kept: two(), done: tool.Restored{Before: "s5"}}
	for i := range 1000 {
		k.done.Effects = append(k.done.Effects, tool.FileEffect{Path: fmt.Sprint("f", i), After: "1"})
	}
	res := run(t, k, `{"snapshot":"start"}`)
	if !strings.Contains(res.Text, "Took 1000 files") || !strings.Contains(res.Text, "and 960 more") || len(res.Text) > 2000 {
		t.Errorf("%s", res.Text)
	}
}
