package outline

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
)

// scanGo uses Go's own parser. What it could not make sense of is looked for
// by the brace scanner.
func scanGo(f *file) {
	set := gotoken.NewFileSet()
	tree, err := parser.ParseFile(set, "", f.src, parser.SkipObjectResolution|parser.AllErrors)
	if tree != nil {
		g := goFile{file: f, set: set}
		for _, d := range tree.Decls {
			g.decl(d)
		}
	}
	if err != nil {
		f.complete()
	}
}

// complete adds what only the brace scanner finds.
func (f *file) complete() {
	known := make(map[string]bool, len(f.out))
	for _, s := range f.out {
		known[s.Parent+"."+s.Name] = true
	}
	rough := &file{lang: f.lang, name: f.name, src: f.src, code: f.code, starts: f.starts}
	scanBraces(rough)
	for _, s := range rough.out {
		if !known[s.Parent+"."+s.Name] {
			f.add(s)
		}
	}
}

type goFile struct {
	*file
	set *gotoken.FileSet
}

func (g goFile) offset(p gotoken.Pos) int { return g.set.PositionFor(p, false).Offset }

// symbol records a declaration that reads from..head and ends at end.
func (g goFile) symbol(name string, kind Kind, parent string, from, head, end gotoken.Pos) {
	if name == "_" {
		return
	}
	start := g.offset(from)
	g.add(Symbol{
		Name: name, Kind: kind, Parent: parent, Signature: g.signature(start, g.offset(head)),
		From: g.line(start), To: g.line(max(start, g.offset(end)-1)),
	})
}

func (g goFile) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		kind, parent := KindFunction, ""
		if d.Recv != nil && len(d.Recv.List) > 0 {
			kind, parent = KindMethod, typeName(d.Recv.List[0].Type)
		}
		head := d.End()
		if d.Body != nil {
			head = d.Body.Lbrace
		}
		g.symbol(d.Name.Name, kind, parent, d.Pos(), head, d.End())
	case *ast.GenDecl:
		for _, s := range d.Specs {
			g.spec(d, s)
		}
	}
}

func (g goFile) spec(d *ast.GenDecl, s ast.Spec) {
	from, end := s.Pos(), s.End()
	if !d.Lparen.IsValid() {
		from, end = d.Pos(), d.End()
	}
	switch s := s.(type) {
	case *ast.TypeSpec:
		g.typeSpec(s, from, end)
	case *ast.ValueSpec:
		kind := KindVariable
		if d.Tok == gotoken.CONST {
			kind = KindConstant
		}
		for _, n := range s.Names {
			g.symbol(n.Name, kind, "", from, end, end)
		}
	}
}

func (g goFile) typeSpec(s *ast.TypeSpec, from, end gotoken.Pos) {
	kind, head := KindType, end
	switch t := s.Type.(type) {
	case *ast.StructType:
		kind, head = KindStruct, t.Fields.Opening
	case *ast.InterfaceType:
		kind, head = KindInterface, t.Methods.Opening
		defer g.methods(s.Name.Name, t)
	}
	g.symbol(s.Name.Name, kind, "", from, head, end)
}

func (g goFile) methods(parent string, t *ast.InterfaceType) {
	for _, m := range t.Methods.List {
		if _, ok := m.Type.(*ast.FuncType); ok && len(m.Names) > 0 {
			g.symbol(m.Names[0].Name, KindMethod, parent, m.Pos(), m.End(), m.End())
		}
	}
}

// typeName is the name in a receiver's type.
func typeName(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}
