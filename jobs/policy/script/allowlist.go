package script

import (
	_ "embed"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

//go:embed tests.yml
var testInvocations []byte

// TestInvocations are the well-known ways to run tests, builds and linters,
// and what is used to look at their output.
func TestInvocations() ([]Rule, error) { return read(testInvocations) }

// Allowlist lets pass only what is on it (tier test of RUNTIME 1.13). It does
// not change, and is safe for concurrent use.
type Allowlist struct {
	known  map[string]bool // whole scripts
	policy *Policy
}

// NewAllowlist holds [TestInvocations] and the scripts that a repository's own
// settings and CI name.
func NewAllowlist(known []string) (*Allowlist, error) {
	rules, err := TestInvocations()
	if err != nil {
		return nil, err
	}
	a := &Allowlist{known: map[string]bool{}, policy: index(rules)}
	for _, k := range known {
		a.known[spaced(k)] = true
	}
	return a, nil
}

func spaced(script string) string { return strings.Join(strings.Fields(script), " ") }

// Decide allows or denies; it never asks.
func (a *Allowlist) Decide(script string) Decision {
	if a.known[spaced(script)] {
		return Decision{Effect: Allow, Reason: "one of the repository's own commands"}
	}
	if reason := a.shape(script); reason != "" {
		return Decision{Effect: Deny, Rule: "tier-test", Reason: reason, Command: brief(script)}
	}
	d := Decision{Effect: Allow, Reason: "well-known test and build commands"}
	f := finder{visit: func(c command) {
		if d.Effect == Allow && !a.listed(c) {
			d = Decision{Effect: Deny, Rule: "tier-test", Reason: "it is not among the commands that this run may use", Command: c.text}
		}
	}}
	f.script(script)
	return d
}

func (a *Allowlist) listed(c command) bool {
	if c.why != "" {
		return false
	}
	if a.known[spaced(c.text)] {
		return true
	}
	for _, r := range a.policy.byName[c.word(0).text] {
		if r.meets(c) == yes {
			return true
		}
	}
	return false
}

// quietNames may be set for a command: they change what it prints, not what
// it runs.
const quietNames = "CI|NO_COLOR|FORCE_COLOR|NODE_ENV|RUST_BACKTRACE|CGO_ENABLED|GOMAXPROCS|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED|VERBOSE|V"

// shape is what of a script's form is more than running commands, empty for
// nothing: files written by the shell, variables, functions, processes left
// behind.
func (a *Allowlist) shape(script string) string {
	if len(script) > MaxBytes || depth(script) > maxDepth {
		return reasons[tooDeep].text
	}
	file, err := parse(script)
	if err != nil {
		return reasons[unparsable].text
	}
	reason := ""
	syntax.Walk(file, func(n syntax.Node) bool {
		if reason == "" {
			reason = shapeOf(n)
		}
		return reason == ""
	})
	return reason
}

func shapeOf(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.Stmt:
		if n.Background || n.Coprocess {
			return "it leaves a command running; use start_process"
		}
	case *syntax.Redirect:
		return redirectShape(n)
	case *syntax.Assign:
		if n.Name == nil || !matches(quietNames, n.Name.Value) || n.Value != nil && !wordOf(n.Value).known {
			return "it sets variables"
		}
	case *syntax.ParamExp:
		if n.Param == nil || n.Param.Value != "?" {
			return "it computes what it runs"
		}
	case *syntax.FuncDecl, *syntax.CoprocClause, *syntax.DeclClause, *syntax.LetClause, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp:
		return "it computes what it runs"
	}
	return ""
}

func redirectShape(r *syntax.Redirect) string {
	w := wordOf(r.Word)
	switch r.Op { // the others write files or are input
	case syntax.DplOut, syntax.DplIn:
		if w.known && strings.Trim(w.text, "0123456789") == "" || w.text == "-" {
			return "" // a descriptor; a file would be written
		}
	case syntax.RdrOut, syntax.RdrAll, syntax.AppOut, syntax.AppAll:
		if w.known && w.text == "/dev/null" {
			return ""
		}
	default:
	}
	return fmt.Sprintf("it reads or writes files through the shell (%s)", brief(r.Op.String()+w.text))
}
