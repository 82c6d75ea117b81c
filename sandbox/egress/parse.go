package egress

import "errors"

// Parse makes a policy of what somebody typed: presets and rules, and hosts
// that may be private. It joins all faults.
func Parse(wanted, private []string) (Policy, error) {
	p := Policy{AllowPrivate: private}
	var errs []error
	for _, text := range wanted {
		rules, preset, err := parseWanted(text)
		switch {
		case err != nil:
			errs = append(errs, err)
		case preset:
			p.Presets = append(p.Presets, text)
		default:
			p.Allow = append(p.Allow, rules...)
		}
	}
	return p, errors.Join(append(errs, p.Validate())...)
}

// Covers reports whether everything of a preset is allowed.
func (p Policy) Covers(preset string) bool {
	rules, known := presetRules(preset)
	return known && len(uncovered(p.Rules(), rules)) == 0
}
