package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model/gemini"
)

func TestSchema(t *testing.T) {
	wrap := func(property string) string {
		return `{"type":"object","properties":{"x":` + property + `},"additionalProperties":false,"$schema":"s","$defs":{"p":{"type":"string","description":"a path"},"tree":{"type":"object","properties":{"child":{"$ref":"#/$defs/tree"}}}}}`
	}
	cases := []struct{ name, in, want string }{
		{"plain", `{"type":"string","minLength":1,"maxLength":9,"pattern":"^a"}`, `{"type":"STRING","minLength":1,"maxLength":9,"pattern":"^a"}`},
		{"unknown keywords", `{"type":"integer","exclusiveMinimum":0,"examples":[1],"multipleOf":2,"minimum":1}`, `{"type":"INTEGER","minimum":1}`},
		{"reference", `{"$ref":"#/$defs/p"}`, `{"type":"STRING","description":"a path"}`},
		{"reference with its own words", `{"$ref":"#/$defs/p","description":"this path"}`, `{"type":"STRING","description":"this path"}`},
		{"reference to nothing", `{"$ref":"#/$defs/q"}`, `{"type":"OBJECT"}`},
		{"nullable", `{"type":["string","null"]}`, `{"type":"STRING","nullable":true}`},
		{"two types", `{"type":["string","integer"]}`, `{"anyOf":[{"type":"STRING"},{"type":"INTEGER"}]}`},
		{"oneOf with null", `{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"type":"STRING","nullable":true}`},
		{"anyOf", `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `{"anyOf":[{"type":"STRING"},{"type":"ARRAY","items":{"type":"STRING"}}]}`},
		{"allOf", `{"allOf":[{"$ref":"#/$defs/p"},{"minLength":2}]}`, `{"type":"STRING","description":"a path","minLength":2}`},
		{"enum", `{"enum":["a","b"]}`, `{"type":"STRING","enum":["a","b"]}`},
		{"const", `{"const":"a"}`, `{"type":"STRING","enum":["a"]}`},
		{"enum of numbers", `{"type":"integer","enum":[1,2],"description":"How."}`, `{"type":"INTEGER","description":"How. One of [1,2]."}`},
		{"formats", `{"type":"string","format":"uri"}`, `{"type":"STRING"}`},
		{"format that is known", `{"type":"string","format":"date-time"}`, `{"type":"STRING","format":"date-time"}`},
		{"array without items", `{"type":"array"}`, `{"type":"ARRAY","items":{"type":"STRING"}}`},
		{"required", `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"boolean"}},"required":["b","gone"]}`,
			`{"type":"OBJECT","properties":{"b":{"type":"STRING"},"a":{"type":"BOOLEAN"}},"propertyOrdering":["b","a"],"required":["b"]}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got struct {
				Properties map[string]any
			}
			if err := json.Unmarshal(gemini.Schema(json.RawMessage(wrap(c.in))), &got); err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Properties["x"]); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, none := range []string{`{"type":"object"}`, `{"type":"object","properties":{}}`, `true`, ``} {
		if got := gemini.Schema(json.RawMessage(none)); got != nil {
			t.Errorf("%s became %s", none, got)
		}
	}
	if got := gemini.Schema(json.RawMessage(wrap(`{"$ref":"#/$defs/tree"}`))); len(got) == 0 || len(got) > 10_000 {
		t.Errorf("a schema that refers to itself became %d bytes", len(got))
	}
	wide := gemini.Schema(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"$ref":"#"}}}`))
	if len(wide) == 0 || len(wide) > 1<<20 {
		t.Errorf("a wide schema that refers to itself became %d bytes", len(wide))
	}
}

// FuzzSchema: whatever comes, the result is JSON of bounded depth, the same
// every time.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`)
	f.Add(`{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"x":{}}},{"properties":{"y":{"enum":[1]}}}]}}}`)
	f.Fuzz(func(t *testing.T, in string) {
		got := gemini.Schema(json.RawMessage(in))
		if got != nil && !json.Valid(got) {
			t.Fatalf("%q became %q", in, got)
		}
		if again := gemini.Schema(json.RawMessage(in)); string(again) != string(got) {
			t.Fatalf("%q became %q and %q", in, got, again)
		}
	})
}
