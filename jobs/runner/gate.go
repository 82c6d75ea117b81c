package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/shell"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/policy/script"
)

// Gate stands in front of every tool of a run: it holds the run to its tier
// and its commands to the policy. A denial is a tool result. It is safe for
// concurrent use if Record is.
type Gate struct {
	// Tier is how much the run may do, and Why says for what reason.
	Tier tool.Tier
	Why  string
	// Scripts decides about commands.
	Scripts *script.Policy
	// Allowed is what run_command may run at tier test.
	Allowed *script.Allowlist
	// Own are the repository's own commands, to be named in a denial.
	Own []string
	// Ask is what becomes of commands about which Scripts asks: allow runs
	// them, approve asks a person, anything else does not run them.
	Ask script.Effect
	// MayRun asks a person about a command. If it is not to be run, the result
	// says why. Nil: nobody can be asked.
	MayRun func(ctx context.Context, d Decided) (tool.Result, bool)
	// Record is told every ask and every denial before it takes effect; a call
	// whose decision cannot be recorded is not run. It may be nil.
	Record func(ctx context.Context, d Decided) error
}

// Decided is a decision about one call.
type Decided struct {
	Tool   string
	Code   tool.Code // CodeOK for one that runs, CodeApprovalNeeded for one that a person is asked about
	Script string    // the whole command; Command is the part that decided
	Dir    string    // where it would run
	script.Decision
}

// Wrap puts the gate in front of tools. Those that the tier forbids whatever
// their arguments are left out: a model is not offered what it may not use.
func (g *Gate) Wrap(tools []tool.Tool) []tool.Tool {
	out := make([]tool.Tool, 0, len(tools))
	for _, t := range tools {
		spec := t.Spec()
		switch {
		case spec.Tier <= g.Tier:
		case g.listed(spec):
			spec.Description = strings.TrimSpace(spec.Description) + " In this run: only the project's own test, build and lint commands."
		default:
			continue
		}
		out = append(out, &gated{inner: t, spec: spec, gate: g})
	}
	return out
}

// listed reports whether a tool above the tier may be used for what is on the
// list.
func (g *Gate) listed(spec tool.Spec) bool {
	return g.Tier == tool.TierTest && spec.Name == shell.Name && g.Allowed != nil
}

// gated is a tool behind the gate.
type gated struct {
	inner tool.Tool
	spec  tool.Spec
	gate  *Gate
}

func (t *gated) Spec() tool.Spec { return t.spec }

// Forget passes on what the model no longer sees.
func (t *gated) Forget(args json.RawMessage) {
	if f, ok := t.inner.(tool.Forgetter); ok {
		f.Forget(args)
	}
}

func (t *gated) Call(ctx context.Context, args json.RawMessage) tool.Result {
	d := t.gate.decide(t.spec, args)
	if d.Effect == script.Allow && d.Rule == "" {
		return t.inner.Call(ctx, args)
	}
	if t.gate.Record != nil {
		if err := t.gate.Record(ctx, d); err != nil {
			return tool.Failf(tool.CodeInternal, "not run: the decision about it could not be recorded: %v", err)
		}
	}
	switch d.Code {
	case tool.CodeOK:
		return t.inner.Call(ctx, args)
	case tool.CodeApprovalNeeded:
		res, may := t.gate.MayRun(ctx, d)
		if may {
			return t.inner.Call(ctx, args)
		}
		return res
	default:
		return t.gate.denial(d)
	}
}

// decide decides about one call. An allow without a rule needs no record.
func (g *Gate) decide(spec tool.Spec, args json.RawMessage) Decided {
	command, dir, isCommand := commandIn(spec, args)
	if spec.Tier > g.Tier {
		d := script.Decision{Effect: script.Deny, Rule: "tier", Reason: "the tool is not for this run"}
		if isCommand && g.listed(spec) {
			d = g.Allowed.Decide(command)
		}
		if d.Effect != script.Allow {
			return Decided{Tool: spec.Name, Code: tool.CodeTierForbidden, Decision: d}
		}
	}
	if !isCommand {
		return Decided{Tool: spec.Name, Code: tool.CodeOK, Decision: script.Decision{Effect: script.Allow}}
	}
	d := Decided{Tool: spec.Name, Code: tool.CodeOK, Script: command, Dir: dir, Decision: g.Scripts.Decide(command)}
	asks := d.Effect == script.Ask
	switch {
	case d.Denied(), asks && g.Tier < tool.TierRun && !g.own(command):
		d.Code = tool.CodePolicyDenied
	case asks && g.Ask == policy.AskApprove && g.MayRun != nil:
		d.Code = tool.CodeApprovalNeeded
	case asks && g.Ask != script.Allow:
		d.Code = tool.CodePolicyDenied
	}
	return d
}

// own reports whether a command is one of the repository's.
func (g *Gate) own(command string) bool {
	for _, o := range g.Own {
		if strings.TrimSpace(o) == strings.TrimSpace(command) {
			return true
		}
	}
	return false
}

// commandIn is the script that a call would run and where, if it is one that
// runs any.
func commandIn(spec tool.Spec, args json.RawMessage) (command, dir string, is bool) {
	var a struct {
		Command *string `json:"command"`
		Dir     string  `json:"dir"`
	}
	if spec.Effect != tool.EffectExec || json.Unmarshal(args, &a) != nil || a.Command == nil {
		return "", "", false
	}
	return *a.Command, a.Dir, true
}

// maxOwnShown bounds the list in a denial.
const maxOwnShown = 10

// denial is what the model is told.
func (g *Gate) denial(d Decided) tool.Result {
	if d.Code != tool.CodeTierForbidden {
		res := tool.Failf(d.Code, "%s (rule %s)", d.Reason, d.Rule)
		if d.Command != "" {
			res.Message = fmt.Sprintf("%s: %s", d.Command, res.Message)
		}
		return res
	}
	res := tool.Failf(d.Code, "%s: %s. This run is held to tier %s: %s", d.Command, d.Reason, policy.TierName(g.Tier), g.Why)
	if d.Command == "" {
		res.Message = fmt.Sprintf("%s. This run is held to tier %s: %s", d.Reason, policy.TierName(g.Tier), g.Why)
	}
	if g.Tier != tool.TierTest {
		return res
	}
	if len(g.Own) > 0 {
		res = res.Suggest("the project's own commands: %s", strings.Join(g.Own[:min(len(g.Own), maxOwnShown)], "; "))
	}
	return res.Suggest("well-known test, build and lint commands, as go test, npm test, pytest, cargo test, make test; pipes into head, tail and grep")
}
