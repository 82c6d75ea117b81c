package script

import (
	"path"
	"slices"
	"strings"
)

// command is one simple command. words are the program's name and what is no
// flag; flags have their values behind an equals sign where those are known
// to be values.
type command struct {
	words []word
	flags []word
	open  bool   // something unknown may have added words
	text  string // as written, for reasons
	why   reason // set when it is decided by what it is and not by a rule
}

// word is the i-th one, or an unknown one.
func (c command) word(i int) word {
	if i < len(c.words) {
		return c.words[i]
	}
	return word{splits: true}
}

// systemDirs are where a program's name alone says what it is.
var systemDirs = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"}

// nameOf is the program that a word names. Elsewhere than in the listed
// directories a file of that name may be another program: it stays unknown
// whether it is the one.
func nameOf(w word) word {
	if !w.known || w.glob {
		return word{}
	}
	dir, base := path.Split(w.text)
	switch {
	case dir == "" || strings.HasPrefix(dir, "./") || slices.Contains(systemDirs, path.Clean(dir)):
		return lit(strings.TrimPrefix(w.text[len(dir):], "/"))
	case path.IsAbs(dir):
		return word{text: base}
	}
	return lit(w.text)
}

// valueFlags are flags whose value is the next word, by program: without them
// `git -C push status` could not be read. Only those that may stand ahead of a
// subcommand count, and those that rules ask for.
var valueFlags = map[string][]string{
	"git":     {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"},
	"npm":     {"--prefix", "-w", "--workspace", "-C"},
	"pnpm":    {"--dir", "-C", "--filter", "-F"},
	"yarn":    {"--cwd"},
	"cargo":   {"--manifest-path", "--config", "-C", "-Z", "--color"},
	"make":    {"-C", "-f", "--directory", "--file", "--makefile", "-I", "-o", "-W", "-j"},
	"mvn":     {"-f", "--file", "-s", "-P", "-pl"},
	"go":      {"-C"},
	"poetry":  {"-C", "--directory", "-P", "--project"},
	"uv":      {"--directory", "--project"},
	"gradle":  {"-p", "--project-dir", "-b", "-c"},
	"gradlew": {"-p", "--project-dir", "-b", "-c"},
	"dotnet":  {},
}

// simple sorts the words of a command into words and flags.
func simple(argv []word, text string) command {
	c := command{text: text}
	if len(argv) == 0 {
		return c
	}
	name := nameOf(argv[0])
	c.words = append(c.words, name)
	takes := valueFlags[name.text]
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		c.open = c.open || w.splits
		switch {
		case w.known && w.text == "--":
			c.words = append(c.words, argv[i+1:]...)
			c.open = c.open || slices.ContainsFunc(argv[i+1:], func(w word) bool { return w.splits })
			return c
		case w.known && len(w.text) > 1 && (w.text[0] == '-' || i == 1 && w.text[0] == '+'): // cargo +nightly
			if len(c.words) == 1 && slices.Contains(takes, w.text) && i+1 < len(argv) {
				i++
				c.flags = append(c.flags, w, withValue(w, argv[i]))
				continue
			}
			c.flags = append(c.flags, flagsOf(w, !matches(longDash, name.text))...)
		default:
			if !w.known {
				c.flags = append(c.flags, word{})
			}
			c.words = append(c.words, w)
		}
	}
	return c
}

func withValue(flag, value word) word {
	if !value.known {
		return word{}
	}
	return lit(flag.text + "=" + value.text)
}

// longDash are programs whose long flags have one dash: -count is no cluster.
const longDash = "go|gofmt|staticcheck|govulncheck|mvn|mvnw|java|javac|find|terraform|tofu|openssl|ansible-playbook"

// flagsOf is a flag with and without its value; a cluster of letters is taken
// apart.
func flagsOf(w word, clusters bool) []word {
	out := []word{w}
	name, _, valued := strings.Cut(w.text, "=")
	if valued {
		out = append(out, lit(name))
	}
	if !clusters || strings.HasPrefix(name, "--") || name[0] != '-' || len(name) < 3 {
		return out
	}
	for _, letter := range name[1:] {
		if letter < 'A' || letter > 'z' {
			break
		}
		out = append(out, lit("-"+string(letter)))
	}
	return out
}
