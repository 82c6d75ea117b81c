package script

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What a script may be before it is decided without being read further: a
// longer one, or one nested deeper, is nothing that a model writes to be
// understood.
const (
	MaxBytes  = 64 << 10
	maxNested = 8   // scripts inside of scripts
	maxBehind = 16  // wrappers in front of a command
	maxShown  = 160 // bytes of a command in a reason
)

// reason names a decision that comes from what a command is.
type reason string

// The reasons that are no rules.
const (
	unparsable reason = "unparsable"
	dialect    reason = "dialect"
	tooDeep    reason = "too-deep"
	computed   reason = "computed"
	foreign    reason = "interpreter"
	downloaded reason = "download-and-run"
)

// reasons say what each of them means.
var reasons = map[reason]struct {
	effect Effect
	text   string
}{
	unparsable: {Ask, "it cannot be parsed as a shell script"},
	dialect:    {Ask, "a plain sh and bash do not both read it; leave bash's own forms away, or give it to bash -c"},
	tooDeep:    {Ask, "it is too long or nested too deep to be read"},
	computed:   {Ask, "what it runs is only known when it runs"},
	foreign:    {Ask, "it is a program in another language, which is not read"},
	downloaded: {Deny, "it runs what it has just downloaded"},
}

// finder goes through a script and shows every simple command that it would
// run, wrappers and what is behind them one by one.
type finder struct {
	visit  func(command)
	nested int
	// fetches are the nodes with a download somewhere inside.
	fetches map[syntax.Node]bool
	src     string
	dialect syntax.LangVariant
}

// dialects are what /bin/sh may be: a script is decided as each reads it, and
// the stricter decision counts.
func dialects() []syntax.LangVariant {
	return []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX}
}

// find shows all commands of a script in every dialect.
func find(script string, visit func(command)) {
	for _, d := range dialects() {
		f := finder{visit: visit, dialect: d}
		f.script(script)
	}
}

func parse(script string, dialect syntax.LangVariant) (*syntax.File, error) {
	f, err := syntax.NewParser(syntax.Variant(dialect)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, fmt.Errorf("parsing a script: %w", err)
	}
	return f, nil
}

// readByOther reports whether the other dialect has no fault in a script.
func readByOther(script string, dialect syntax.LangVariant) bool {
	for _, d := range dialects() {
		if _, err := parse(script, d); d != dialect && err == nil {
			return true
		}
	}
	return false
}

// script shows the commands of a script.
func (f *finder) script(script string) {
	if len(script) > MaxBytes || f.nested >= maxNested || depth(script) > maxDepth {
		f.decided(tooDeep, script)
		return
	}
	file, err := parse(script, f.dialect)
	if err != nil {
		why := unparsable
		if readByOther(script, f.dialect) {
			why = dialect
		}
		f.decided(why, script)
		return
	}
	inner := finder{visit: f.visit, nested: f.nested + 1, dialect: f.dialect, src: script, fetches: downloads(file)}
	inner.file(file)
}

func (f *finder) decided(r reason, text string) { f.visit(command{why: r, text: brief(text)}) }

// file walks over all statements; a pipe's right side reads from its left one,
// also through the parentheses, loops and functions around it.
func (f *finder) file(file *syntax.File) {
	pipes := map[*syntax.Stmt]syntax.Node{}
	var from []syntax.Node // what each open node reads from
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			from = from[:len(from)-1]
			return true
		}
		var source syntax.Node
		if len(from) > 0 {
			source = from[len(from)-1]
		}
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				pipes[n.Y] = n.X
			}
		case *syntax.Stmt:
			if x, ok := pipes[n]; ok {
				source = x
			}
			f.statement(n, source)
		}
		from = append(from, source)
		return true
	})
}

// input is where a command's standard input comes from.
type input struct {
	pipe   syntax.Node
	redirs []*syntax.Redirect
}

func (f *finder) statement(s *syntax.Stmt, pipe syntax.Node) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	f.run(wordsOf(call), run{call: call, in: input{pipe, s.Redirs}, text: brief(source(f.src, call))})
}

func wordsOf(call *syntax.CallExpr) []word {
	argv := make([]word, 0, len(call.Args))
	for _, a := range call.Args {
		argv = append(argv, wordOf(a))
	}
	return argv
}

// source is a node as it is written.
func source(script string, n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || from > to || to > len(script) {
		return ""
	}
	return script[from:to]
}

// run is what is known of a command besides its words.
type run struct {
	call   *syntax.CallExpr
	in     input
	text   string
	behind int // wrappers so far
}

// run shows a command and what it runs in turn.
func (f *finder) run(argv []word, r run) {
	if len(argv) == 0 {
		return
	}
	if r.behind > maxBehind {
		f.decided(tooDeep, r.text)
		return
	}
	name := nameOf(argv[0])
	if !name.known && name.text == "" {
		f.decided(f.unlessFetched(computed, r.call), r.text)
		return
	}
	f.visit(simple(argv, r.text))
	r.behind++
	f.behind(name.text, argv, r)
}

// unlessFetched is r, or the reason of what downloads.
func (f *finder) unlessFetched(r reason, n syntax.Node) reason {
	if f.fetches[n] {
		return downloaded
	}
	return r
}

// downloads finds the nodes that have a download inside.
func downloads(file *syntax.File) map[syntax.Node]bool {
	found := map[syntax.Node]bool{}
	var open []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			open = open[:len(open)-1]
			return true
		}
		open = append(open, n)
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || !matches("curl|wget|fetch|aria2c", nameOf(wordOf(call.Args[0])).text) {
			return true
		}
		for i := len(open) - 1; i >= 0 && !found[open[i]]; i-- {
			found[open[i]] = true
		}
		return true
	})
	return found
}

// maxDepth is how deep brackets may nest: the parser recurses, and what it
// has not seen the end of it may read again.
const maxDepth = 200

// depth is about how deep a script nests, by its brackets or by its words;
// quotes are not looked at.
func depth(script string) int {
	var brackets, words nesting
	for i := range len(script) {
		switch script[i] {
		case '(', '{', '[':
			brackets.add(1)
		case ')', '}', ']':
			brackets.add(-1)
		default:
		}
	}
	for w := range strings.FieldsSeq(script) {
		switch strings.Trim(w, ";") {
		case "if", "while", "until":
			words.add(1)
		case "fi", "done":
			words.add(-1)
		default:
		}
	}
	return max(brackets.most, words.most)
}

// nesting counts what is open.
type nesting struct{ open, most int }

func (n *nesting) add(d int) {
	n.open = max(n.open+d, 0)
	n.most = max(n.most, n.open)
}

func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}
