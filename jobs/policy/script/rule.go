package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Effect is what is decided.
type Effect string

// The closed set of effects. The zero value denies.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// strictness orders effects.
func (e Effect) strictness() int {
	switch e {
	case Allow:
		return 0
	case Ask:
		return 1
	case Deny:
	}
	return 2
}

// Rule says what is decided about commands of one form.
type Rule struct {
	// ID is stable: it is in records, and an operator's rule takes the place
	// of the built-in one of the same ID.
	ID string `yaml:"id"`
	// Argv are patterns for the program and the words after it, without flags:
	// [git, "push|fetch"] is met by `git -C x push -f`. A pattern has
	// alternatives between bars; * stands for any text, \* for itself.
	Argv []string `yaml:"argv"`
	// Flags, if any, are patterns of which one flag must meet one. Clusters
	// of letters are taken apart: -rf is -rf, -r and -f. A flag's value follows
	// an equals sign.
	Flags []string `yaml:"flags"`
	// Any, if any, are patterns of which one word behind the program must
	// meet one.
	Any []string `yaml:"any"`
	// Unless are flags and words that take a command out of the rule.
	Unless []string `yaml:"unless"`
	// Decision is allow, ask or deny, and Reason what the model and the
	// records are told.
	Decision Effect `yaml:"decision"`
	Reason   string `yaml:"reason"`
	// Match and NotMatch are scripts that the rule must and must not meet;
	// at least one Match is required.
	Match    []string `yaml:"match"`
	NotMatch []string `yaml:"not_match"`
}

// Validate names every fault of the rule and every example that it fails.
func (r Rule) Validate() error {
	var errs []error
	if r.ID == "" {
		errs = append(errs, errors.New("id is missing"))
	}
	if len(r.Argv) == 0 || slices.Contains(r.Argv, "") {
		errs = append(errs, errors.New("argv is missing, or holds an empty pattern"))
	}
	if r.Decision != Allow && r.Decision != Ask && r.Decision != Deny {
		errs = append(errs, fmt.Errorf("decision: %q: want allow, ask or deny", r.Decision))
	}
	if r.Reason == "" {
		errs = append(errs, errors.New("reason is missing"))
	}
	if len(r.Match) == 0 {
		errs = append(errs, errors.New("match is missing: give an example"))
	}
	if len(errs) == 0 {
		errs = r.tryExamples()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("rule %q: %w", r.ID, err)
	}
	return nil
}

func (r Rule) tryExamples() []error {
	var errs []error
	for _, want := range []struct {
		scripts []string
		met     bool
	}{{r.Match, true}, {r.NotMatch, false}} {
		for _, s := range want.scripts {
			if met := r.met(s); met != want.met {
				errs = append(errs, fmt.Errorf("example %q: met is %v, want %v", s, met, want.met))
			}
		}
	}
	return errs
}

// met reports whether a command of a script surely meets the rule.
func (r Rule) met(script string) bool {
	found := false
	find(script, func(c command) { found = found || r.meets(c) == yes })
	return found
}

// certainty is how sure it is that a command meets a rule.
type certainty int

const (
	no certainty = iota
	maybe
	yes
)

// meets compares a command with the rule. A word that is not known may be
// anything, or several words.
func (r Rule) meets(c command) certainty {
	sure := yes
	for i, pattern := range r.Argv {
		switch got := c.word(i).meets(pattern); {
		case i >= len(c.words) && !c.open:
			return no
		case i >= len(c.words), got == maybe && c.words[i].splits:
			return min(sure, r.rest(c), maybe) // what follows may have moved
		case got == no:
			return no
		default:
			sure = min(sure, got)
		}
	}
	return min(sure, r.rest(c))
}

// rest compares all but the beginning.
func (r Rule) rest(c command) certainty {
	return min(
		oneOf(r.Flags, c.flags, c.open),
		oneOf(r.Any, c.words[min(1, len(c.words)):], c.open),
		yes-unless(r.Unless, c),
	)
}

// oneOf is whether one of the words meets one of the patterns; yes without
// patterns.
func oneOf(patterns []string, words []word, open bool) certainty {
	if len(patterns) == 0 {
		return yes
	}
	best := no
	if open {
		best = maybe
	}
	for _, w := range words {
		for _, p := range patterns {
			best = max(best, w.meets(p))
		}
	}
	return best
}

// unless is yes when a known word takes the command out of the rule, no
// otherwise: doubt takes nothing out.
func unless(patterns []string, c command) certainty {
	for _, p := range patterns {
		for _, w := range slices.Concat(c.flags, c.words) {
			if w.meets(p) == yes {
				return yes
			}
		}
	}
	return no
}

// matches compares text with a pattern.
func matches(pattern, text string) bool {
	for alternative := range strings.SplitSeq(pattern, "|") {
		if star(alternative, text) {
			return true
		}
	}
	return false
}

// star compares text with one alternative, in which * stands for any text and
// \* for itself.
func star(pattern, text string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == text
	}
	const itself = "\x00" // in no word of a shell
	pieces := strings.Split(strings.ReplaceAll(pattern, `\*`, itself), "*")
	for i := range pieces {
		pieces[i] = strings.ReplaceAll(pieces[i], itself, "*")
	}
	if len(pieces) == 1 {
		return pieces[0] == text
	}
	text, ok := strings.CutPrefix(text, pieces[0])
	if !ok {
		return false
	}
	last := len(pieces) - 1
	for _, piece := range pieces[1:last] {
		at := strings.Index(text, piece)
		if at < 0 {
			return false
		}
		text = text[at+len(piece):]
	}
	return strings.HasSuffix(text, pieces[last])
}
