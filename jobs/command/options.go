package command

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/jobs"
)

// option is one flag of the language.
type option struct {
	name  string
	value bool // takes one
	set   func(*jobs.Options, string)
}

var options = []option{
	{"model", true, func(o *jobs.Options, v string) { o.Model = v }},
	{"base", true, func(o *jobs.Options, v string) { o.Base = v }},
	{"dry-run", false, func(o *jobs.Options, _ string) { o.DryRun = true }},
	{"no-verify", false, func(o *jobs.Options, _ string) { o.NoVerify = true }},
}

func optionNamed(name string) (option, bool) {
	for _, o := range options {
		if o.name == name {
			return o, true
		}
	}
	return option{}, false
}

// leadingOptions reads the options right after the verb. There an unknown one
// is a mistake; further on, "--anything" is just text.
func leadingOptions(opts *jobs.Options, line string) (string, *Problem) {
	for {
		line = strings.TrimLeft(line, " \t\r")
		word := firstWord(line)
		flag, ok := cutDashes(word)
		if !ok {
			return line, nil
		}
		name, value, hasValue := strings.Cut(flag, "=")
		o, known := optionNamed(strings.ToLower(name))
		if !known {
			return "", unknownOption(name)
		}
		line = strings.TrimLeft(line[len(word):], " \t")
		if o.value && !hasValue {
			value = firstWord(line)
			line = line[len(value):]
		}
		if _, isFlag := cutDashes(value); o.value && (value == "" || isFlag) {
			return "", &Problem{Written: "--" + o.name, Message: fmt.Sprintf("option --%s needs a value", o.name)}
		}
		o.set(opts, value)
	}
}

// cutDashes takes off the two dashes of an option, also where a telephone's
// keyboard has made one long dash of them.
func cutDashes(word string) (string, bool) {
	for _, dash := range []string{"--", "—", "–"} {
		if flag, ok := strings.CutPrefix(word, dash); ok && flag != "" {
			return flag, true
		}
	}
	return "", false
}

func unknownOption(name string) *Problem {
	var names []string
	for _, o := range options {
		names = append(names, o.name)
	}
	p := &Problem{Written: "--" + name, Message: fmt.Sprintf("there is no option --%s", name)}
	if n := Nearest(name, names); n != "" {
		p.Nearest = "--" + n
	}
	return p
}

// trailingFlags takes known flags without a value off the end of the line.
func trailingFlags(opts *jobs.Options, line string) string {
	for {
		line = strings.TrimRight(line, " \t\r")
		i := strings.LastIndexAny(line, " \t") + 1
		flag, ok := cutDashes(line[i:])
		if !ok {
			return line
		}
		o, known := optionNamed(flag)
		if !known || o.value {
			return line
		}
		o.set(opts, "")
		line = line[:i]
	}
}
