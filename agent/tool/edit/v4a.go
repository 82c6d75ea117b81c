package edit

import (
	"regexp"
	"strconv"
	"strings"
)

// The markers of the V4A grammar, as codex's apply_patch prompt defines them.
const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File:"
	updateFile = "*** Update File:"
	deleteFile = "*** Delete File:"
	moveTo     = "*** Move to:"
	endOfFile  = "*** End of File"
)

// envelope checks what stands around a patch and returns what is inside.
func envelope(lines []string, begin int) ([]string, *RefusalError) {
	for i, l := range lines[:begin] {
		if !isWrapping(l) {
			return nil, parseError(i+1, "only %s may come before the patch", strconv.Quote(beginPatch))
		}
	}
	end := -1
	for i := len(lines) - 1; i > begin && end < 0; i-- {
		if strings.TrimSpace(lines[i]) == endPatch {
			end = i
		}
	}
	if end < 0 {
		r := parseError(len(lines), "there is no %s: the patch was cut, so nothing was done", strconv.Quote(endPatch))
		r.Hints = []string{"send it again whole, in smaller pieces if it is long"}
		return nil, r
	}
	for i, l := range lines[end+1:] {
		if !isWrapping(l) {
			return nil, parseError(end+2+i, "only the end of a code fence may come after %s", strconv.Quote(endPatch))
		}
	}
	return lines[begin+1 : end], nil
}

// isWrapping knows a blank line, a code fence and the two ends of a
// here-document.
func isWrapping(line string) bool {
	line = strings.TrimSpace(line)
	wrapping := regexp.MustCompile("^(|```.*|~~~.*|%%\\w+|[^<]*<<-?\\s*['\"]?\\w+['\"]?|[A-Z_]+['\"]?\\)?)$")
	return wrapping.MatchString(line)
}

// v4a reads the sections of a patch.
type v4a struct {
	lines  []string
	at     int // the line to read
	offset int // lines before the first one
	patch  Patch
}

func parseV4A(lines []string, offset int) (Patch, error) {
	p := &v4a{lines: lines, offset: offset}
	for p.at < len(p.lines) {
		if strings.TrimSpace(p.lines[p.at]) == "" {
			p.at++
			continue
		}
		if failed := p.section(); failed != nil {
			return Patch{}, failed
		}
	}
	if len(p.patch.Files) == 0 {
		return Patch{}, parseError(offset, "the patch names no file")
	}
	return p.patch, nil
}

// line is the number of the current line in the whole patch, counted from 1.
func (p *v4a) line() int { return p.offset + p.at + 1 }

// section reads one file's part, which begins at the current line.
func (p *v4a) section() *RefusalError {
	head := strings.TrimSpace(p.lines[p.at])
	for _, kind := range []struct {
		marker string
		read   func(FilePatch) *RefusalError
	}{{addFile, p.add}, {updateFile, p.update}, {deleteFile, p.remove}} {
		name, ok := strings.CutPrefix(head, kind.marker)
		if !ok {
			continue
		}
		if name = strings.TrimSpace(name); name == "" {
			return parseError(p.line(), "no path after %q", kind.marker)
		}
		f := FilePatch{Path: name, At: p.line()}
		p.at++
		return kind.read(f)
	}
	r := parseError(p.line(), "%q is no part of a patch", shorten(head))
	r.Hints = []string{"begin each file with *** Add File:, *** Update File: or *** Delete File:"}
	return r
}

func (p *v4a) add(f FilePatch) *RefusalError {
	f.Action = ActionAdd
	var b strings.Builder
	for ; p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "+"); p.at++ {
		b.WriteString(p.lines[p.at][1:])
		b.WriteByte('\n')
	}
	if p.at < len(p.lines) && !p.atSection() && strings.TrimSpace(p.lines[p.at]) != "" {
		return parseError(p.line(), "every line of an added file begins with +")
	}
	f.Content = b.String()
	p.patch.Files = append(p.patch.Files, f)
	return nil
}

