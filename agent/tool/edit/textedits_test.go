package edit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool/edit"
)

func FuzzTextEdits(f *testing.F) {
	f.Add("f.go\n```go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n")
	f.Add("```diff\n--- a\n+++ a\n@@ ... @@\n-x\n+y\n```\n")
	f.Fuzz(func(t *testing.T, text string) {
		edits, err := edit.ParseTextEdits(text)
		if err != nil {
			return
		}
		for _, e := range edits {
			if name, args := e.Call(); e.Path == "" || name == "" || len(args) == 0 {
				t.Fatalf("%+v", e)
			}
		}
	})
}

func TestTextEdits(t *testing.T) {
	cases := []struct {
		name, text string
		calls      []string // tool and arguments
		fails      bool
	}{
		{"none", "I would change the loop.\n", nil, false},
		{"change", "main.go\n```go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n", []string{`edit_file {"path":"main.go","old_string":"a\n","new_string":"b\n"}`}, false},
		{"new file", "`dir/new.txt`:\n<<<<<<< SEARCH\n=======\nb\n>>>>>>> REPLACE\n", []string{`write_file {"path":"dir/new.txt","content":"b\n"}`}, false},
		{"cut", "main.go\n<<<<<<< SEARCH\na\n=======\nb\n", nil, true},
		{"no name", "```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n", nil, true},
		{"diff", "```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n c\n-d\n```\n", []string{
			`apply_patch {"patch":"--- x\n+++ x\n@@ @@\n-a\n+b\n"}`, `apply_patch {"patch":"--- x\n+++ x\n@@ @@\n c\n-d\n"}`,
		}, false},
		{"open fence", "```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", nil, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			edits, err := edit.ParseTextEdits(c.text)
			if (err != nil) != c.fails {
				t.Fatal(err)
			}
			var calls []string
			for _, e := range edits {
				name, args := e.Call()
				calls = append(calls, name+" "+string(args))
			}
			if diff := cmp.Diff(c.calls, calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}
