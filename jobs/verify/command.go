package verify

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one verifying command.
type Command struct {
	Name   string // for people, e.g. the CI step's name
	Script string
	Dir    string // relative to the repository
	Env    []string
	// Shell is the argv that Script is appended to; empty is /bin/sh -c.
	Shell []string
	// Source says where the command comes from.
	Source string
}

// Line is the command as one script for /bin/sh -c that does the same.
func (c Command) Line() string {
	script := strings.TrimSpace(c.Script)
	if len(c.Shell) == 0 || !strings.ContainsAny(script, "\n|") {
		return script
	}
	words := make([]string, 0, len(c.Shell)+1)
	for _, w := range append(append([]string{}, c.Shell...), script) {
		words = append(words, quote(w))
	}
	return strings.Join(words, " ")
}

// quote makes one word of POSIX shell of any text.
func quote(w string) string {
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// maxParsed bounds what is parsed: the parser calls itself for each level of
// nesting, and a repository's file decides how deep that goes.
const maxParsed = 16 << 10

// calls lists the simple commands of a script, as their leading literal
// words; a script that cannot be parsed, or is too long to be, has none.
func calls(script string) [][]string {
	if len(script) > maxParsed {
		return nil
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil
	}
	var out [][]string
	syntax.Walk(f, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var words []string
		for _, w := range call.Args {
			words = append(words, w.Lit())
		}
		if len(words) > 0 {
			out = append(out, words)
		}
		return true
	})
	return out
}
