package files

import (
	"strings"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// maxListedSymbols is how many symbols an AMBIGUOUS answer shows.
const maxListedSymbols = 20

// locate finds the lines of a symbol with the comments above it, zero-based,
// the end excluded.
func locate(p workspace.Path, text workspace.Text, a readArgs) (span [2]int, failed *tool.Result) {
	if a.Offset != 0 {
		res := tool.Failf(tool.CodeInvalidArgs, "symbol and offset exclude each other")
		return span, &res
	}
	src := []byte(text.Body)
	symbols := outline.Of(p.Name, src)
	found := called(symbols, a.Symbol)
	switch len(found) {
	case 0:
		return span, absent(p, symbols, a.Symbol)
	case 1:
	default:
		res := tool.Failf(tool.CodeAmbiguous, "%s declares %s %d times", outline.Quote(p.Name), a.Symbol, len(found)).
			WithDetail(outline.Lines(found[:min(len(found), maxListedSymbols)])).
			Suggest("name what holds it (%s.%s), or read a range with offset and limit", orElse(found[0].Parent, "Type"), found[0].Name)
		return span, &res
	}
	from := outline.DocStart(src, found[0].From) - 1
	to := found[0].To
	if a.Limit > 0 {
		to = min(to, from+a.Limit)
	}
	return [2]int{from, min(to, from+MaxLines)}, nil
}

// called are the symbols that a name, perhaps with what holds it, can mean.
func called(symbols []outline.Symbol, name string) []outline.Symbol {
	parent, last := outline.SplitName(name)
	var exact, loose []outline.Symbol
	for _, s := range symbols {
		switch {
		case s.Name == name && parent != "":
			return []outline.Symbol{s} // "Widget.vue" is a heading's own name
		case s.Name == last && (parent == "" || s.Parent == parent || strings.HasSuffix(s.Parent, "."+parent)):
			exact = append(exact, s)
		case strings.EqualFold(s.Name, last) && (parent == "" || strings.EqualFold(s.Parent, parent)):
			loose = append(loose, s)
		}
	}
	if len(exact) == 0 {
		return loose
	}
	return preferBodies(exact)
}

// preferBodies drops one-line declarations (prototypes, overload signatures)
// where another of the same name has a body.
func preferBodies(found []outline.Symbol) []outline.Symbol {
	var long []outline.Symbol
	for _, s := range found {
		if s.To > s.From {
			long = append(long, s)
		}
	}
	if len(long) == 1 {
		return long
	}
	return found
}

// absent is the answer for a symbol that the file does not declare.
func absent(p workspace.Path, symbols []outline.Symbol, name string) *tool.Result {
	if !outline.Supported(p.Name) {
		res := tool.Failf(tool.CodeNoMatch, "files like %s have no outline", outline.Quote(p.Name)).
			Suggest("read a range with offset and limit, or search_code in it")
		return &res
	}
	_, last := outline.SplitName(name)
	res := tool.Failf(tool.CodeNoMatch, "%s declares no %s", outline.Quote(p.Name), name)
	names := make([]string, 0, len(symbols))
	for _, s := range symbols {
		names = append(names, s.Name)
	}
	for _, near := range tool.Nearest(last, names, 3) {
		res = res.Suggest("%s", near)
	}
	return &res
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// maxSpans bounds how many reads of symbols are remembered.
const maxSpans = 1_000

// remember keeps what a read of a symbol showed, for Forget.
func (r *reader) remember(a readArgs, span [2]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spans) < maxSpans {
		r.spans[a] = span
	}
}

// spanOf is the range that a call showed. When it is no longer known, the
// whole file counts: forgetting too much costs a read, too little a mistake.
func (r *reader) spanOf(a readArgs) (from, to int) {
	if a.Symbol == "" {
		return a.span()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.spans[a]; ok {
		delete(r.spans, a)
		return s[0], s[1]
	}
	return 0, 1 << 30
}
