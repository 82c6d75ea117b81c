package egress

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Policy says where commands may connect. The zero value allows nothing.
type Policy struct {
	// Allow are single rules, see [Rule].
	Allow []Rule `yaml:"allow"`
	// Presets name lists of hosts, see [PresetNames].
	Presets []string `yaml:"presets"`
	// AllowPrivate are hosts (name or *.suffix, no port) that may resolve to
	// private, loopback and reserved addresses, as an operator's mirror may.
	// They must be allowed as well. Link-local and metadata addresses stay
	// refused.
	AllowPrivate []string `yaml:"allow_private"`
}

// Validate joins all faults.
func (p Policy) Validate() error {
	var errs []error
	for _, r := range p.Allow {
		if parsed, err := ParseRule(r.String()); err != nil {
			errs = append(errs, err)
		} else if parsed != r {
			errs = append(errs, fmt.Errorf("egress rule %q is not in its normal form %q", r, parsed))
		}
	}
	for _, name := range p.Presets {
		if _, ok := presetRules(name); !ok {
			errs = append(errs, unknownPreset(name))
		}
	}
	for _, host := range p.AllowPrivate {
		if _, err := parseHostPattern(host); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func unknownPreset(name string) error {
	known := PresetNames()
	if len(name) > maxHost {
		name = name[:maxHost]
	}
	return fmt.Errorf("egress preset %q is not known; the nearest is %q of %s",
		name, nearest(name, known), strings.Join(known, ", "))
}

// parseHostPattern reads an entry of AllowPrivate.
func parseHostPattern(text string) (Rule, error) {
	if strings.Contains(text, ":") {
		return Rule{}, fmt.Errorf("egress allow_private %.300q: want a host without a port", text)
	}
	r, err := ParseRule(text)
	if err != nil {
		return Rule{}, fmt.Errorf("egress allow_private: %w", err)
	}
	return r, nil
}

// Empty reports a policy that allows nothing.
func (p Policy) Empty() bool { return len(p.Allow) == 0 && len(p.Presets) == 0 }

// Rules are all rules, those of the presets among them, without doubles.
// Unknown presets have none.
func (p Policy) Rules() []Rule {
	rules := slices.Clone(p.Allow)
	for _, name := range p.Presets {
		more, _ := presetRules(name)
		for _, r := range more {
			if !slices.Contains(rules, r) {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// Narrow is the policy of a repository that asks for some of what the
// operator allows: preset names and rules. Nothing asked is nothing allowed.
// Whatever p does not cover is an error that names it, as is what cannot be
// read; which hosts may be private stays the operator's word.
func (p Policy) Narrow(wanted []string) (Policy, error) {
	narrow := Policy{AllowPrivate: slices.Clone(p.AllowPrivate)}
	have := p.Rules()
	var errs []error
	for _, text := range wanted {
		rules, preset, err := parseWanted(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if missing := uncovered(have, rules); len(missing) > 0 {
			errs = append(errs, fmt.Errorf("egress %q: the operator does not allow %s (sandbox.egress)",
				text, strings.Join(missing, ", ")))
			continue
		}
		if preset {
			narrow.Presets = append(narrow.Presets, text)
		} else {
			narrow.Allow = append(narrow.Allow, rules...)
		}
	}
	if len(errs) > 0 {
		return Policy{}, errors.Join(errs...)
	}
	return narrow, nil
}

// parseWanted reads what a repository asks for. A word without a dot or a port
// that names no preset is a misspelt one.
func parseWanted(text string) (rules []Rule, preset bool, err error) {
	if rules, ok := presetRules(text); ok {
		return rules, true, nil
	}
	if !strings.ContainsAny(text, ".:") {
		return nil, false, unknownPreset(text)
	}
	rule, err := ParseRule(text)
	return []Rule{rule}, false, err
}

func uncovered(have, wanted []Rule) []string {
	var missing []string
	for _, r := range wanted {
		if !anyCovers(have, r) {
			missing = append(missing, r.String())
		}
	}
	return missing
}
