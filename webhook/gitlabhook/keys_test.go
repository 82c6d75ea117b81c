package gitlabhook_test

import (
	"bytes"
	"errors"
	"testing"
)

// TestSameFactSameKey: a project's hook, a group's and the system's tell of a
// fact with different headers and the same payload (rule L5).
func TestSameFactSameKey(t *testing.T) {
	cases := []struct {
		what, file, old, with string
		same                  bool
	}{
		{"note twice", "note.issue", "", "", true},
		{"after a rename", "note.issue", `tools.d/widgets"`, `tools.d/gadgets"`, true},
		{"note edited", "note.issue.updated", "09:04:00", "09:04:01", false},
		{"remark", "note.diff", "", "", true},
		{"another note", "note.issue", `"id": 1241`, `"id": 1242`, false},
		{"another project", "note.issue", `id": 41`, `id": 43`, false},
		{"opened", "issue.open", "", "", true},
		{"merge request of that number", "merge_request.open", `"iid": 8`, `"iid": 9`, false},
		{"closed again", "issue.close", "01:02:03.456Z", "01:03:03.456Z", false},
		{"two labels", "issue.update.labels", `"agent:fix"`, `"agent:ask"`, false},
		{"two assignees", "issue.update.assignees", `"id": 99`, `"id": 98`, false},
		{"pushed again", "merge_request.update.push", head, "9" + head[1:], false},
		{"pipeline", "pipeline.failed", "", "", true},
		{"pipeline whose jobs ran again", "pipeline.failed", "09:03:00", "09:07:00", false},
		{"pipeline that is green now", "pipeline.failed", `"status": "failed",` + "\n  \"detailed_status\"", `"status": "success",` + "\n  \"detailed_status\"", false},
		{"job", "job.failed", "", "", true},
		{"push", "push", "", "", true},
	}
	p := newParser(t)
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			name, body := sample(t, c.file)
			changed := body
			if c.old != "" {
				if changed = bytes.ReplaceAll(body, []byte(c.old), []byte(c.with)); bytes.Equal(changed, body) {
					t.Fatalf("%q is not in %s", c.old, c.file)
				}
			}
			a, errA := p.Parse(name, "one", body)
			b, errB := p.Parse("System Hook", "two", changed)
			if err := errors.Join(errA, errB); err != nil {
				t.Fatal(err)
			}
			if a.Object == "" || a.Version == "" {
				t.Errorf("object %q, version %q", a.Object, a.Version)
			}
			if (a.Key() == b.Key()) != c.same {
				t.Errorf("keys %q and %q, want the same: %v", a.Key(), b.Key(), c.same)
			}
		})
	}
}

// TestIssueAndMergeRequestOfOneNumber have keys of their own.
func TestIssueAndMergeRequestOfOneNumber(t *testing.T) {
	p := newParser(t)
	keys := map[string]bool{}
	for _, file := range []string{"issue.open", "merge_request.open"} {
		name, body := sample(t, file)
		for _, old := range []string{`"iid": 7`, `"iid": 8`} {
			body = bytes.ReplaceAll(body, []byte(old), []byte(`"iid": 5`))
		}
		body = bytes.ReplaceAll(body, []byte("2025-05-06 08:00:00 UTC"), []byte("2025-05-06 07:08:09 UTC"))
		e, err := p.Parse(name, "one", body)
		if err != nil {
			t.Fatal(err)
		}
		keys[e.Key()] = true
	}
	if len(keys) != 2 {
		t.Errorf("keys %v", keys)
	}
}
