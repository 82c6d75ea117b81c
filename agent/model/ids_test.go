package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
)

func nameless(n int) model.Message {
	m := model.Message{Role: model.RoleAssistant}
	for range n {
		m.Parts = append(m.Parts, model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{Name: "x"}})
	}
	return m
}

// TestKnownIDsAreNotMadeAgain: whoever goes on with a transcript makes the ids
// that would have been made.
func TestKnownIDsAreNotMadeAgain(t *testing.T) {
	whole, other := model.NewCallIDs(), model.NewCallIDs()
	first, second := nameless(3), nameless(2)
	whole.Fix(&first)
	whole.Fix(&second)
	for _, c := range first.Calls() {
		other.Know(c.ID)
	}
	other.Know("toolu_1")
	again := nameless(2)
	other.Fix(&again)
	if diff := cmp.Diff(second, again); diff != "" {
		t.Error(diff)
	}
	taken := model.Message{Parts: []model.Part{{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "toolu_1"}}}}
	if other.Fix(&taken); taken.Calls()[0].ID == "toolu_1" || !other.Known("toolu_1") {
		t.Error("an id that is in use was given again")
	}
}

// TestArgumentsKeepTheirBytes: what a model wrote comes back from a journal as
// it was, also where an encoder would write it in another way.
func TestArgumentsKeepTheirBytes(t *testing.T) {
	for _, args := range []string{`{"a":1}`, `{ "a" : 1 }`, `{"a":"x < y && z > \u2028"}`, `{"a":"` + "\u2028" + `"}`, `{"a":`, ``, `"text"`, `null`, " {}\n", `{"b":1,"a":2,"a":3}`} {
		c := model.ToolCall{ID: "1", Name: "x", Arguments: json.RawMessage(args)}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back model.ToolCall
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if string(back.Arguments) != args {
			t.Errorf("%q came back as %q by %s", args, back.Arguments, raw)
		}
	}
}