func (p *v4a) remove(f FilePatch) *RefusalError {
	f.Action = ActionDelete
	p.patch.Files = append(p.patch.Files, f)
	return nil
}

// atSection says that the current line begins another file, in any indentation.
func (p *v4a) atSection() bool {
	return isSection(strings.TrimSpace(p.lines[p.at]))
}

func isSection(line string) bool {
	return strings.HasPrefix(line, addFile) || strings.HasPrefix(line, updateFile) || strings.HasPrefix(line, deleteFile)
}

func (p *v4a) update(f FilePatch) *RefusalError {
	f.Action = ActionUpdate
	if p.at < len(p.lines) {
		if to, ok := strings.CutPrefix(strings.TrimSpace(p.lines[p.at]), moveTo); ok {
			f.Action, f.To = ActionMove, strings.TrimSpace(to)
			if f.To == "" {
				return parseError(p.line(), "no path after %q", moveTo)
			}
			p.at++
		}
	}
	for p.at < len(p.lines) && !isSection(p.lines[p.at]) {
		if strings.TrimSpace(p.lines[p.at]) == "" && p.nothingFollows() {
			p.at++
			continue
		}
		h, failed := p.hunk()
		if failed != nil {
			return failed
		}
		f.Hunks = append(f.Hunks, h)
	}
	if len(f.Hunks) == 0 && f.Action == ActionUpdate {
		return parseError(f.At, "there is no change for %s", f.Path)
	}
	p.patch.Files = append(p.patch.Files, f)
	return nil
}

// nothingFollows says that only blank lines stand before the next section.
func (p *v4a) nothingFollows() bool {
	for _, l := range p.lines[p.at:] {
		if strings.TrimSpace(l) != "" {
			return isSection(l)
		}
	}
	return true
}

// hunk reads the @@ lines and what follows up to the next @@ or section.
func (p *v4a) hunk() (Hunk, *RefusalError) {
	h := Hunk{At: p.line()}
	for p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "@@") {
		p.header(&h)
		p.at++
	}
	for ; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		if strings.HasPrefix(l, "@@") || isSection(l) {
			break
		}
		if strings.TrimRight(l, " \t\r") == endOfFile {
			h.EndOfFile, h.Loose = true, 0
			p.at++
			break
		}
		if failed := h.take(l, p.line()); failed != nil {
			return h, failed
		}
	}
	if len(h.Lines) == 0 {
		return h, parseError(h.At, "a hunk without a line")
	}
	return h, nil
}

// header reads one @@ line: nothing, a line of the file, or the numbers of a
// unified diff, which many models write.
func (p *v4a) header(h *Hunk) {
	text := strings.TrimRight(p.lines[p.at][2:], " \t\r")
	if start, _, _, ok := hunkNumbers(p.lines[p.at]); ok {
		h.Numbered, h.Start = true, start
		return
	}
	text = strings.TrimPrefix(text, " ")
	if cut, ok := strings.CutSuffix(text, "@@"); ok {
		text = strings.TrimRight(cut, " ")
	}
	if strings.Trim(text, " .…") != "" {
		h.Headers = append(h.Headers, text)
	}
}

// take adds a line of the body to the hunk.
func (h *Hunk) take(line string, at int) *RefusalError {
	if line == "" || line == "\r" {
		h.Lines = append(h.Lines, HunkLine{Op: ' ', Text: line})
		h.Loose++
		return nil
	}
	switch line[0] {
	case ' ', '+', '-':
		h.Lines = append(h.Lines, HunkLine{Op: line[0], Text: line[1:]})
		h.Loose = 0
		return nil
	case '\\':
		if n := len(h.Lines); n > 0 {
			h.Lines[n-1].NoEnd = true
			return nil
		}
	}
	r := parseError(at, "%q is no line of a hunk", shorten(line))
	r.Hints = []string{"begin every line of a hunk with a space, + or -, also where the file's line begins with spaces"}
	return r
}
