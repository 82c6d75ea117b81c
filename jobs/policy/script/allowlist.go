package script

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Allowlist lets pass only what is on it (tier test of RUNTIME 1.13). It does
// not change, and is safe for concurrent use.
type Allowlist struct {
	known map[string]bool // whole scripts
	forms []Invocation
}

// NewAllowlist holds [TestInvocations] and the scripts that a repository's own
// settings and CI name.
func NewAllowlist(known []string) (*Allowlist, error) {
	forms, err := TestInvocations()
	if err != nil {
		return nil, err
	}
	a := &Allowlist{known: map[string]bool{}, forms: forms}
	for _, k := range known {
		a.known[spaced(k)] = true
	}
	return a, nil
}

// spaced is a script without blanks that mean nothing.
func spaced(script string) string {
	script = strings.TrimSpace(script)
	if strings.ContainsAny(script, "'\"\\`#\n") {
		return script
	}
	return strings.Join(strings.Fields(script), " ")
}

// Decide allows or denies; it never asks. A script must be allowed as a plain
// sh reads it and as bash does.
func (a *Allowlist) Decide(script string) Decision {
	if a.known[spaced(script)] {
		return Decision{Effect: Allow, Reason: "one of the repository's own commands"}
	}
	for _, dialect := range dialects() {
		if d := a.read(script, dialect); d.Effect != Allow {
			return d
		}
	}
	return Decision{Effect: Allow, Reason: "well-known test and build commands"}
}

func (a *Allowlist) read(script string, dialect syntax.LangVariant) Decision {
	if len(script) > MaxBytes || depth(script) > maxDepth {
		return refused(reasons[tooDeep].text, script)
	}
	file, err := parse(script, dialect)
	if err != nil || strings.ContainsAny(script, "\x00\r") {
		return refused(reasons[unparsable].text, script)
	}
	d := Decision{Effect: Allow}
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil || d.Effect != Allow {
			return false
		}
		if reason := shapeOf(n); reason != "" {
			d = refused(reason, script)
		} else if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			text := source(script, call)
			if err := a.listed(call, text); err != nil {
				d = refused(err.Error(), text)
			}
		}
		return d.Effect == Allow
	})
	return d
}

func refused(reason, text string) Decision {
	return Decision{Effect: Deny, Rule: "tier-test", Reason: reason, Command: brief(text)}
}

// listed is nil for a command that is allowed, and else the nearest reason.
func (a *Allowlist) listed(call *syntax.CallExpr, text string) error {
	if a.known[spaced(text)] {
		return nil
	}
	argv := wordsOf(call)
	for range maxBehind {
		rest, err := a.admit(argv)
		if err != nil || len(rest) == 0 {
			return err
		}
		argv = rest
	}
	return errOther
}

// admit asks all forms; the first that fits decides what is left to run.
func (a *Allowlist) admit(argv []word) ([]word, error) {
	nearest := errOther
	for _, f := range a.forms {
		rest, err := f.admit(argv)
		if err == nil {
			return rest, nil
		}
		if err != errOther { //nolint:errorlint // the very value, never wrapped
			nearest = err
		}
	}
	return nil, nearest
}

// quietNames may be set for a command: they change what it prints, not what
// it runs.
const quietNames = "CI|NO_COLOR|FORCE_COLOR|NODE_ENV|RUST_BACKTRACE|CGO_ENABLED|GOMAXPROCS|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED|VERBOSE|V"

// shapeOf is what makes a node more than running commands, empty for nothing.
// Forms of the language that are not named here are refused.
func shapeOf(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.File, *syntax.Comment, *syntax.CallExpr, *syntax.Word, *syntax.Lit, *syntax.IfClause, *syntax.Block, *syntax.Subshell:
		return ""
	case *syntax.Stmt:
		if n.Background || n.Coprocess {
			return "it leaves a command running; use start_process"
		}
		return ""
	case *syntax.BinaryCmd:
		if n.Op == syntax.AndStmt || n.Op == syntax.OrStmt || n.Op == syntax.Pipe {
			return ""
		}
	case *syntax.SglQuoted:
		if !n.Dollar {
			return ""
		}
	case *syntax.DblQuoted:
		if !n.Dollar {
			return ""
		}
	case *syntax.Redirect:
		return redirectShape(n)
	case *syntax.Assign, *syntax.ForClause:
		return assignShape(n)
	case *syntax.ParamExp:
		if isStatus(n) {
			return ""
		}
		return "it computes what it runs"
	}
	return "it uses more of the shell than plain commands"
}

func assignShape(n syntax.Node) string {
	if a, ok := n.(*syntax.Assign); ok && a.Name != nil && !a.Append && a.Index == nil && a.Array == nil &&
		matches(quietNames, a.Name.Value) && (a.Value == nil || wordOf(a.Value).known) {
		return ""
	}
	return "it sets variables"
}

func redirectShape(r *syntax.Redirect) string {
	w := wordOf(r.Word)
	switch r.Op { // the others write files or are input
	case syntax.DplOut:
		if w.known && (w.text != "" && strings.Trim(w.text, "0123456789") == "" || w.text == "-") {
			return "" // a descriptor; a file would be written
		}
	case syntax.RdrOut, syntax.AppOut:
		if w.known && w.text == "/dev/null" {
			return ""
		}
	default:
	}
	return fmt.Sprintf("it reads or writes files through the shell (%s)", brief(r.Op.String()+w.text))
}
