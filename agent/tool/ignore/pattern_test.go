package ignore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/tool/ignore"
)

func TestGlob(t *testing.T) {
	cases := []struct {
		glob, path string
		want       bool
	}{
		{"*.go", "a/b.go", true},
		{"*.go", "a/b.gox", false},
		{"**/*.{ts,tsx}", "a/b.tsx", true},
		{"**/*.{ts,tsx}", "b.ts", true},
		{"**/*.{ts,tsx}", "b.js", false},
		{"src/*.go", "src/a.go", true},
		{"src/*.go", "src/x/a.go", false},
		{"src/*", "src/x/a.go", false},
		{"src/", "src/x/a.go", true},
		{"./src/**", "src/x/a.go", true},
		{"!vendor", "vendor/a.go", false},
		{"!vendor", "src/a.go", true},
		{"!*.{md,txt}", "a.md", false},
		{"!*.{md,txt}", "a.go", true},
		{"{a,b{c,d}}.x", "bd.x", true},
		{"{a,b{c,d}}.x", "b.x", false},
		{"{a}.x", "{a}.x", true},
		{"{a", "{a", true},
		{`\{a,b\}`, "{a,b}", true},
		{"/a.go", "a.go", true},
		{"/a.go", "x/a.go", false},
		{"#x", "#x", true},
	}
	for _, c := range cases {
		g, err := ignore.ParseGlob(c.glob)
		if err != nil {
			t.Errorf("%s: %v", c.glob, err)
			continue
		}
		if got := g.Match(c.path); got != c.want {
			t.Errorf("%q on %s: %v", c.glob, c.path, got)
		}
	}
	for _, bad := range []string{"", "!", "./", strings.Repeat("{a,b}", 10), strings.Repeat("x", 2000)} {
		if _, err := ignore.ParseGlob(bad); !errors.Is(err, ignore.ErrGlob) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if !(*ignore.Glob)(nil).Match("a") {
		t.Error("no glob does not select all")
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("**/*.{ts,{a,b}}", "a/b.ts")
	f.Add("!{[a-", "x")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := ignore.ParseGlob(pattern)
		if err != nil {
			return
		}
		if first := g.Match(path); g.Match(path) != first {
			t.Fatal("two answers")
		}
	})
}
