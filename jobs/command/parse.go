package command

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/greenwright/greenwright/jobs"
)

// The bounds of what is read.
const (
	// maxCommands of one comment are carried out (rule T3).
	maxCommands = 5
	// maxText is GitHub's own limit for a comment; what is longer is cut.
	maxText = 65_536
)

// Parser knows how people address the bot.
type Parser struct {
	// Prefix begins a command, e.g. "/agent".
	Prefix string
	// Login is the bot's own, whose mention at a line's beginning is a
	// command too; empty for none.
	Login string
}

// Problem is something that looks like a command and is not one.
type Problem struct {
	Written string // the word as written
	Message string // what is wrong, for a person
	Nearest string // what was probably meant, empty if unknown
}

// Parsed is what a text asks for.
type Parsed struct {
	Commands []jobs.Command
	Problems []Problem
}

// Empty reports that the text addresses nobody.
func (p Parsed) Empty() bool { return len(p.Commands) == 0 && len(p.Problems) == 0 }

// Parse reads a comment.
func (p Parser) Parse(comment string) Parsed {
	if len(comment) > maxText {
		comment = comment[:maxText]
	}
	// Most comments address nobody: spare them the parser.
	if !strings.Contains(comment, p.Prefix) && (p.Login == "" || !containsFold(comment, "@"+p.Login)) {
		return Parsed{}
	}
	src := []byte(strings.ToValidUTF8(comment, "\uFFFD"))
	found := p.find(src)
	var out Parsed
	for i, f := range found {
		if i == maxCommands {
			out.Problems = append(out.Problems, Problem{Written: p.Prefix, Message: fmt.Sprintf("a comment may hold at most %d commands; the rest were left out", maxCommands)})
			break
		}
		end := len(src)
		if i+1 < len(found) {
			end = found[i+1].begin
		}
		cmd, problem := f.read(string(src[f.rest:end]))
		if problem != nil {
			out.Problems = append(out.Problems, *problem)
			continue
		}
		out.Commands = append(out.Commands, cmd)
	}
	return out
}

func containsFold(s, sub string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(sub))
}

// address is a place where the bot is spoken to.
type address struct {
	begin, rest int  // offsets of the address and of what follows it
	mention     bool // by @login, where free text is allowed
}

func (p Parser) find(src []byte) []address {
	var out []address
	for _, at := range plainLines(src) {
		line := string(src[at:])
		if rest, ok := strings.CutPrefix(line, p.Prefix); ok && p.Prefix != "" && ends(rest) {
			out = append(out, address{begin: at, rest: at + len(p.Prefix)})
			continue
		}
		if n := len(p.Login) + 1; p.Login != "" && len(line) >= n && strings.EqualFold(line[:n], "@"+p.Login) && ends(line[n:]) {
			out = append(out, address{begin: at, rest: at + n, mention: true})
		}
	}
	return out
}

// ends reports that a word ends here.
func ends(rest string) bool {
	if rest == "" {
		return true
	}
	r := rune(rest[0])
	return unicode.IsSpace(r) || strings.ContainsRune(".,:;!", r)
}

// read turns what follows an address into a command.
func (a address) read(rest string) (jobs.Command, *Problem) {
	rest = strings.TrimLeft(rest, ".,:;! \t")
	first, _, _ := strings.Cut(rest, "\n")
	word := firstWord(first)
	name := strings.TrimRight(word, ".,:;!")
	verb, known := lookup(name)
	switch {
	case known:
		return withOptions(verb, rest[len(word):])
	case word == "" && strings.TrimSpace(rest) == "":
		return jobs.Command{Verb: jobs.VerbHelp}, nil
	case a.mention:
		return freeText(rest)
	}
	return jobs.Command{}, &Problem{Written: name, Message: fmt.Sprintf("there is no command %q", name), Nearest: Nearest(name, verbNames())}
}

func firstWord(line string) string {
	if i := strings.IndexFunc(line, unicode.IsSpace); i >= 0 {
		return line[:i]
	}
	return line
}

// freeText is what a mention says without a verb: a question is answered,
// anything else is work.
func freeText(rest string) (jobs.Command, *Problem) {
	text := strings.TrimSpace(rest)
	verb := jobs.VerbFix
	if strings.HasSuffix(text, "?") {
		verb = jobs.VerbAsk
	}
	return jobs.Command{Verb: verb, Text: text}, nil
}

// clean drops outer white space, and a lone period after the verb.
func clean(text string) string {
	text = strings.TrimSpace(text)
	if text == "." {
		return ""
	}
	return text
}

func withOptions(verb jobs.Verb, rest string) (jobs.Command, *Problem) {
	cmd := jobs.Command{Verb: verb}
	line, more, _ := strings.Cut(rest, "\n")
	line, problem := leadingOptions(&cmd.Options, line)
	if problem != nil {
		return jobs.Command{}, problem
	}
	line = trailingFlags(&cmd.Options, line)
	cmd.Text = clean(line + "\n" + more)
	return cmd, nil
}
