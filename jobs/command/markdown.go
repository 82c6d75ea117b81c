package command

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// maxIndent is how far a command may be indented; four would be code.
const maxIndent = 3

// commonMark is goldmark's parser, made once: it keeps its state per call and
// is safe for concurrent use, and making it costs more than most comments.
var commonMark = sync.OnceValue(goldmark.DefaultParser) //nolint:gochecknoglobals // never changes

// plainLines gives the offsets in src at which a line begins that is ordinary
// text: the offset is that of its first character after up to three spaces.
// Code, block quotes, HTML and link text are no ordinary text.
func plainLines(src []byte) []int {
	doc := commonMark().Parse(text.NewReader(src))
	var starts []int
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Blockquote, *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan, *ast.Link, *ast.Image, *ast.RawHTML, *ast.AutoLink:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if at, ok := lineStart(src, n.Segment.Start); ok {
				starts = append(starts, at)
			}
		}
		return ast.WalkContinue, nil
	})
	return starts
}

// lineStart reports whether only up to three spaces stand between offset at
// and the beginning of its line.
func lineStart(src []byte, at int) (int, bool) {
	begin := bytes.LastIndexAny(src[:at], "\n\r") + 1
	indent := src[begin:at]
	if len(indent) > maxIndent || len(bytes.Trim(indent, " ")) > 0 {
		return 0, false
	}
	return at, true
}
