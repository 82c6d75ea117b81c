package symbols

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed find_symbol.md
var findDescription string

const (
	maxDefinitions = 30 // shown
	maxMentions    = 30 // files shown
	maxCandidates  = 3_000
)

type findArgs struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
	Path string `json:"path,omitempty"`
}

// NewFind makes the find_symbol tool over r.
func NewFind(r *Repository) tool.Tool {
	kinds := make([]string, 0, len(outline.Kinds()))
	for _, k := range outline.Kinds() {
		kinds = append(kinds, string(k))
	}
	return tool.Typed(tool.Spec{
		Name:        "find_symbol",
		Description: findDescription,
		Schema:      tool.SchemaFor[findArgs](func(s *jsonschema.Schema) { tool.Enum("kind", kinds...)(s) }),
		Tier:        tool.TierRead,
		Effect:      tool.EffectRead,
	}, r.find)
}

func (r *Repository) find(ctx context.Context, a findArgs) tool.Result {
	parent, name := outline.SplitName(a.Name)
	if name == "" {
		return tool.Failf(tool.CodeInvalidArgs, "name is empty")
	}
	under := ""
	if a.Path != "" {
		p, err := r.ws.Resolve(a.Path)
		if err != nil {
			return workspace.Result(err)
		}
		under = p.Real
	}
	x, err := r.Index(ctx)
	if err != nil {
		return workspace.Result(err)
	}
	q := query{x: x, name: name, parent: parent, kind: outline.Kind(a.Kind), under: under}
	return q.answer(a.Name)
}

// query is one call of find_symbol.
type query struct {
	x            *outline.Index
	name, parent string
	kind         outline.Kind
	under        string
}

func (q query) answer(asked string) tool.Result {
	found, note := q.definitions()
	var b strings.Builder
	if len(found) == 0 {
		fmt.Fprintf(&b, "Nothing is declared by the name %s%s.\n", asked, q.where())
		q.elsewhere(&b)
	} else {
		fmt.Fprintf(&b, "%s of %s%s\n", plural(len(found), "declaration"), asked, note)
		q.show(&b, found)
	}
	q.mentions(&b)
	if left := q.x.LeftOut().String(); left != "" {
		b.WriteString("[" + left + "]\n")
	}
	var near []string
	if len(found) == 0 && len(q.x.Definitions(q.name)) == 0 {
		if near = q.near(); len(near) > 0 {
			fmt.Fprintf(&b, "Nearest names: %s\n", strings.Join(near, ", "))
		}
	}
	res := tool.OKText(strings.TrimSuffix(b.String(), "\n"))
	res.Suggestions = near
	return res
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// where repeats what narrowed the search.
func (q query) where() string {
	text := ""
	if q.kind != "" {
		text += " as a " + string(q.kind)
	}
	if q.under != "" && q.under != "." {
		text += " in " + outline.Quote(q.under)
	}
	return text
}

// definitions are what the name can mean; a note says what was relaxed.
func (q query) definitions() (found []outline.Located, note string) {
	all := q.x.Definitions(q.name)
	found = slices.DeleteFunc(slices.Clone(all), func(l outline.Located) bool { return !q.wants(l) || !q.held(l) })
	if len(found) > 0 || q.parent == "" {
		return found, ""
	}
	found = slices.DeleteFunc(all, func(l outline.Located) bool { return !q.wants(l) })
	if len(found) > 0 {
		return found, fmt.Sprintf(" (none in %s: these are others)", q.parent)
	}
	return nil, ""
}

func (q query) wants(l outline.Located) bool {
	return (q.kind == "" || l.Kind == q.kind) && q.inside(l.Path)
}

func (q query) inside(path string) bool {
	return q.under == "" || q.under == "." || path == q.under || strings.HasPrefix(path, q.under+"/")
}

// held says whether what the query names as holder holds the symbol: its
// parent, or, at the top of a file, its package (the folder or the file).
func (q query) held(l outline.Located) bool {
	if q.parent == "" || l.Parent == q.parent || strings.HasSuffix(l.Parent, "."+q.parent) {
		return true
	}
	last := q.parent[strings.LastIndexByte(q.parent, '.')+1:]
	if l.Parent != "" {
		return l.Parent == last
	}
	parts := strings.Split(l.Path, "/")
	file, _, _ := strings.Cut(parts[len(parts)-1], ".")
	return file == last || len(parts) > 1 && parts[len(parts)-2] == last
}

func (q query) show(b *strings.Builder, found []outline.Located) {
	for _, l := range found[:min(len(found), maxDefinitions)] {
		holder := ""
		if l.Parent != "" {
			holder = " in " + l.Parent
		}
		fmt.Fprintf(b, "%s:%d-%d %s%s\n      %s\n", outline.Quote(l.Path), l.From, l.To, l.Kind, holder, signature(l.Symbol))
	}
	if more := len(found) - maxDefinitions; more > 0 {
		fmt.Fprintf(b, "[… %d more: narrow it with kind or path]\n", more)
	}
}

// elsewhere tells of declarations that kind or path kept out.
func (q query) elsewhere(b *strings.Builder) {
	all := q.x.Definitions(q.name)
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "Without that, %s:\n", plural(len(all), "declaration"))
	q.show(b, all[:min(len(all), 3)])
}

// mentions counts the other occurrences of the name by file.
func (q query) mentions(b *strings.Builder) {
	var in []outline.Mentions
	total := 0
	for _, m := range q.x.References(q.name) {
		if q.inside(m.Path) {
			in = append(in, m)
			total += m.Count
		}
	}
	if total == 0 {
		b.WriteString("No other mention in code.\n")
		return
	}
	fmt.Fprintf(b, "%s in %s\n", plural(total, "other mention"), plural(len(in), "file"))
	for _, m := range in[:min(len(in), maxMentions)] {
		fmt.Fprintf(b, "%6d %s\n", m.Count, outline.Quote(m.Path))
	}
	if more := len(in) - maxMentions; more > 0 {
		fmt.Fprintf(b, "       and %s more\n", plural(more, "file"))
	}
}

// near are the declared names most like the one that was not found: in
// another case, with the same beginning or part, or a few letters apart.
func (q query) near() []string {
	want := strings.ToLower(q.name)
	var candidates []string
	for _, n := range q.x.Names() {
		lower := strings.ToLower(n)
		if lower == want {
			return []string{n}
		}
		alike := strings.Contains(lower, want) || strings.Contains(want, lower) && len(lower) > 3 ||
			(lower[0] == want[0] || lower[len(lower)-1] == want[len(want)-1]) && abs(len(lower)-len(want)) <= 2
		if alike && len(candidates) < maxCandidates {
			candidates = append(candidates, n)
		}
	}
	return tool.Nearest(q.name, candidates, 5)
}

func abs(n int) int { return max(n, -n) }
