package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/tool"
)

type moveArgs struct {
	From  string   `json:"from"`
	To    string   `json:"to"`
	Force bool     `json:"force,omitempty"`
	Depth int      `json:"depth,omitempty"`
	Only  []string `json:"only,omitempty"`
}

func menu(t *testing.T) *tool.Registry {
	t.Helper()
	echo := func(_ context.Context, a moveArgs) tool.Result { return tool.OKText(a.From + " to " + a.To) }
	r, err := tool.NewRegistry(
		tool.Typed(tool.Spec{Name: "move", Description: "Move a thing.\nIt is moved. For good.", Rare: true, Effect: tool.EffectWrite}, echo),
		tool.Typed(tool.Spec{Name: "often", Description: "Often needed."}, echo),
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOffered(t *testing.T) {
	offered := menu(t).Offered()
	if len(offered) != 2 || offered[0].Name != "often" || offered[1].Name != tool.UseName {
		t.Fatalf("offered %+v", offered)
	}
	if want := "Call one of these:\nmove(from, to, force?:bool, depth?:int, only?:[]) Move a thing."; offered[1].Description != want {
		t.Errorf("description %q", offered[1].Description)
	}
	plain, err := tool.NewRegistry(tool.Typed(tool.Spec{Name: "often"}, func(context.Context, moveArgs) tool.Result { return tool.Result{} }))
	if err != nil {
		t.Fatal(err)
	}
	if len(plain.Offered()) != 1 {
		t.Error("a menu without rare tools has one for them")
	}
}

func TestUse(t *testing.T) {
	r := menu(t)
	for _, c := range []struct{ args, want string }{
		{`{"tool":"move","args":{"from":"a","to":"b"}}`, "a to b"},
		{`{"tool":"move","args":"{\"from\":\"a\",\"to\":\"b\"}"}`, "a to b"},
		{`{"tool":"often","args":{"from":"a","to":"b"}}`, "a to b"},
		{`{"tool":"move","args":{"from":"a","too":"b"}}`, "INVALID_ARGS"},
		{`{"tool":"move"}`, "INVALID_ARGS"},
		{`{"tool":"mov","args":{}}`, "UNKNOWN_TOOL"},
		{`{"tool":"use_tool","args":{"tool":"move"}}`, "INVALID_ARGS"},
		{`{"name":"move"}`, "INVALID_ARGS"},
		{`[]`, "INVALID_ARGS"},
		{`{"tool":"move","args":{"from":"a`, "INVALID_ARGS"},
	} {
		if res := r.Run(t.Context(), tool.Call{Name: tool.UseName, Args: json.RawMessage(c.args)}); !strings.HasPrefix(res.Text, c.want) {
			t.Errorf("%s: %q, want %s", c.args, res.Text, c.want)
		}
	}
	if res := r.Run(t.Context(), tool.Call{Name: tool.UseName, Args: json.RawMessage(`{"tool":"move","args":{"from":"a","to":"b"}}`), Cut: true}); res.Code != tool.CodeTruncatedArgs {
		t.Errorf("a cut call: %+v", res)
	}
}
