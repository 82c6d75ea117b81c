package mechanic

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/greenwright/greenwright/agent/model"
)

// rule is what is known of one tool: how to turn its call that checks into one
// that mends. It gets the call's words as they are written and answers with
// the mending call, nil when it does not know this use of the tool.
type rule struct {
	program string
	fix     func(args []string) []string
}

// rules are the tools that mend by themselves.
var rules = []rule{
	{"gofmt", swap([]string{"-l", "-d"}, "-w")},
	{"goimports", swap([]string{"-l", "-d"}, "-w")},
	{"prettier", swap([]string{"--check", "-c", "--list-different", "-l"}, "--write")},
	{"eslint", eslintFix},
	{"go", goFix},
}

// swap replaces the flags that make a tool only tell by the one that makes it
// write. Without any of them the call is not one that checks.
func swap(tell []string, write string) func([]string) []string {
	return func(args []string) []string {
		if !slices.ContainsFunc(args, func(a string) bool { return slices.Contains(tell, a) }) {
			return nil
		}
		out := []string{write}
		for _, a := range args {
			if !slices.Contains(tell, a) && a != write {
				out = append(out, a)
			}
		}
		return out
	}
}

func eslintFix(args []string) []string {
	if slices.Contains(args, "--fix") {
		return nil
	}
	return append([]string{"--fix"}, args...)
}

// goFix knows `go mod tidy`, which mends in the form that checks by looking at
// the files afterwards, and mends without -diff in the other.
func goFix(args []string) []string {
	if len(args) < 2 || args[0] != "mod" || args[1] != "tidy" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-diff" })
}

// runners start another program that is named as their next word.
var runners = []string{"npx", "exec", "command", "env"}

// maxParsed bounds what is parsed: the parser calls itself for each level of
// nesting, and a repository's file decides how deep that goes.
const maxParsed = 16 << 10

// fixFor finds the command that mends what a red check complains about: the
// mending form of every call in it that a rule knows.
func fixFor(c model.Check) (string, bool) {
	script := c.Command
	if len(script) > maxParsed {
		return "", false
	}
	if inner, ok := unwrap(script); ok {
		script = inner
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return "", false
	}
	var fixes []string
	syntax.Walk(f, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			if fix := fixCall(call); fix != "" && !slices.Contains(fixes, fix) {
				fixes = append(fixes, fix)
			}
		}
		return true
	})
	return strings.Join(fixes, " && "), len(fixes) > 0
}

// unwrap takes the script out of `bash -eo pipefail -c '…'`, the form in which
// a script for another shell comes.
func unwrap(script string) (string, bool) {
	f, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil || len(f.Stmts) != 1 {
		return "", false
	}
	call, ok := f.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 3 {
		return "", false
	}
	shell := path.Base(call.Args[0].Lit())
	if shell != "bash" && shell != "sh" || call.Args[len(call.Args)-2].Lit() != "-c" {
		return "", false
	}
	return literal(call.Args[len(call.Args)-1])
}

// literal is the value of a word that is only literals and single quotes.
func literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\'`, `'`))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// fixCall gives the mending form of one call, empty for none. Its words are
// kept as they are written: globs, substitutions and quotes mean the same.
func fixCall(call *syntax.CallExpr) string {
	words := make([]string, 0, len(call.Args))
	for _, a := range call.Args {
		text, err := written(a)
		if err != nil {
			return ""
		}
		words = append(words, text)
	}
	for i, w := range words {
		name := path.Base(w)
		for _, r := range rules {
			if r.program != name {
				continue
			}
			if fixed := r.fix(words[i+1:]); fixed != nil {
				return strings.Join(append(append([]string{}, words[:i+1]...), fixed...), " ")
			}
		}
		if !slices.Contains(runners, name) && !strings.HasPrefix(w, "-") {
			return ""
		}
	}
	return ""
}

// written is a word as it stands in the script.
func written(w *syntax.Word) (string, error) {
	var b bytes.Buffer
	err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, w)
	return b.String(), err
}
