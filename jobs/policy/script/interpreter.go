package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Programs that run what they are given as text.
const (
	shells       = "sh|bash|dash|ash|zsh|ksh|mksh|rbash|fish"
	interpreters = "python|python2|python3|python3.*|pypy|pypy3|node|nodejs|deno|bun|ruby|perl|php|lua|luajit|Rscript|osascript|pwsh|powershell|tclsh|guile|ts-node|tsx|ipython"
)

// as is the finder for scripts of a shell whose dialect its name says.
func (f *finder) as(name string) *finder {
	g := *f
	switch name {
	case "bash", "rbash":
		g.dialect = syntax.LangBash
	case "dash", "ash":
		g.dialect = syntax.LangPOSIX
	}
	return &g
}

// shell shows what a shell runs: the text behind -c, or its standard input.
// Operands are files.
func (f *finder) shell(argv []word, r run) {
	f = f.as(nameOf(argv[0]).text)
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		switch {
		case !w.known:
			f.decided(f.unlessFetched(computed, r.call), r.text)
			return
		case w.text == "-o" || w.text == "+o" || w.text == "-O" || w.text == "--rcfile" || w.text == "--init-file":
			i++
		case w.text == "-" || w.text == "-s" || w.text == "--" && i+1 == len(argv):
			f.stdin(r, func(body word) { f.text(body, r) })
			return
		case !strings.HasPrefix(w.text, "--") && isFlag(w) && strings.ContainsRune(w.text, 'c'):
			f.behindC(argv[i:], r)
			return
		case isFlag(w) || w.text == "--" || strings.HasPrefix(w.text, "+"):
		default:
			if strings.HasPrefix(w.text, "/dev/") {
				f.stdin(r, func(body word) { f.text(body, r) })
			}
			return
		}
	}
	f.stdin(r, func(body word) { f.text(body, r) })
}

// behindC shows the script behind -c, which further flags may stand ahead of.
func (f *finder) behindC(rest []word, r run) {
	for i := 0; i < len(rest); i++ {
		switch w := rest[i]; {
		case w.known && len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+'):
			if w.text[1] != '-' && strings.ContainsAny(w.text, "oO") {
				i++ // the option's name
			}
		default:
			if i > 0 {
				f.text(w, r)
			}
			return
		}
	}
}

// codeFlags are those by which an interpreter is given a program's text.
func codeFlags(name string) string {
	switch {
	case strings.HasPrefix(name, "node"):
		return "-e|--eval|-p|--print|-pe"
	case name == "php":
		return "-r"
	case name == "deno":
		return "eval"
	case name == "pwsh" || name == "powershell":
		return "-c|-Command|-EncodedCommand"
	case strings.HasPrefix(name, "py") || name == "ipython":
		return "-c"
	}
	return "-e|-E|-ne|-pe|-pi"
}

// quietFlags only ask an interpreter about itself.
const quietFlags = "--version|-V|-v|--help|-h"

// interpreter decides about text in other languages, which nobody reads here.
// A module that is run by name is as good as the program of that name.
func (f *finder) interpreter(argv []word, r run) {
	name := nameOf(argv[0]).text
	code := codeFlags(name)
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		given, next := coded(name, w.text)
		module := w.text == "-m" && strings.HasPrefix(name, "py")
		switch {
		case !w.known:
			f.decided(f.unlessFetched(computed, r.call), r.text)
			return
		case isFlag(w) && next && !module:
			i++
		case isFlag(w) && given, matches(code, w.text):
			f.decided(f.unlessFetched(foreign, r.call), r.text)
			return
		case w.text == "-m" && strings.HasPrefix(name, "py"):
			f.run(argv[i+1:], r)
			return
		case matches(quietFlags, w.text):
			return
		case w.text == "-" || strings.HasPrefix(w.text, "/dev/"):
			f.stdin(r, func(word) { f.decided(foreign, r.text) })
			return
		case !isFlag(w):
			return // a file
		}
	}
	f.stdin(r, func(word) { f.decided(foreign, r.text) })
}
