package scan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/webhook/scan"
)

type wanted struct {
	Name string          `json:"name"`
	In   *inner          `json:"in"`
	List []inner         `json:"list"`
	Raw  json.RawMessage `json:"raw"`
}

type inner struct {
	N int `json:"n"`
}

func TestDecode(t *testing.T) {
	cases := map[string]struct {
		text string
		want *wanted // nil: refused
	}{
		"members":             {`{"name":"a","in":{"n":1,"x":[[]]},"list":[{"n":2},{"n":3}],"raw":{"y":1}}`, &wanted{"a", &inner{1}, []inner{{2}, {3}}, json.RawMessage(`{"y":1}`)}},
		"none":                {` { } `, &wanted{}},
		"nulls":               {`{"in":null,"list":null}`, &wanted{}},
		"unknown twice":       {`{"x":1,"x":2}`, &wanted{}},
		"quotes in texts":     {`{"x":"\\\"}","name":"{\"name\":\"b\"}"}`, &wanted{Name: `{"name":"b"}`}},
		"another case":        {`{"NAME":"a"}`, &wanted{}},
		"known twice":         {`{"name":"a","name":"b"}`, nil},
		"known twice, deeper": {`{"in":{"n":1,"n":2}}`, nil},
		"lists in lists":      {`{"list":[[{"n":1}]]}`, nil},
		"another type":        {`{"name":1}`, nil},
		"no object":           {`null`, nil},
		"cut off":             {`{"x":{"y":[1,2`, nil},
		"text behind":         {`{} {}`, nil},
		"deep":                {`{"x":` + strings.Repeat("[", 1<<20), nil},
	}
	d := scan.NewDecoder[wanted]()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := d.Decode([]byte(c.text))
			if c.want == nil {
				if err == nil {
					t.Errorf("gives %+v", got)
				}
				return
			}
			if diff := cmp.Diff(*c.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestScannerSkipsWhatIsNotWanted(t *testing.T) {
	s := scan.New([]byte(`{"a":{"b":"}"},"c":[1,[2,{}]],"d":true}`))
	var keys []string
	err := s.Object(func(key []byte) error {
		keys = append(keys, string(key))
		_, err := s.Value()
		return err
	})
	if err != nil || !s.End() || strings.Join(keys, "") != "acd" {
		t.Errorf("members %v, %v", keys, err)
	}
	if err := scan.New([]byte(`[1]`)).Object(nil); !errors.Is(err, scan.ErrSyntax) {
		t.Errorf("a list as an object: %v", err)
	}
}

// FuzzDecode holds Decode against encoding/json: where both read a text, they
// read the same, save that names match exactly here.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"a","in":{"n":1},"list":[{"n":2}],"raw":[1]}`))
	d := scan.NewDecoder[wanted]()
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := d.Decode(text)
		var want wanted
		if err != nil || json.Unmarshal(text, &want) != nil || strings.ContainsAny(string(text), "NAMEILSTRW\\\u017f\u212a") {
			return
		}
		want.Raw, got.Raw = nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s", diff)
		}
	})
}
