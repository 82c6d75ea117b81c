package outline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/outline"
)

// TestOf reads testdata/<file> and compares "from-to kind parent.name" with
// testdata/<file>.golden. Run with -update to write what is found, and look.
func TestOf(t *testing.T) {
	paths, err := filepath.Glob("testdata/sample*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no samples", err)
	}
	for _, p := range paths {
		if strings.HasSuffix(p, ".golden") {
			continue
		}
		t.Run(filepath.Base(p), func(t *testing.T) {
			src, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(p, ".txt")
			got := render(outline.Of(name, src))
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(p+".golden", []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(p + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnclosing(t *testing.T) {
	src := "package a\n\ntype T struct{}\n\nfunc (t *T) M() {\n\tx := 1\n\t_ = x\n}\n"
	symbols := outline.Of("a.go", []byte(src))
	for line, want := range map[int]string{3: "T", 5: "M", 6: "M", 8: "M", 1: "", 4: "", 99: ""} {
		got, ok := outline.Enclosing(symbols, line)
		if got.Name != want || ok != (want != "") {
			t.Errorf("line %d: %q %v", line, got.Name, ok)
		}
	}
	inner := outline.Of("a.py", []byte("class A:\n    def f(self):\n        pass\n"))
	if s, _ := outline.Enclosing(inner, 3); s.Name != "f" || s.Parent != "A" || s.Kind != outline.KindMethod {
		t.Errorf("innermost: %+v", s)
	}
}

// TestBrokenGo wants what parses, and a rough look at the rest.
func TestBrokenGo(t *testing.T) {
	src := "package a\n\nfunc Before() {}\n\nfunc Broken( {\n\tx := \n}\n\ntype After struct {\n\tA int\n}\n\nfunc (a After) Last() {}\n"
	found := make(map[string]bool)
	for _, s := range outline.Of("a.go", []byte(src)) {
		found[s.Name] = true
	}
	for _, name := range []string{"Before", "Broken", "After", "Last"} {
		if !found[name] {
			t.Errorf("%s is missing: %v", name, found)
		}
	}
}

func TestNothingToOutline(t *testing.T) {
	for name, src := range map[string]string{
		"a.unknown": "func main() {}", "a.go": "\x00package a", "b.go": strings.Repeat("x", outline.MaxBytes+1),
		"c.py": "# class A:\n'''\nclass B:\n'''\n", "d.js": "// function a() {}\n/* class B {} */ 'function c() {}'",
	} {
		if got := outline.Of(name, []byte(src)); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDocStart(t *testing.T) {
	cases := []struct {
		src        string
		from, want int
	}{
		{"x\n// a\n// b\nfunc f() {}\n", 4, 2},
		{"x\n\nfunc f() {}\n", 3, 3},
		{"/**\n * a\n */\n@Override\nvoid f() {}\n", 5, 1},
		{"x = 1\n@a\n@b(1)\ndef f(): pass\n", 4, 2},
		{"x; /* a */\nint f() {}\n", 2, 2},
		{"a\n", 9, 9},
	}
	for _, c := range cases {
		if got := outline.DocStart([]byte(c.src), c.from); got != c.want {
			t.Errorf("%q: %d, want %d", c.src, got, c.want)
		}
	}
}

func render(symbols []outline.Symbol) string {
	var b strings.Builder
	for _, s := range symbols {
		b.WriteString(line(s))
	}
	return b.String()
}

// hostile is input that is meant to be slow or deep.
func hostile() map[string]string {
	long := func(s string) string { return strings.Repeat(s, outline.MaxBytes/8/len(s)) }
	return map[string]string{
		"braces": long("{"), "pairs": long("f(){}"), "open parens": long("f({"), "commas": long("a(){},"), "quotes": long(`\'`),
		"ticks": long("`${"), "ticks 2": long("`"), "slashes": long("/a"), "hashes": long("#"), "here": long("<<A\n"), "here 2": long("<<A "),
		"lines": "f" + long("\n"), "spaces": long(" \t"), "comments": long("/*"), "heads": long("class "), "types": long("a<"),
		"angle": long("fun <"), "names": long("a b("), "defs": long("def a():\n "), "headings": long("# a\n"), "ifs": long("#if\n{\n"),
		"nested funcs": long("func f() {\n"), "raw": long(`r#"`), "tags": long("$a$b"), "rust": long("'\\"), "at": long(`@"`), "cpp": long(`R"(`),
		"one line": long("x"), "create": long("create table a "), "targets": long("a:b\n"), "blocks": long("a {\n"), "js": long("a={b(){c:"),
	}
}

func TestHostileInputIsBounded(t *testing.T) {
	exts := []string{"go", "py", "js", "java", "kt", "cs", "cpp", "rs", "rb", "php", "swift", "scala", "sh", "mk", "md", "sql", "proto", "tf"}
	if testing.Short() {
		t.Skip("many megabytes")
	}
	slowest := time.Duration(0)
	defer func() { t.Logf("the slowest of them took %v", slowest) }()
	for what, src := range hostile() {
		for _, ext := range exts {
			start := time.Now()
			outline.Of("a."+ext, []byte(src))
			took := time.Since(start)
			slowest = max(slowest, took)
			if took > 500*time.Millisecond {
				t.Logf("%s as %s took %v", what, ext, took)
			}
			if took > 2*time.Second {
				t.Errorf("%s as %s took %v", what, ext, took)
			}
		}
	}
}

func FuzzOf(f *testing.F) {
	paths, _ := filepath.Glob("testdata/sample*")
	for _, p := range paths {
		if src, err := os.ReadFile(p); err == nil && !strings.HasSuffix(p, ".golden") {
			f.Add(strings.TrimSuffix(p, ".txt"), src)
		}
	}
	f.Fuzz(func(t *testing.T, name string, src []byte) {
		symbols := outline.Of(name, src)
		lines := strings.Count(string(src), "\n") + 1
		for _, s := range symbols {
			if s.From < 1 || s.To < s.From || s.To > lines || s.Name == "" {
				t.Fatalf("%q: %+v in %d lines", name, s, lines)
			}
			if strings.ContainsAny(s.Signature, "\n\r") || len(s.Signature) > 300 {
				t.Fatalf("signature %q", s.Signature)
			}
		}
		if diff := cmp.Diff(symbols, outline.Of(name, src)); diff != "" {
			t.Fatal(diff)
		}
	})
}
