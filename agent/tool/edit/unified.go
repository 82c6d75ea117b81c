package edit

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
)

// unified reads a unified diff, with git's extended headers or without any
// (git-diff(1), "Generating patch text with -p").
type unified struct {
	lines  []string
	at     int
	offset int
	patch  Patch
}

func parseUnified(lines []string, offset int) (Patch, error) {
	p := &unified{lines: lines, offset: offset, patch: Patch{Unified: true}}
	for p.at < len(p.lines) {
		if failed := p.next(); failed != nil {
			return Patch{}, failed
		}
	}
	if len(p.patch.Files) == 0 {
		r := parseError(1, "this is no patch")
		r.Hints = []string{"begin with " + beginPatch + " and end with " + endPatch + ", or send a unified diff with its --- and +++ lines"}
		return Patch{}, r
	}
	return p.patch, nil
}

func (p *unified) line() int { return p.offset + p.at + 1 }

// next reads a file's part or passes over a line between them: what git
// format-patch and people write around a diff.
func (p *unified) next() *RefusalError {
	l := p.lines[p.at]
	switch {
	case strings.HasPrefix(l, "diff --git "):
		return p.git()
	case p.plainHeader():
		return p.plain()
	case strings.HasPrefix(l, "@@"):
		return parseError(p.line(), "a hunk before any --- and +++ lines: which file is it for?")
	case strings.HasPrefix(strings.TrimSpace(l), "*** ") && strings.HasSuffix(strings.TrimSpace(l), "File:") || isSection(strings.TrimSpace(l)):
		return parseError(p.line(), "a patch of this kind begins with %q", beginPatch)
	}
	p.at++
	return nil
}

// plainHeader says that --- and +++ lines begin here.
func (p *unified) plainHeader() bool {
	return strings.HasPrefix(p.lines[p.at], "--- ") && p.at+1 < len(p.lines) && strings.HasPrefix(p.lines[p.at+1], "+++ ")
}

// hunkNumbers reads @@ -start,count +start,count @@. Numbers too large for any
// file are none.
func hunkNumbers(line string) (start, oldCount, newCount int, ok bool) {
	m := regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? ?@@`).FindStringSubmatch(line)
	if m == nil {
		return 0, 0, 0, false
	}
	numbers := [5]int{0, 0, 1, 0, 1}
	for i := 1; i <= 4; i++ {
		if m[i] != "" {
			numbers[i], _ = strconv.Atoi(m[i])
		}
	}
	return numbers[1], numbers[2], numbers[4], true
}

// hunks reads the hunks of a part and finishes it.
func (p *unified) hunks(f FilePatch) *RefusalError {
	for p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "@@") {
		h, failed := p.hunk()
		if failed != nil {
			return failed
		}
		f.Hunks = append(f.Hunks, h)
	}
	switch {
	case f.Path == "" || f.To == "" && (f.Action == ActionMove || f.Action == ActionCopy):
		return parseError(f.At, "a path is missing")
	case f.Action == ActionAdd:
		if failed := f.fill(); failed != nil {
			return failed
		}
	case f.Action == ActionUpdate && len(f.Hunks) == 0 && f.Mode == 0:
		return parseError(f.At, "there is no change for %s", f.Path)
	}
	if f.Link && f.Action != ActionDelete && len(f.Hunks) > 0 {
		return &RefusalError{Code: tool.CodeSymlinkRefused, Message: lineOfPatch(f.At) + "a patch may not change where a symlink leads"}
	}
	p.patch.Files = append(p.patch.Files, f)
	return nil
}

// fill makes the content of a new file from its hunks.
func (f *FilePatch) fill() *RefusalError {
	if f.Mode == 0 {
		f.Mode = fs.FileMode(0o644)
	}
	var b strings.Builder
	for _, h := range f.Hunks {
		for _, l := range h.Lines[:len(h.Lines)-h.Loose] {
			if l.Op != '+' {
				return parseError(h.At, "the new file %s has lines that do not begin with +", f.Path)
			}
			b.WriteString(l.Text)
			if !l.NoEnd {
				b.WriteByte('\n')
			}
		}
	}
	f.Content, f.Hunks = b.String(), nil
	return nil
}

// hunk reads one hunk. The counts of its header say which lines belong to it
// where a line could also begin something else; beyond that they are a hint.
func (p *unified) hunk() (Hunk, *RefusalError) {
	h := Hunk{At: p.line()}
	start, oldLeft, newLeft, numbered := hunkNumbers(p.lines[p.at])
	h.Numbered, h.Start = numbered, start
	p.at++
	for ; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		if p.endsHunk(l, numbered, oldLeft, newLeft) {
			break
		}
		if failed := h.take(l, p.line()); failed != nil {
			return h, failed
		}
		switch {
		case l == "" || l[0] == ' ' || l[0] == '\r':
			oldLeft, newLeft = oldLeft-1, newLeft-1
		case l[0] == '-':
			oldLeft--
		case l[0] == '+':
			newLeft--
		}
	}
	if numbered && oldLeft == 0 && newLeft == 0 {
		h.Loose = 0 // they were counted
	}
	if len(h.Lines) == 0 {
		return h, parseError(h.At, "a hunk without a line")
	}
	return h, nil
}

// endsHunk says that the current line is no longer part of the hunk.
func (p *unified) endsHunk(l string, numbered bool, oldLeft, newLeft int) bool {
	full := !numbered || oldLeft <= 0 && newLeft <= 0
	switch {
	case strings.HasPrefix(l, "@@"), strings.HasPrefix(l, "diff --git "), strings.HasPrefix(l, "```"):
		return true
	case full && (l == "-- " || strings.TrimSpace(l) == ""):
		return numbered || p.restIsBlank()
	case full && l != "" && !strings.ContainsRune(" +-\\\r", rune(l[0])):
		return true
	case p.plainHeader():
		after := p.at + 2
		hunkFollows := after < len(p.lines) && strings.HasPrefix(p.lines[after], "@@")
		return full || hunkFollows && (oldLeft != 1 || newLeft != 1)
	}
	return false
}

func (p *unified) restIsBlank() bool {
	return strings.TrimSpace(strings.Join(p.lines[p.at:], "")) == ""
}
