package script

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Decision is what was decided about a script, and why. The zero value denies.
type Decision struct {
	Effect Effect
	// Rule is the ID of the rule that decided, empty when none did.
	Rule   string
	Reason string
	// Command is the simple command that decided, shortened.
	Command string
}

// Denied reports whether it may not run.
func (d Decision) Denied() bool { return d.Effect.strictness() >= Deny.strictness() }

// Policy decides by its rules. It does not change, and is safe for concurrent
// use.
type Policy struct {
	byName map[string][]Rule
	others []Rule // whose first pattern has a star
}

//go:embed rules.yml
var builtin []byte

// Builtin are the rules that hold everywhere.
func Builtin() ([]Rule, error) { return read(builtin) }

func read(content []byte) ([]Rule, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(content)))
	dec.KnownFields(true)
	var rules []Rule
	if err := dec.Decode(&rules); err != nil {
		return nil, fmt.Errorf("reading rules: %w", err)
	}
	return rules, nil
}

// New makes a Policy of the built-in rules and more, of which those with a
// built-in one's ID take its place. It names every fault of more, examples
// that fail included.
func New(more ...Rule) (*Policy, error) {
	if err := Validate(more); err != nil {
		return nil, err
	}
	rules, err := Builtin()
	if err != nil {
		return nil, err
	}
	rules = slices.DeleteFunc(rules, func(r Rule) bool {
		return slices.ContainsFunc(more, func(m Rule) bool { return m.ID == r.ID })
	})
	return index(append(rules, more...)), nil
}

// Validate names every fault of rules, IDs that are there twice included.
func Validate(rules []Rule) error {
	var errs []error
	seen := map[string]bool{}
	for _, r := range rules {
		if seen[r.ID] {
			errs = append(errs, fmt.Errorf("rule %q is there twice", r.ID))
		}
		seen[r.ID] = true
		errs = append(errs, r.Validate())
	}
	return errors.Join(errs...)
}

func index(rules []Rule) *Policy {
	p := &Policy{byName: map[string][]Rule{}}
	for _, r := range rules {
		if strings.Contains(r.Argv[0], "*") {
			p.others = append(p.others, r)
			continue
		}
		for name := range strings.SplitSeq(r.Argv[0], "|") {
			p.byName[name] = append(p.byName[name], r)
		}
	}
	return p
}

// Decide is the strictest decision about all commands of a script; of equal
// ones the first counts.
func (p *Policy) Decide(script string) Decision {
	worst := Decision{Effect: Allow}
	find(script, func(c command) {
		if d := p.decide(c); d.Effect.strictness() > worst.Effect.strictness() {
			worst = d
		}
	})
	return worst
}

// decide is the strictest rule's decision about one command. A deny that is
// not sure to be meant is an ask.
func (p *Policy) decide(c command) Decision {
	if c.why != "" {
		why := reasons[c.why]
		return Decision{Effect: why.effect, Rule: string(c.why), Reason: why.text, Command: c.text}
	}
	worst := Decision{Effect: Allow}
	for _, rules := range [][]Rule{p.byName[c.word(0).text], p.others} {
		for _, r := range rules {
			effect, reason := r.Decision, r.Reason
			switch r.meets(c) {
			case no:
				continue
			case maybe:
				if effect == Deny {
					effect = Ask
				}
				reason = "part of it is only known when it runs; perhaps: " + reason
			case yes:
			}
			if effect.strictness() > worst.Effect.strictness() {
				worst = Decision{Effect: effect, Rule: r.ID, Reason: reason, Command: c.text}
			}
		}
	}
	return worst
}
