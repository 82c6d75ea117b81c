package script

import (
	"slices"
	"strings"
)

// split is the text that env -S takes apart into a command: behind the flag or
// in its cluster, with the words that follow.
func split(flag string, rest []word) (word, bool) {
	name, value, attached := strings.Cut(flag, "=")
	if strings.HasPrefix(flag, "--") {
		if len(name) < len("--s") || !strings.HasPrefix("--split-string", name) {
			return word{}, false
		}
	} else {
		at := strings.IndexAny(flag, "SuC") // the others take the rest as their value
		if at < 0 || flag[at] != 'S' {
			return word{}, false
		}
		value = flag[at+1:]
		attached = value != ""
	}
	if attached {
		rest = append([]word{lit(value)}, rest...)
	}
	return joined(rest), true
}

func isSplit(flag string) bool {
	_, ok := split(flag, nil)
	return ok
}

// commandFlag shows the script behind a -c or --command, and reports whether
// there was one.
func (f *finder) commandFlag(argv []word, r run) bool {
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		value, long := strings.CutPrefix(w.text, "--command=")
		at := strings.IndexByte(w.text, 'c')
		switch {
		case !w.known || !isFlag(w):
			continue
		case long:
		case w.text == "--command":
		case !strings.HasPrefix(w.text, "--") && at > 0:
			value = w.text[at+1:]
		default:
			continue
		}
		if !long && (w.text == "--command" || value == "") {
			if i+1 < len(argv) {
				f.text(argv[i+1], r)
			}
			return true
		}
		f.text(lit(value), r)
		return true
	}
	return false
}

// operands are the words behind a wrapper's own flags.
func operands(argv []word, values []string) []word {
	i := 1
	for i < len(argv) && isFlag(argv[i]) {
		if argv[i].text == "--" {
			return argv[i+1:]
		}
		if slices.Contains(values, argv[i].text) {
			i++
		}
		i++
	}
	return argv[min(i, len(argv)):]
}

// parallel shows what it gives to a shell: its words with an argument behind
// them, or the arguments themselves.
func (f *finder) parallel(argv []word, r run) {
	rest := operands(argv, wrappers["parallel"].values)
	at := slices.IndexFunc(rest, func(w word) bool { return w.known && strings.HasPrefix(w.text, ":::") })
	var args []word
	if at >= 0 {
		rest, args = rest[:at], rest[at+1:]
	}
	if len(rest) > 0 {
		script := joined(rest)
		if script.known {
			script = lit(strings.ReplaceAll(script.text, "{}", "$x") + " $x")
		}
		f.text(script, r)
		return
	}
	for _, w := range args {
		f.text(w, r)
	}
	f.stdin(r, func(body word) { f.text(body, r) })
}

// awk decides about programs that may run others.
func (f *finder) awk(argv []word, r run) {
	for _, w := range argv[1:] {
		text := strings.ReplaceAll(w.text, "||", "")
		if w.known && (strings.Contains(text, "system") || strings.Contains(text, "getline") || strings.ContainsAny(text, "|@")) {
			f.decided(foreign, r.text)
			return
		}
	}
	if rest := operands(argv, []string{"-v", "-F", "-f"}); len(rest) > 0 && !rest[0].known {
		f.decided(computed, r.text)
	}
}

// clusters are the letters by which an interpreter is given code, and those
// whose value is the next word or what follows them.
func clusters(name string) (code, values string, long []string) {
	switch {
	case strings.HasPrefix(name, "py") || name == "ipython":
		return "c", "XWmQ", nil
	case strings.HasPrefix(name, "node") || name == "bun" || name == "tsx" || name == "ts-node":
		return "ep", "rC", []string{"--require", "--import", "--loader", "--experimental-loader", "--conditions", "--env-file", "--input-type"}
	case name == "perl":
		return "eE", "IMmF", nil
	case name == "ruby":
		return "e", "rICEKTFW", nil
	case name == "php":
		return "rBRE", "dczSt", nil
	case strings.HasPrefix(name, "lua"), name == "Rscript", name == "osascript", name == "guile":
		return "ec", "l", nil
	}
	return "", "", nil
}

// coded reports whether a flag of an interpreter's holds code, or is followed
// by it, and whether its value is the next word.
func coded(name, flag string) (code, next bool) {
	letters, values, long := clusters(name)
	if strings.HasPrefix(flag, "--") {
		bare, _, attached := strings.Cut(flag, "=")
		return attached && (bare == "--eval" || bare == "--print"), !attached && slices.Contains(long, bare)
	}
	for i := 1; i < len(flag); i++ {
		switch {
		case strings.IndexByte(letters, flag[i]) >= 0:
			return true, false
		case strings.IndexByte(values, flag[i]) >= 0:
			return false, i+1 == len(flag)
		}
	}
	return false, false
}
