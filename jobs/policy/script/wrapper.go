package script

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper is a program that runs the command in its arguments.
type wrapper struct {
	values  []string // flags whose value is the next word
	skip    int      // operands ahead of the command
	under   string   // the subcommand that runs one; empty for none
	assigns bool     // NAME=value ahead of the command
	looks   []string // flags with which nothing is run
	adds    bool     // more arguments come from elsewhere
}

// wrappers by name.
var wrappers = map[string]wrapper{
	"env":      {values: []string{"-u", "--unset", "-C", "--chdir"}, assigns: true},
	"timeout":  {values: []string{"-s", "--signal", "-k", "--kill-after"}, skip: 1},
	"gtimeout": {values: []string{"-s", "-k"}, skip: 1},
	"nice":     {values: []string{"-n", "--adjustment"}},
	"ionice":   {values: []string{"-c", "-n", "-p", "--class", "--classdata"}},
	"nohup":    {}, "setsid": {}, "time": {values: []string{"-f", "-o", "--format", "--output"}},
	"stdbuf": {values: []string{"-i", "-o", "-e"}}, "unbuffer": {}, "chronic": {},
	"sudo":    {values: []string{"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "--user", "--group"}, assigns: true},
	"doas":    {values: []string{"-u", "-C"}},
	"command": {looks: []string{"-v", "-V"}}, "builtin": {}, "exec": {values: []string{"-a"}},
	"xargs":    {values: []string{"-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E", "--max-args", "--max-procs", "--replace", "--delimiter"}, adds: true},
	"parallel": {values: []string{"-j", "--jobs", "-N"}, adds: true},
	"chroot":   {skip: 1}, "unshare": {}, "nsenter": {values: []string{"-t"}}, "flock": {values: []string{"-w", "-E"}, skip: 1},
	"watch": {values: []string{"-n", "--interval"}}, "strace": {values: []string{"-e", "-o", "-p", "-s"}}, "xvfb-run": {values: []string{"-s", "-e", "-n"}},
	"busybox": {}, "toybox": {}, "cross-env": {assigns: true}, "dotenv": {},
	"npx": {values: []string{"-p", "--package"}}, "bunx": {}, "pnpx": {}, "uvx": {values: []string{"--from", "--with"}},
	"npm": {under: "exec|x"}, "pnpm": {under: "exec|dlx"}, "yarn": {under: "exec|dlx"},
	"poetry": {under: "run"}, "uv": {under: "run", values: []string{"--with", "-p", "--python"}}, "pipenv": {under: "run"}, "pdm": {under: "run"}, "hatch": {under: "run"},
	"bundle": {under: "exec"}, "rye": {under: "run"}, "mise": {under: "exec|x"}, "asdf": {under: "exec"}, "opam": {under: "exec"}, "conda": {under: "run", values: []string{"-n", "-p"}},
}

// behind shows what a command runs in turn.
func (f *finder) behind(name string, argv []word, r run) {
	switch {
	case matches(shells, name):
		f.shell(argv, r)
	case matches(interpreters, name):
		f.interpreter(argv, r)
	case name == "eval":
		f.text(joined(operands(argv, nil)), r)
	case name == "." || name == "source":
		f.sourced(argv, r)
	case name == "alias" && len(argv) > 1:
		f.decided(computed, r.text)
	case name == "trap":
		if rest := operands(argv, nil); len(rest) > 1 {
			f.text(rest[0], r)
		}
	case matches("script|flock|su|runuser", name) && f.commandFlag(argv, r):
	case name == "watch":
		f.text(joined(operands(argv, wrappers[name].values)), r)
	case name == "parallel":
		f.parallel(argv, r)
	case matches("awk|gawk|mawk|nawk", name):
		f.awk(argv, r)
	case name == "find" || name == "fd" || name == "fdfind":
		f.finds(argv, r)
	default:
		if w, ok := wrappers[name]; ok {
			f.wrapped(w, argv, r)
		}
	}
}

// wrapped shows the command behind a wrapper.
func (f *finder) wrapped(w wrapper, argv []word, r run) {
	rest := argv[1:]
	if w.under != "" {
		at := slices.IndexFunc(rest, func(x word) bool { return !isFlag(x) })
		if at < 0 || rest[at].meets(w.under) != yes {
			return // a rule speaks of its other subcommands
		}
		rest = rest[at+1:]
	}
	skip := w.skip
	for len(rest) > 0 {
		first := rest[0]
		switch {
		case first.known && first.text == "--":
			rest = rest[1:]
		case isFlag(first) && slices.Contains(w.looks, first.text):
			return
		case isFlag(first) && argv[0].meets("env|*/env") == yes && isSplit(first.text):
			text, _ := split(first.text, rest[1:])
			f.text(text, r)
			return
		case isFlag(first) && slices.Contains(w.values, first.text):
			rest = rest[min(2, len(rest)):]
			continue
		case isFlag(first), w.assigns && first.known && strings.Contains(first.text, "="):
			rest = rest[1:]
			continue
		case skip > 0:
			skip, rest = skip-1, rest[1:]
			continue
		}
		break
	}
	if w.adds && len(rest) > 0 {
		rest = append(slices.Clone(rest), word{splits: true})
		for i, w := range rest {
			if w.known && strings.Contains(w.text, "{}") {
				rest[i] = word{}
			}
		}
	}
	f.run(rest, r)
}

func isFlag(w word) bool { return w.known && len(w.text) > 1 && w.text[0] == '-' }

// finds shows what find runs for each file.
func (f *finder) finds(argv []word, r run) {
	for i := 1; i < len(argv); i++ {
		if !argv[i].known || !matches("-exec|-execdir|-ok|-okdir|-x|-X|--exec|--exec-batch", argv[i].text) {
			continue
		}
		var inner []word
		for i++; i < len(argv) && (!argv[i].known || !matches(";|+", argv[i].text)); i++ {
			if w := argv[i]; w.known && !strings.Contains(w.text, "{}") {
				inner = append(inner, w)
			} else {
				inner = append(inner, word{})
			}
		}
		f.run(inner, r)
	}
}

// text shows a script inside of the script.
func (f *finder) text(script word, r run) {
	if !script.known {
		f.decided(f.unlessFetched(computed, r.call), r.text)
		return
	}
	f.script(script.text)
}

// joined is what eval makes of its arguments.
func joined(argv []word) word {
	texts := make([]string, 0, len(argv))
	for _, w := range argv {
		if !w.known {
			return word{}
		}
		texts = append(texts, w.text)
	}
	return lit(strings.Join(texts, " "))
}

// sourced is a script in a file, which is part of the repository; anything
// else is not.
func (f *finder) sourced(argv []word, r run) {
	if len(argv) < 2 {
		return
	}
	if w := argv[1]; !w.known || strings.HasPrefix(w.text, "/dev/") {
		f.decided(f.unlessFetched(computed, r.call), r.text)
	}
}

// stdin shows the script that an interpreter reads from its standard input.
func (f *finder) stdin(r run, read func(word)) {
	for _, redir := range slices.Backward(r.in.redirs) {
		switch redir.Op { // the others are no input
		case syntax.Hdoc, syntax.DashHdoc:
			read(wordOf(redir.Hdoc))
			return
		case syntax.WordHdoc:
			read(wordOf(redir.Word))
			return
		case syntax.RdrIn:
			if w := wordOf(redir.Word); !w.known || strings.HasPrefix(w.text, "/dev/") && w.text != "/dev/null" {
				f.decided(f.unlessFetched(computed, redir), r.text)
			}
			return
		default:
		}
	}
	if r.in.pipe != nil {
		f.decided(f.unlessFetched(computed, r.in.pipe), r.text)
	}
}
