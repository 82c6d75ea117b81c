package edit

import "strings"

func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// matchIndent finds lines that differ from the request by one uniform change
// of indentation, which is then made to the new text too.
func matchIndent(v *view, b block) []place {
	canon := func(s string) string { return strings.Trim(s, " \t") }
	var places []place
	lines := v.lines()
	found := candidates(v, b, canon)
	if !b.all && len(found) > maxPlaces {
		return nil // not all were looked at, so none can be called the only one
	}
	for _, at := range found {
		if v.work.spent() {
			return nil
		}
		shift, ok := findShift(lines[at:at+len(b.old)], b.old)
		if !ok {
			continue
		}
		places = append(places, placeShifted(v, b, at, shift, lines[at:at+len(b.old)]))
	}
	return places
}

// placeShifted applies the shift to the new lines, unless the request's new
// text already has the indentation of the file that its old text lacked.
func placeShifted(v *view, b block, at int, s shift, file []string) place {
	if s.add != "" && startAll(b.new, s.add) && !startAll(b.old, s.add) {
		asIs := placeAt(v, b, at, same)
		if asIs.text != strings.Join(file, "\n") && asIs.text != v.lf[asIs.from:asIs.to] {
			return asIs
		}
	}
	return placeAt(v, b, at, s.apply)
}

// startAll says that every line that is not blank starts with prefix.
func startAll(lines []string, prefix string) bool {
	for _, l := range lines {
		if !isBlank(l) && !strings.HasPrefix(l, prefix) {
			return false
		}
	}
	return true
}

// shift is one change of indentation: a prefix added or removed, or a width of
// spaces that stands for a tab.
type shift struct {
	add, remove string
	spaces      int  // n spaces in the request are one tab in the file
	toSpaces    bool // the other way round
}

func (s shift) apply(line string) string {
	if isBlank(line) {
		return line
	}
	switch {
	case s.add != "":
		return s.add + line
	case s.remove != "":
		return strings.TrimPrefix(line, s.remove)
	}
	indent := indentOf(line)
	return s.convert(indent) + line[len(indent):]
}

// convert rewrites an indentation from the request's kind to the file's.
func (s shift) convert(indent string) string {
	if s.toSpaces {
		return strings.ReplaceAll(indent, "\t", strings.Repeat(" ", s.spaces))
	}
	tabs := len(indent) / s.spaces
	if strings.Contains(indent, "\t") {
		return indent
	}
	return strings.Repeat("\t", tabs) + strings.Repeat(" ", len(indent)%s.spaces)
}

// findShift finds the one change that turns the indentation of every asked
// line into the file's.
func findShift(file, asked []string) (shift, bool) {
	for i := range asked {
		if isBlank(asked[i]) || isBlank(file[i]) {
			continue
		}
		for _, s := range shiftsOf(indentOf(file[i]), indentOf(asked[i])) {
			if s.fits(file, asked) {
				return s, true
			}
		}
		return shift{}, false
	}
	return shift{}, false
}

// shiftsOf are the changes that one pair of lines allows.
func shiftsOf(file, asked string) []shift {
	var all []shift
	if p, ok := strings.CutSuffix(file, asked); ok && p != "" {
		all = append(all, shift{add: p})
	}
	if p, ok := strings.CutSuffix(asked, file); ok && p != "" {
		all = append(all, shift{remove: p})
	}
	for _, n := range []int{2, 4, 8, 3} {
		all = append(all, shift{spaces: n}, shift{spaces: n, toSpaces: true})
	}
	return all
}

func (s shift) fits(file, asked []string) bool {
	used := false
	for i := range asked {
		if isBlank(asked[i]) != isBlank(file[i]) {
			return false
		}
		if isBlank(asked[i]) {
			continue
		}
		want, got := indentOf(file[i]), indentOf(asked[i])
		if s.remove != "" && !strings.HasPrefix(got, s.remove) {
			return false
		}
		if indentOf(s.apply(asked[i])) != want {
			return false
		}
		used = used || want != got
	}
	return used
}
