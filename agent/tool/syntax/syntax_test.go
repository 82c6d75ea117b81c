package syntax_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool/syntax"
)

func TestFaultsAreFound(t *testing.T) {
	cases := []struct {
		path, body string
		line       int
	}{
		{"a.go", "package a\n\nfunc f( {\n}\n", 3},
		{"a.json", "{\n \"a\": 1,\n}\n", 3},
		{"a.json", "{\"a\": 1", 1},
		{"tsconfig.json", "{\n // c\n \"a\": }\n", 3},
		{"a.yaml", "a: 1\nb: [1, 2\nc: 3\n", 1},
		{"a.yml", "a: 1\n---\nb: \"x\n", 3},
		{"a.yaml", "a:\n\tb: 1\n", 2},
		{"a.toml", "a = 1\nb = \n", 2},
		{"a.ts", "const a: number = ;\n", 1},
		{"a.tsx", "const a = <div>;\n", 2},
		{"a.js", "function f() {\n", 2},
		{"a.mjs", "export {\n", 2},
		{"a.css", "a { color: red;\n", 2},
		{"a.sh", "if true; then\n  echo\n", 1},
		{"a.sh", "#!/bin/bash\necho $(\n", 2},
	}
	for _, c := range cases {
		faults := syntax.Check(c.path, []byte(c.body))
		if len(faults) == 0 || faults[0].Message == "" || faults[0].Path != c.path {
			t.Errorf("%s %q: %+v", c.path, c.body, faults)
			continue
		}
		if faults[0].Line != c.line {
			t.Errorf("%s %q: line %d, want %d: %s", c.path, c.body, faults[0].Line, c.line, faults[0].Message)
		}
	}
}

func TestNoFalseAlarms(t *testing.T) {
	cases := map[string]string{
		"a.go":                   "package a\n\nfunc f() { undefined.Thing(1, \"x\") }\n",
		"a_test.go":              "//go:build x\n\npackage a_test\n",
		"a.json":                 "\xef\xbb\xbf{\"a\": [1, 2.5e3, null, \"\\u00e9\"]}\n",
		"empty.json":             "",
		"tsconfig.app.json":      "{\n  // comment\n  \"a\": [1,],\n}\n",
		".vscode/settings.json":  "{ /* c */ \"a\": 1, }",
		".eslintrc.json":         "{ // c\n}",
		"a.jsonc":                "// c\n[1,]\n",
		"a.yaml":                 "a: &x {b: 1}\nc: *x\n<<: *x\n---\n--- !custom\n- !Ref y\n- !GetAtt a.b\n...\n",
		"dup.yaml":               "a: 1\na: 2\n",
		"empty.yaml":             "# only a comment\n",
		"ci.yaml":                "on: [push]\njobs:\n  a:\n    if: ${{ github.ref == 'x' }}\n",
		"chart/templates/d.yaml": "{{- if .Values.x }}\nkind: {{ .Values.kind }}\n{{- end }}\n",
		"jinja.yml":              "{% for x in y %}\n- x\n{% endfor %}\n",
		"anchor.yml":             "a: *defined_elsewhere\n",
		"a.toml":                 "[a]\nb = 1979-05-27T07:32:00Z\n[[c]]\nd = '''x\n'''\n",
		"a.ts":                   "enum A { B }\nabstract class C<T> { @dec() private x!: T; constructor(@inject() readonly y: string) {} }\nexport type D = keyof typeof A;\nlet e = <any>f;\n",
		"d.d.ts":                 "declare module 'x' { export const y: number }\n",
		"a.tsx":                  "export const A = <T,>(p: T) => <div {...p}>&nbsp;</div>;\n",
		"a.js":                   "const a = <div/>;\nmodule.exports = a;\nreturn 1;\n",
		"typed.js":               "const a = (x: number) => x;\n",
		"flow.js":                "// @flow\nopaque type A = {| x: ?number |};\n",
		"page.js":                "{{define \"x\"}}\nlet a = {{.Value}};\n{{end}}\n",
		"style.jsx":              "const a = <div style={{color: x}}/>;\n",
		"a.cjs":                  "#!/usr/bin/env node\nmodule.exports = require('x');\n",
		"a.css":                  "@media (min-width: 1px) { a:hover { --x: { y }; } }\n@unknown x;\n.a { &:hover { color: red } }\n",
		"a.sh":                   "#!/bin/sh\n[ -f x ] && . ./x\ncat <<EOF\n$(date)\nEOF\n",
		"b.sh":                   "#!/bin/bash\nif [[ $x =~ ^a(b|c)$ ]]; then arr=(1 2); echo \"${arr[@]}\"; fi\nfunction f { :; }\n",
		"z.sh":                   "#!/bin/zsh\nfor f (*.txt) print $f\n",
		"a.py":                   "def f(:\n",
		"testdata/bad.json":      "{",
		"a.tmpl.yaml":            ": :\n[",
	}
	for path, body := range cases {
		if faults := syntax.Check(path, []byte(body)); len(faults) > 0 {
			t.Errorf("%s: %+v", path, faults)
		}
	}
}

