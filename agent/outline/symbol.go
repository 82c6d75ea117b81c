package outline

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Kind is what sort of thing a symbol is.
type Kind string

// The closed set of kinds.
const (
	KindFunction  Kind = "function"
	KindMethod    Kind = "method"
	KindClass     Kind = "class"
	KindStruct    Kind = "struct"
	KindInterface Kind = "interface" // also traits and protocols
	KindEnum      Kind = "enum"
	KindType      Kind = "type"   // aliases and what is none of the above
	KindModule    Kind = "module" // namespaces, packages, singletons
	KindConstant  Kind = "constant"
	KindVariable  Kind = "variable" // also properties
	KindMacro     Kind = "macro"
	KindTarget    Kind = "target"  // of a Makefile
	KindHeading   Kind = "heading" // of a document
	KindTable     Kind = "table"   // what SQL creates, other than functions and types
	KindMessage   Kind = "message"
	KindService   Kind = "service"
	KindResource  Kind = "resource" // a block of Terraform
)

// Kinds lists every kind, in a fixed order.
func Kinds() []Kind {
	return []Kind{
		KindFunction, KindMethod, KindClass, KindStruct, KindInterface, KindEnum, KindType, KindModule,
		KindConstant, KindVariable, KindMacro, KindTarget, KindHeading, KindTable, KindMessage, KindService, KindResource,
	}
}

// Symbol is one declaration.
type Symbol struct {
	Name string
	Kind Kind
	// Parent is the name of what holds it (class, receiver, namespace,
	// heading above), empty at the top of a file.
	Parent string
	// Signature is the declaration without its body, on one line, cut to
	// about 200 bytes.
	Signature string
	// From and To are its lines, counted from 1, both included. Comments and
	// annotations above it do not count: see [DocStart].
	From, To int
}

// The caps on one file.
const (
	// MaxBytes is the largest file that is looked at; a larger one has no
	// symbols. Sources written by people stay far below.
	MaxBytes     = 1 << 20
	maxSymbols   = 10_000
	maxHeader    = 2_000 // bytes of one declaration's head, also of a line
	maxSignature = 200
	maxDepth     = 1_000 // of nested blocks; deeper ones are only counted
	maxName      = 200
)

// Supported says whether files of this name have an outline.
func Supported(name string) bool { return languageOf(name) != nil }

// Of returns the symbols of a file in order of their first line. The language
// is taken from the name; an unknown one, binary content and a file over
// [MaxBytes] have none. A file with syntax errors gives what can be made out.
func Of(name string, src []byte) []Symbol {
	f := open(name, src)
	if f == nil {
		return nil
	}
	return f.symbols()
}

// Enclosing returns the innermost symbol that holds the line, counted from 1.
func Enclosing(symbols []Symbol, line int) (Symbol, bool) {
	best, found := Symbol{}, false
	for _, s := range symbols {
		if s.From <= line && line <= s.To && (!found || s.To-s.From <= best.To-best.From) {
			best, found = s, true
		}
	}
	return best, found
}

// file is one file being scanned. code is src with comments and the insides of
// strings blanked out, byte for byte at the same place.
type file struct {
	lang      *language
	name      string
	src, code []byte
	starts    []int // offset of each line
	out       []Symbol
}

// open prepares a file, or returns nil when it has no outline.
func open(name string, src []byte) *file {
	lang := languageOf(name)
	if lang == nil || len(src) > MaxBytes || bytes.IndexByte(src, 0) >= 0 {
		return nil
	}
	f := &file{lang: lang, name: name, src: src, code: mask(src, &lang.lex), starts: []int{0}}
	for i, c := range src {
		if c == '\n' && i+1 < len(src) {
			f.starts = append(f.starts, i+1)
		}
	}
	return f
}

func (f *file) symbols() []Symbol {
	f.lang.scan(f)
	slices.SortStableFunc(f.out, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To))
	})
	return f.out
}

// line is the number of the line that holds the offset, counted from 1.
func (f *file) line(offset int) int {
	i, found := slices.BinarySearch(f.starts, offset)
	if found {
		return i + 1
	}
	return i
}

// bounds are the offsets of a line (counted from 0) without its line end.
func (f *file) bounds(i int) (from, to int) {
	from, to = f.starts[i], len(f.src)
	if i+1 < len(f.starts) {
		to = f.starts[i+1]
	}
	for to > from && (f.src[to-1] == '\n' || f.src[to-1] == '\r') {
		to--
	}
	return from, to
}

// text is a line of the source and the same line of the code, both cut to
// maxHeader bytes.
func (f *file) text(i int) (src, code string) {
	from, to := f.bounds(i)
	to = min(to, from+maxHeader)
	return string(f.src[from:to]), string(f.code[from:to])
}

// add appends a symbol and returns its index, or -1 when it is refused.
func (f *file) add(s Symbol) int {
	s.Name, s.Parent = strings.ToValidUTF8(s.Name, "\uFFFD"), strings.ToValidUTF8(s.Parent, "\uFFFD")
	if s.Name == "" || len(s.Name) > maxName || len(f.out) >= maxSymbols || strings.ContainsFunc(s.Name, unicode.IsControl) {
		return -1
	}
	s.To = max(s.To, s.From)
	f.out = append(f.out, s)
	return len(f.out) - 1
}

// signature is the source between two offsets on one line, cut.
func (f *file) signature(from, to int) string {
	to = min(to, len(f.src), from+maxHeader)
	return oneLine(string(f.src[from:max(from, to)]))
}

// oneLine joins the words of s with single spaces, drops what is not text and
// cuts to maxSignature bytes.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar // controls, and what turns the direction of text
	}, s)
	s = strings.TrimRight(s, " {")
	if len(s) > maxSignature {
		s = strings.ToValidUTF8(s[:maxSignature], "") + "…"
	}
	return s
}

// baseName is the last element of a slash-separated name.
func baseName(name string) string { return path.Base(name) }
