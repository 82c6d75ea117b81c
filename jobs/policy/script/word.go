package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command, as far as it is known without running it. One
// that is not known but has text is perhaps that text.
type word struct {
	text   string
	known  bool
	glob   bool // names of files may take its place
	splits bool // not known, and may be several words or none
	status bool // not known, but only for an exit code in it
}

func lit(text string) word { return word{text: text, known: true} }

// meets compares a word with a pattern.
func (w word) meets(pattern string) certainty {
	switch {
	case !w.known && (w.text == "" || matches(pattern, w.text)):
		return maybe
	case w.known && matches(pattern, w.text):
		return yes
	}
	return no
}

// wordOf reads a word of the parser's.
func wordOf(w *syntax.Word) word {
	r := wordReader{known: true}
	if w != nil {
		r.parts(w.Parts, false)
	}
	if !r.known {
		return word{splits: r.splits, status: r.status && !r.other}
	}
	return word{text: r.text.String(), known: true, glob: r.glob}
}

type wordReader struct {
	text   strings.Builder
	known  bool
	glob   bool
	splits bool
	status bool // has $?
	other  bool // has something else that is not known
}

func (r *wordReader) parts(parts []syntax.WordPart, quoted bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			r.literal(p.Value, quoted)
		case *syntax.SglQuoted:
			if p.Dollar && strings.Contains(p.Value, `\`) {
				r.known, r.other = false, true
			}
			r.text.WriteString(p.Value)
		case *syntax.DblQuoted:
			r.parts(p.Parts, true)
		case *syntax.ParamExp:
			r.parameter(p, quoted)
		default:
			r.unknown(quoted)
		}
	}
}

func (r *wordReader) unknown(quoted bool) {
	r.known, r.other, r.splits = false, true, r.splits || !quoted
}

// literal takes backslashes away. Braces are what bash makes several words of.
func (r *wordReader) literal(s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if quoted && !strings.ContainsRune("$`\"\\\n", rune(s[i])) {
				r.text.WriteByte('\\')
			}
			if s[i] != '\n' {
				r.text.WriteByte(s[i])
			}
		case !quoted && c == '{' && strings.ContainsAny(s[i:], ",.") && strings.Contains(s[i:], "}"):
			r.unknown(false)
			return
		default:
			r.glob = r.glob || !quoted && strings.IndexByte("*?[", c) >= 0
			r.text.WriteByte(c)
		}
	}
}

// parameter knows two names; a script may set any other.
func (r *wordReader) parameter(p *syntax.ParamExp, quoted bool) {
	plain := p.Param != nil && !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
	switch {
	case plain && p.Param.Value == "HOME":
		r.text.WriteByte('~')
	case plain && p.Param.Value == "PWD":
		r.text.WriteByte('.')
	case plain && isStatus(p):
		other := r.other
		r.unknown(quoted)
		r.status, r.other = true, other
	default:
		r.unknown(quoted)
	}
}

// isStatus reports whether p is $?, which is digits.
func isStatus(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Param.Value == "?" && !p.Excl && !p.Length && p.Slice == nil && p.Repl == nil && p.Exp == nil
}
