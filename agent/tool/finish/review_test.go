package finish_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool/finish"
)

func TestReview(t *testing.T) {
	plain := "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n"
	cases := []struct {
		name   string
		diff   string
		checks []finish.CheckState
		want   []string
	}{
		{"clean", plain, []finish.CheckState{{Name: "test", Fresh: true}}, nil},
		{"not run", plain, []finish.CheckState{{Name: "test"}}, []string{`"test" has not been run since the last edit`}},
		{"red", plain, []finish.CheckState{{Name: "test", Fresh: true, ExitCode: 1}}, []string{`"test" still fails with exit code 1`}},
		{"conflict marker", plain + "+<<<<<<< HEAD\n+=======\n", nil, []string{"x.go has a conflict marker"}},
		{"removed marker is fine", plain + "-<<<<<<< HEAD\n", nil, nil},
		{"scratch", "diff --git a/dir/debug_it.py b/dir/debug_it.py\nnew file mode 100644\n", nil, []string{"dir/debug_it.py looks like a scratch file: remove it unless it belongs to the change"}},
		{"a header in content is content", plain + "+new file mode\n", nil, nil},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, finish.Review(c.diff, c.checks)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if got := finish.Review(" \n", nil); len(got) != 1 {
		t.Errorf("empty: %q", got)
	}
}
