package edit

import (
	"encoding/json"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
)

// TextEdit is an edit that a model wrote into its reply because it cannot call
// tools: a SEARCH/REPLACE block, or a hunk of a unified diff in a ```diff fence.
type TextEdit struct {
	Path string
	// Old and New are the two halves of a block, each line ended; an empty Old
	// makes a new file.
	Old, New string
	// Hunk are the lines of a diff's hunk, each with its first character and
	// its end. It is nil for a block.
	Hunk []string
	// NewFile says that a hunk is a file that did not exist.
	NewFile bool
}

// Call is the tool call that the edit stands for.
func (e TextEdit) Call() (name string, args json.RawMessage) {
	var a any
	switch {
	case e.Hunk != nil:
		from := e.Path
		if e.NewFile {
			from = devNull
		}
		name, a = "apply_patch", patchArgs{Patch: "--- " + from + "\n+++ " + e.Path + "\n@@ @@\n" + strings.Join(e.Hunk, "")}
	case e.Old == "":
		name, a = "write_file", writeArgs{Path: e.Path, Content: e.New}
	default:
		name, a = "edit_file", editArgs{Path: e.Path, Old: e.Old, New: e.New}
	}
	args, err := json.Marshal(a)
	if err != nil { // a struct of strings has no way to fail
		return name, nil
	}
	return name, args
}

// ParseTextEdits finds the edits of a reply in the order in which they stand.
// A reply without any gives none. A block that is cut or names no file is an
// error, a *[RefusalError], and then no edit of the reply should be made.
func ParseTextEdits(text string) ([]TextEdit, error) {
	t := &textEdits{lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	for t.at < len(t.lines) {
		line := strings.TrimSpace(t.lines[t.at])
		var failed error
		switch {
		case line == "```diff" || line == "```udiff":
			failed = t.diff()
		case isMark(line, '<', " SEARCH"):
			failed = t.block()
		default:
			t.at++
		}
		if failed != nil {
			return nil, failed
		}
	}
	return t.edits, nil
}

type textEdits struct {
	lines []string
	at    int
	last  int // the line after the last edit
	edits []TextEdit
}

// isMark knows a line of five to nine equal characters and a word.
func isMark(line string, c byte, word string) bool {
	rest, ok := strings.CutSuffix(strings.TrimRight(line, " \t"), word)
	return ok && len(rest) >= 5 && len(rest) <= 9 && strings.Trim(rest, string(c)) == ""
}

// block reads a SEARCH/REPLACE block.
func (t *textEdits) block() error {
	begin := t.at
	path := t.nameAbove()
	if path == "" {
		return parseText(begin, "the block names no file; put its path on the line above")
	}
	old, ok := t.until('=', "")
	if !ok {
		return parseText(begin, "the block has no ======= line: the reply was cut")
	}
	text, ok := t.until('>', " REPLACE")
	if !ok {
		return parseText(begin, "the block has no >>>>>>> REPLACE line: the reply was cut")
	}
	t.at++
	t.last = t.at
	t.edits = append(t.edits, TextEdit{Path: path, Old: old, New: text})
	return nil
}

// until collects the lines after the current one up to a mark, and stops there.
func (t *textEdits) until(c byte, word string) (string, bool) {
	var b strings.Builder
	for t.at++; t.at < len(t.lines); t.at++ {
		if isMark(t.lines[t.at], c, word) {
			return b.String(), true
		}
		if isMark(t.lines[t.at], '<', " SEARCH") {
			return "", false
		}
		b.WriteString(t.lines[t.at] + "\n")
	}
	return "", false
}

// nameAbove finds the path in the lines above a block: right above it, above
// the fence that the block is in, or in a fence of its own.
func (t *textEdits) nameAbove() string {
	const reach = 4
	for i := t.at - 1; i >= max(t.last, t.at-reach); i-- {
		line := strings.TrimSpace(t.lines[i])
		if line == "" || strings.HasPrefix(line, "```") {
			continue
		}
		line = strings.Trim(strings.TrimSuffix(line, ":"), "`*# ")
		if strings.ContainsAny(line, "<>|?*\"") || strings.HasSuffix(line, ".") || strings.Count(line, " ") > 2 {
			return ""
		}
		return line
	}
	return ""
}

// diff reads a fence with a unified diff.
func (t *textEdits) diff() error {
	begin := t.at
	var body []string
	for t.at++; ; t.at++ {
		if t.at == len(t.lines) {
			return parseText(begin, "the fence is not closed: the reply was cut")
		}
		if strings.HasPrefix(t.lines[t.at], "```") {
			break
		}
		body = append(body, t.lines[t.at])
	}
	t.at++
	t.last = t.at
	patch, err := parseUnified(body, begin+1)
	if err != nil {
		return err
	}
	for _, f := range patch.Files {
		if err := t.fromDiff(f); err != nil {
			return err
		}
	}
	return nil
}

func (t *textEdits) fromDiff(f FilePatch) error {
	switch f.Action {
	case ActionAdd:
		e := TextEdit{Path: f.Path, NewFile: true, Hunk: []string{}}
		for line := range strings.Lines(f.Content) {
			e.Hunk = append(e.Hunk, "+"+line)
		}
		t.edits = append(t.edits, e)
	case ActionUpdate:
		for _, h := range f.Hunks {
			e := TextEdit{Path: f.Path}
			for _, l := range h.Lines[:len(h.Lines)-h.Loose] {
				e.Hunk = append(e.Hunk, string(l.Op)+l.Text+"\n")
			}
			t.edits = append(t.edits, e)
		}
	case ActionDelete, ActionMove, ActionCopy:
		return parseText(f.At, "a diff in the reply may change and add files, not move or delete them")
	}
	return nil
}

func parseText(line int, what string) error {
	return refusef(tool.CodeParse, "line %d of the reply: %s", line+1, what)
}
