package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
)

// What one match may cost. A step of a program over a byte takes 10 to 30 ns,
// so a line takes about half a second at most, and the context is asked between
// lines.
const (
	maxProgram   = 3_000      // instructions; a pattern of 1,000 bytes without repetition has fewer
	maxLineSteps = 16_000_000 // instructions times bytes of a line
)

// pattern is a compiled pattern with what it costs.
type pattern struct {
	*regexp.Regexp
	reach  int  // bytes of a line that are searched
	atEnds bool // it asks for the end of a line
}

// matches says whether a line holds a match in its searched part. The end of
// that part is not the line's end.
func (p pattern) matches(line string) bool {
	part := p.part(line)
	if len(part) == len(line) || !p.atEnds {
		return p.MatchString(part)
	}
	at := p.FindStringIndex(part)
	return at != nil && at[1] < len(part)
}

// part is what is searched of a line.
func (p pattern) part(line string) string {
	if len(line) <= p.reach {
		return line
	}
	return strings.ToValidUTF8(line[:p.reach], "")
}

// compile checks and compiles the pattern asked for.
func compile(a args) (pattern, *tool.Result) {
	p, err := pattern{}, errors.New("it is empty or too long")
	if a.Pattern != "" && len(a.Pattern) <= maxPattern {
		p, err = build(notation(a))
	}
	if err == nil {
		return p, nil
	}
	res := tool.Failf(tool.CodeInvalidArgs, "pattern: %v", err)
	if !a.Literal {
		res = res.Suggest("set literal to search for plain text")
	}
	return p, &res
}

// notation is the whole pattern in the syntax of regexp.
func notation(a args) string {
	text := a.Pattern
	if a.Literal {
		text = regexp.QuoteMeta(text)
	}
	if a.Word {
		text = wordly(text)
	}
	if a.IgnoreCase {
		text = "(?i)" + text
	}
	return text
}

// build looks at the size of the program before it is compiled for use.
func build(text string) (pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return pattern{}, err
	}
	if holdsNewline(parsed) {
		return pattern{}, errors.New("it holds a line end, and lines are searched one by one: search for a part of one line")
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return pattern{}, err
	}
	if len(prog.Inst) > maxProgram {
		return pattern{}, fmt.Errorf("it is too costly (%d steps, over the limit of %d): use smaller repetition counts, or .* for .{0,1000}",
			len(prog.Inst), maxProgram)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return pattern{}, err
	}
	p := pattern{Regexp: re, reach: maxLineSteps / len(prog.Inst), atEnds: asksForEnd(prog)}
	if _, plain := re.LiteralPrefix(); plain {
		p.reach = maxFileBytes // found without running the program
	}
	return p, nil
}

func asksForEnd(prog *syntax.Prog) bool {
	return slices.ContainsFunc(prog.Inst, func(i syntax.Inst) bool {
		return i.Op == syntax.InstEmptyWidth && i.Arg&uint32(syntax.EmptyEndText|syntax.EmptyEndLine) != 0
	})
}

// prefix is what every match holds, a cheap first test of a file.
func prefix(a args, p pattern) string {
	switch {
	case a.IgnoreCase:
		return ""
	case a.Literal:
		return a.Pattern
	case a.Word:
		re, err := regexp.Compile(a.Pattern)
		if err != nil {
			return ""
		}
		literal, _ := re.LiteralPrefix()
		return literal
	}
	literal, _ := p.LiteralPrefix()
	return literal
}

// notWord is what may stand beside a whole word, as ripgrep sees words.
const notWord = `[^\pL\pM\p{Nd}\p{Pc}]`

// wordly wants no word on either side of a match. It takes the bytes beside it
// in, which is well: whole lines are what is asked for.
func wordly(text string) string {
	return `(?:^|` + notWord + `)(?:` + text + `)(?:$|` + notWord + `)`
}

func holdsNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') {
		return true
	}
	return slices.ContainsFunc(re.Sub, holdsNewline)
}
