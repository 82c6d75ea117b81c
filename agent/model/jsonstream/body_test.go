package jsonstream_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model/jsonstream"
)

func TestBody(t *testing.T) {
	params := map[string]any{"model": "m", "messages": nil, "stream": false, "tools": []string{"<a>"}}
	list := []any{map[string]string{"text": "if a < b && c > d"}, json.RawMessage(`{"as":"it <is>"}`)}
	got, err := jsonstream.Body(params, map[string]any{"stream": true}, "messages", list)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","stream":true,"tools":["\u003ca\u003e"],"messages":[{"text":"if a < b && c > d"},{"as":"it <is>"}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" || !json.Valid(got) {
		t.Error(diff)
	}
	for name, c := range map[string][3]any{
		"parameters": {math.NaN(), 1, 1}, "no object": {[]int{1}, 1, 1}, "extra": {params, math.Inf(1), 1}, "list": {params, 1, make(chan int)},
	} {
		if _, err := jsonstream.Body(c[0], map[string]any{"x": c[1]}, "messages", c[2]); err == nil {
			t.Errorf("%s that are no JSON are no error", name)
		}
	}
}