func TestNewFaultsOnly(t *testing.T) {
	broken := "package a\n\nfunc f( {\n}\n"
	cases := []struct {
		name, path, before, after string
		found                     bool
	}{
		{"was broken and is", "a.go", broken, "package a\n\n// moved\nfunc f( {\n}\n", false},
		{"was whole", "a.go", "package a\n", broken, true},
		{"repaired", "a.go", broken, "package a\n", false},
		{"comments in plain JSON were there", "x.json", "{\n // c\n}", "{\n // c\n \"a\": 1,\n}", false},
		{"and are broken now", "x.json", "{\n // c\n}", "{\n // c\n \"a\": \n}", true},
		{"one more of a kind", "a.yaml", "a: [1\n", "a: [1\n", false},
	}
	for _, c := range cases {
		if faults := syntax.New(c.path, []byte(c.before), []byte(c.after)); (len(faults) > 0) != c.found {
			t.Errorf("%s: %+v", c.name, faults)
		}
	}
	if faults := syntax.New("a.go", nil, []byte(broken)); len(faults) == 0 {
		t.Error("a new file is not checked")
	}
}

func TestLimits(t *testing.T) {
	if faults := syntax.Check("a.json", []byte(strings.Repeat("[", syntax.MaxBytes+1))); faults != nil {
		t.Errorf("%+v", faults)
	}
	// Each unit is one level; without a bound most of these end the process.
	units := map[string]string{
		"a.json": "[ {\"a\":", "tsconfig.json": "[ {\"a\": [\"]\", [/*]*/", "a.yaml": "[ -\u00a0 {a:\u00a0 &a\u00a0[*a,", "a.toml": "a=[ a={a= a.",
		"a.go": "( { [] - a.", "a.js": "( [ { ! - a=> a? if(a) `${ a= a: <a> ({a: a.b( (\")\"+ a**", "a.ts": "< ( new\u00a0 a<",
		"a.css": "{ a{ ( @media{ a{b:\"}\"; a{b:url(})", "a.sh": "( $( {\u00a0 if\u00a0 \"$( $(( a() ${a:- while\u00a0 a|",
	}
	for path, list := range units {
		for unit := range strings.SplitSeq(list, " ") {
			unit = strings.ReplaceAll(unit, "\u00a0", " ")
			for _, size := range []int{16 << 10, 128 << 10, syntax.MaxBytes} {
				start := time.Now()
				syntax.Check(path, []byte(strings.Repeat(unit, size/len(unit))))
				if took := time.Since(start); took > 3*time.Second {
					t.Errorf("%s of %q takes %v", path, unit, took)
				}
			}
		}
	}
}

func TestWhatIsChecked(t *testing.T) {
	got := make(map[string]bool)
	for _, name := range []string{"a.go", "A.JSON", "a.py", "Makefile", "x/testdata/a.go"} {
		got[name] = len(syntax.Check(name, []byte("{[(\n"))) > 0
	}
	if diff := cmp.Diff(map[string]bool{"a.go": true, "A.JSON": true, "a.py": false, "Makefile": false, "x/testdata/a.go": false}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("a.yaml", "a: [b\n")
	f.Add("a.go", "package a")
	f.Add("a.tsx", "<a/>")
	f.Add("a.sh", "a <<E\n")
	f.Add("a.toml", "a=1")
	f.Add("a.css", "a{}")
	f.Fuzz(func(t *testing.T, path, body string) {
		for _, fault := range syntax.Check(path, []byte(body)) {
			if fault.Line < 1 || fault.Column < 0 || fault.Message == "" {
				t.Fatalf("%+v", fault)
			}
		}
	})
}
