package finish_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool/finish"
)

func TestReview(t *testing.T) {
	plain := "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n"
	test := "diff --git a/x_test.go b/x_test.go\n--- a/x_test.go\n+++ b/x_test.go\n@@ -1 +1 @@\n"
	cases := []struct {
		name  string
		facts finish.Facts
		want  []string
	}{
		{"clean", finish.Facts{Diff: plain, Checks: []finish.CheckState{{Name: "test", Fresh: true}}}, nil},
		{"not run", finish.Facts{Diff: plain, Checks: []finish.CheckState{{Name: "test"}}}, []string{`"test" has not been run since the last edit`}},
		{"cannot run", finish.Facts{Diff: plain, Checks: []finish.CheckState{{Name: "test", Unable: "no npm"}}}, nil},
		{"red", finish.Facts{Diff: plain, Checks: []finish.CheckState{{Name: "test", Fresh: true, Red: "exit code 1", Output: "boom\n"}}}, []string{"\"test\" still fails, exit code 1; its output ends:\nboom"}},
		{"syntax", finish.Facts{Diff: plain, Syntax: map[string]string{"x.go": "3:1: expected }"}}, []string{"x.go does not parse: 3:1: expected }"}},
		{"conflict marker", finish.Facts{Diff: plain + "+<<<<<<< HEAD\n+=======\n"}, []string{"x.go has a conflict marker"}},
		{"removed marker is fine", finish.Facts{Diff: plain + "-<<<<<<< HEAD\n"}, nil},
		{"scratch", finish.Facts{Diff: "diff --git a/dir/debug_it.py b/dir/debug_it.py\nnew file mode 100644\n"}, []string{"dir/debug_it.py looks like a scratch file: remove it unless it belongs to the change"}},
		{"a header in content is content", finish.Facts{Diff: plain + "+new file mode\n"}, nil},
		{"outside the plan", finish.Facts{Diff: plain, Planned: []string{"y.go", "lib"}}, []string{"x.go is changed but is not among the files of your plan: say why it must be, or take it back"}},
		{"in the plan", finish.Facts{Diff: plain, Planned: []string{"/workspace/x.go"}}, nil},
		{"assertion lost", finish.Facts{Diff: test + "-\tassert.Equal(t, 1, n)\n+\t_ = n\n"}, []string{"x_test.go has 1 assertions fewer than before"}},
		{"assertion changed", finish.Facts{Diff: test + "-\tassert.Equal(t, 1, n)\n+\tassert.Equal(t, 2, n)\n"}, nil},
		{"assertion outside of tests", finish.Facts{Diff: plain + "-assert(x)\n"}, nil},
		{"skipped", finish.Facts{Diff: test + "+\tt.Skip(\"later\")\n"}, []string{"x_test.go skips a test (t.skip)"}},
		{"skip moved", finish.Facts{Diff: test + "-\tt.Skip(\"a\")\n+\tt.Skip(\"a\")\n"}, nil},
		{"test deleted", finish.Facts{Diff: "diff --git a/tests/a.py b/tests/a.py\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-assert x\n"}, []string{"tests/a.py is a test and is deleted"}},
		{"rule off", finish.Facts{Diff: plain + "+x() //nolint:errcheck\n"}, []string{"x.go switches a rule off (//nolint)"}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, finish.Review(c.facts)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if got := finish.Review(finish.Facts{Diff: " \n"}); len(got) != 1 {
		t.Errorf("empty: %q", got)
	}
}
