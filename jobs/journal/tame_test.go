package journal_test

import (
	"encoding/json"
	"testing"
)

// tame replaces the evil text in a record's data.
func tame(t *testing.T, e entry) entry {
	t.Helper()
	raw, err := json.Marshal(e.data)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	e.data = replaced(v)
	return e
}

func replaced(v any) any {
	switch v := v.(type) {
	case string:
		if v == evil {
			return "plain"
		}
	case []any:
		for i := range v {
			v[i] = replaced(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = replaced(v[k])
		}
	}
	return v
}
