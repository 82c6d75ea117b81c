package script

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed tests.yml
var testInvocations []byte

// Invocation is one form of command that a run at tier test may use: what it
// does not list is not allowed.
type Invocation struct {
	// ID is for messages and tests.
	ID string `yaml:"id"`
	// Forms are what a command begins with, word for word: one pattern a word,
	// in which `<path>`, `<dir>`, `<test>` and `<number>`, `<clock>` have the meaning of
	// [Invocation.Words].
	Forms []string `yaml:"forms"`
	// Flags are patterns for flags that stand alone or hold their own value.
	// Letters may stand in any number behind one dash.
	Flags   []string `yaml:"flags"`
	Letters string   `yaml:"letters"`
	// Values are flags with a value, behind an equals sign or as the next word;
	// that of Numbers must be one.
	Values  []string `yaml:"values"`
	Numbers []string `yaml:"numbers"`
	// Words are patterns for all other words, none for no such words. <path> is
	// a relative path inside of the workspace, <dir> one without a dot in its
	// last part, <test> one that has test or spec in it, <number> digits, <status>
	// text with $? in it. Needs asks for at least one such word.
	Words []string `yaml:"words"`
	Needs bool     `yaml:"needs"`
	// Rest are patterns for the words behind a double dash, none for no such
	// dash.
	Rest []string `yaml:"rest"`
	// Runs says that the words behind form and flags are a command, which must
	// be allowed itself.
	Runs bool `yaml:"runs"`
	// Match and NotMatch are examples, which are tests.
	Match    []string `yaml:"match"`
	NotMatch []string `yaml:"not_match"`
}

// TestInvocations are the well-known ways to run tests, builds and linters,
// and what is used to look at their output.
func TestInvocations() ([]Invocation, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(testInvocations)))
	dec.KnownFields(true)
	var out []Invocation
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("reading the allowed invocations: %w", err)
	}
	return out, nil
}

var (
	errOther   = errors.New("it is not among the commands that this run may use")
	errUnknown = errors.New("it computes what it runs")
	errGlob    = errors.New("a file's name might be taken for a flag: begin the pattern with ./")
)

// admit is nil and what is left to run for a command of this form.
func (v Invocation) admit(argv []word) ([]word, error) {
	err := errOther
	for _, form := range v.Forms {
		if n, ok := begins(argv, strings.Fields(form)); ok {
			var rest []word
			if rest, err = v.follow(argv[n:]); err == nil {
				return rest, nil
			}
		}
	}
	return nil, err
}

func begins(argv []word, form []string) (int, bool) {
	if len(argv) < len(form) {
		return 0, false
	}
	for i, pattern := range form {
		if !argv[i].known || argv[i].glob && argv[i].text != "[" || !fits(argv[i], pattern) {
			return 0, false
		}
	}
	return len(form), true
}

// follow looks at the words behind a form.
func (v Invocation) follow(argv []word) ([]word, error) {
	seen := false
	for i := 0; i < len(argv); i++ {
		w := argv[i]
		switch {
		case w.glob && strings.IndexByte("*?[-", w.text[0]) >= 0:
			return nil, errGlob
		case !isFlag(w) && v.Runs:
			return argv[i:], nil
		case !isFlag(w):
			if err := one(w, v.Words); err != nil {
				return nil, err
			}
			seen = true
		case w.text == "--":
			return nil, v.behindDashes(argv[i+1:])
		default:
			took, err := v.flag(w, argv[i+1:])
			if err != nil {
				return nil, err
			}
			i += took
		}
	}
	if v.Needs && !seen || v.Runs {
		return nil, errOther
	}
	return nil, nil
}

func (v Invocation) behindDashes(rest []word) error {
	if len(v.Rest) == 0 {
		return errors.New("it may have no words behind --")
	}
	for _, w := range rest {
		if w.glob && v.Rest[0] != "*" {
			return errGlob
		}
		if err := one(w, v.Rest); err != nil {
			return err
		}
	}
	return nil
}

// flag is how many words more belong to a flag.
func (v Invocation) flag(w word, next []word) (int, error) {
	text := w.text
	if matches(longDash, v.program()) && strings.HasPrefix(text, "--") {
		text = text[1:]
	}
	name, value, attached := strings.Cut(text, "=")
	number := slices.Contains(v.Numbers, name)
	switch {
	case one(lit(text), v.Flags) == nil:
		return 0, nil
	case v.Letters != "" && text[1] != '-' && strings.Trim(text[1:], v.Letters) == "":
		return 0, nil
	case !number && !slices.Contains(v.Values, name):
		return 0, fmt.Errorf("the flag %s is not among those that this run may use", brief(name))
	}
	took := 0
	if !attached {
		if len(next) == 0 || !next[0].known || next[0].glob || isFlag(next[0]) {
			return 0, fmt.Errorf("the value of %s is not plain", name)
		}
		value, took = next[0].text, 1
	}
	if number && !fits(lit(value), "<number>") {
		return 0, fmt.Errorf("the value of %s is no number", name)
	}
	return took, nil
}

func (v Invocation) program() string {
	name, _, _ := strings.Cut(v.Forms[0]+" ", " ")
	name, _, _ = strings.Cut(name, "|")
	return name
}

// one is nil when a word is one of those of patterns.
func one(w word, patterns []string) error {
	if !w.known && !w.status {
		return errUnknown
	}
	for _, p := range patterns {
		if fits(w, p) {
			return nil
		}
	}
	return fmt.Errorf("the word %q is not among those that it may have", brief(w.text))
}

// fits compares a word with a pattern or a kind of words.
func fits(w word, pattern string) bool {
	switch pattern {
	case "<status>":
		return w.status
	case "<number>":
		return w.known && w.text != "" && strings.Trim(w.text, "0123456789") == ""
	case "<clock>":
		return w.known && fits(lit(strings.TrimRight(w.text, "smh")), "<number>")
	case "<path>":
		return w.known && inside(w.text)
	case "<dir>":
		return w.known && inside(w.text) && (matches(".|./|*...", w.text) || !strings.Contains(path.Base(w.text), "."))
	case "<test>":
		lower := strings.ToLower(w.text)
		return w.known && inside(w.text) && (strings.Contains(lower, "test") || strings.Contains(lower, "spec"))
	}
	return w.known && matches(pattern, w.text)
}

// inside reports whether text is a path in the workspace as far as its
// letters say.
func inside(text string) bool {
	text = strings.TrimPrefix(text, "/workspace/")
	if text == "" || strings.IndexByte("/~@-+:", text[0]) >= 0 || strings.ContainsAny(text, "=\\") {
		return false
	}
	return !slices.Contains(strings.Split(text, "/"), "..")
}
