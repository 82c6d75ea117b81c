package edit

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// hunkSteps is the chain for hunks: the steps of edit_file that need no
// guessing about where a text begins and ends. The first two are both exact:
// with the carriage returns that the patch has, and without looking at them.
type hunkStep struct {
	name  Step
	bytes bool                  // carriage returns count
	see   func(fileLine) string // the file's lines
	asked func(string) string   // the patch's lines
	shift bool                  // the indentation must differ by one rule
}

func hunkSteps() []hunkStep {
	noReturn := func(s string) string { return strings.TrimSuffix(s, "\r") }
	through := func(canon func(string) string) (func(fileLine) string, func(string) string) {
		return func(l fileLine) string { return canon(l.text) }, func(s string) string { return canon(noReturn(s)) }
	}
	steps := []hunkStep{
		{name: StepExact, bytes: true, see: fileLine.raw, asked: same},
		{name: StepExact}, {name: StepTrailing}, {name: StepIndent, shift: true}, {name: StepTypographic},
	}
	for i, canon := range []func(string) string{same, trimEnd, func(s string) string { return strings.Trim(s, " \t") },
		func(s string) string { return trimEnd(fold(s)) }} {
		steps[i+1].see, steps[i+1].asked = through(canon)
	}
	return steps
}

// hunker applies the hunks of one file in order.
type hunker struct {
	path    string
	lines   []fileLine
	unified bool
	work    *effort
	steps   []hunkStep
	seen    []*canonical // for each step, made when it is first needed

	cursor  int // the first line that no hunk has used
	out     []fileLine
	changes []workspace.Change
	used    []Step
}

// site is where a hunk belongs and how it was found.
type site struct {
	at    int
	lines []HunkLine // of the hunk, without loose ones that are no context
	step  hunkStep
	shift shift
}

// Patched is a file after its hunks.
type Patched struct {
	Body    string
	Changes []workspace.Change // in lines of the old body
	Steps   []Step             // the steps used beside [StepExact]
}

// ApplyHunks changes a body by the hunks of one file, all or none. unified
// says that line numbers may decide between places that match exactly. The
// error is always a *[RefusalError].
// path names the language of the file in messages and may be empty.
func ApplyHunks(ctx context.Context, path, body string, hunks []Hunk, unified bool) (Patched, error) {
	if r := tooManyLines(body); r != nil {
		return Patched{}, r
	}
	h := &hunker{path: path, lines: splitFile(body), unified: unified, work: newEffort(ctx), steps: hunkSteps()}
	h.seen = make([]*canonical, len(h.steps))
	for i, hunk := range hunks {
		s, failed := h.locate(hunk)
		if h.work.spent() {
			failed = notSearched()
		}
		if failed != nil {
			failed.Message = h.label(i, len(hunks), hunk) + failed.Message
			return Patched{}, failed
		}
		h.apply(s)
	}
	h.out = append(h.out, h.lines[h.cursor:]...)
	h.close()
	return Patched{Body: joinFile(h.out), Changes: h.changes, Steps: h.used}, nil
}

// label says which hunk is meant.
func (h *hunker) label(i, of int, hunk Hunk) string {
	if of == 1 {
		return ""
	}
	return "hunk " + strconv.Itoa(i+1) + " of " + strconv.Itoa(of) + " (line " + strconv.Itoa(hunk.At) + " of the patch): "
}

// locate finds the one place of a hunk at or after the cursor.
func (h *hunker) locate(hunk Hunk) (site, *RefusalError) {
	lo, failed := h.below(hunk.Headers)
	if failed != nil {
		return site{}, failed
	}
	if len(hunk.side('+')) == 0 {
		return h.addition(hunk, lo)
	}
	variants := [][]HunkLine{hunk.Lines}
	if hunk.Loose > 0 {
		variants = append(variants, hunk.Lines[:len(hunk.Lines)-hunk.Loose])
	}
	for _, lines := range variants {
		variant := hunk
		variant.Lines = lines
		if len(variant.side('+')) == 0 {
			return h.addition(variant, lo)
		}
		s, found, failed := h.search(variant, lo)
		if found || failed != nil {
			return s, failed
		}
	}
	hunk.Lines = variants[len(variants)-1]
	return site{}, h.missing(hunk, lo)
}

// below narrows the search by the @@ lines.
func (h *hunker) below(headers []string) (int, *RefusalError) {
	lo := h.cursor
	for _, header := range headers {
		at := -1
		for _, i := range []int{1, 2, 3, 4} {
			if h.work.spent() {
				return 0, notSearched()
			}
			asked := h.steps[i].asked(header)
			for n := lo; n < len(h.lines) && at < 0; n++ {
				if strings.TrimSpace(asked) != "" && h.steps[i].see(h.lines[n]) == asked {
					at = n
				}
			}
		}
		if at < 0 {
			return 0, h.noHeader(header)
		}
		lo = at + 1
	}
	return lo, nil
}

// addition is the place of a hunk that has only new lines: after its header,
// else at the end of the file.
func (h *hunker) addition(hunk Hunk, lo int) (site, *RefusalError) {
	s := site{at: len(h.lines), lines: hunk.Lines, step: h.steps[1]}
	for _, l := range hunk.Lines {
		s.step.bytes = s.step.bytes || strings.HasSuffix(l.Text, "\r")
	}
	switch {
	case len(h.lines) == 0:
		s.step.bytes = true
	case len(hunk.Headers) > 0 && !hunk.EndOfFile:
		s.at = lo
	case h.unified && hunk.Numbered:
		r := refusef(tool.CodeConflict, "it only adds lines and shows none around them, and a line number alone is not trusted")
		r.Hints = []string{"give the lines before or after as context"}
		return s, r
	}
	return s, nil
}

// search runs the chain. Found is false when no step finds any place.
func (h *hunker) search(hunk Hunk, lo int) (s site, found bool, failed *RefusalError) {
	old := hunk.side('+')
	for i, step := range h.steps {
		if h.work.spent() {
			return s, false, nil
		}
		if !step.bytes && step.name != StepExact && blankLines(old) {
			continue // nothing to hold on to
		}
		places := h.places(i, hunk, old, lo)
		switch {
		case len(places) == 0:
			continue
		case len(places) > 1:
			return s, true, h.several(hunk, places)
		case h.tooLarge(places[0], old):
			return s, true, refusef(tool.CodeOversizedMatch, "the place found is much larger than the lines of the patch, so it was not touched")
		}
		return places[0], true, nil
	}
	return s, false, nil
}

func blankLines(lines []HunkLine) bool {
	return !slices.ContainsFunc(lines, func(l HunkLine) bool { return !isBlank(l.Text) })
}

func (h *hunker) tooLarge(s site, old []HunkLine) bool {
	var found, asked strings.Builder
	for i, l := range old {
		found.WriteString(h.lines[s.at+i].text + "\n")
		asked.WriteString(l.Text + "\n")
	}
	return oversized(found.String(), asked.String())
}

// places are where one step finds the old lines.
func (h *hunker) places(i int, hunk Hunk, old []HunkLine, lo int) []site {
	step := h.steps[i]
	if h.seen[i] == nil {
		c := newCanonical(h.lines, step.see)
		h.seen[i] = &c
	}
	block := make([]string, len(old))
	for n, l := range old {
		block[n] = step.asked(l.Text)
	}
	found := h.seen[i].find(block, lo)
	if at := hunk.Start - 1; hunk.Numbered && step.name == StepExact && len(found) > 1 && at >= lo && h.seen[i].has(block, at) {
		found = []int{at} // the line number decides between places that are all exact
	}
	var places []site
	for _, at := range found {
		s := site{at: at, lines: hunk.Lines, step: step}
		if h.fits(&s, hunk, old) {
			places = append(places, s)
		}
	}
	if step.shift && len(found) > maxPlaces {
		return nil // not all were looked at
	}
	return places
}

// fits checks what the text alone does not say.
func (h *hunker) fits(s *site, hunk Hunk, old []HunkLine) bool {
	end := s.at + len(old)
	if hunk.EndOfFile && end != len(h.lines) {
		return false
	}
	for n, l := range old {
		if l.NoEnd && !h.lines[s.at+n].open {
			return false
		}
	}
	if !s.step.shift {
		return true
	}
	file, asked := make([]string, len(old)), make([]string, len(old))
	for n, l := range old {
		file[n], asked[n] = h.lines[s.at+n].text, strings.TrimSuffix(l.Text, "\r")
	}
	var ok bool
	s.shift, ok = findShift(file, asked)
	return ok
}
