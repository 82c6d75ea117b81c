package finish

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Facts are what the platform knows when a difference is to be reviewed.
type Facts struct {
	// Diff is the difference with git's headers.
	Diff   string
	Checks []CheckState
	// Planned are the files that the plan names; empty when it names none.
	Planned []string
	// Syntax is, for each file that an edit left with new syntax errors, the
	// first of them.
	Syntax map[string]string
}

// CheckState is what is known of one verifying command at the time of review.
type CheckState struct {
	Name string
	// Fresh says that it ran on the files as they are now.
	Fresh bool
	// Red is how it ended when that was not well; empty if it was.
	Red string
	// Output is the end of what it printed then.
	Output string
	// Unable says why it cannot run here, empty if it can.
	Unable string
}

// Review lists what a reviewer of the difference should look at before it is
// submitted: nothing changed, checks not run since the last edit or red, new
// syntax errors, conflict markers, scratch files, tests that were weakened,
// files outside the plan. An empty list means nothing was found, not that the
// change is right.
func Review(f Facts) []string {
	var findings []string
	if strings.TrimSpace(f.Diff) == "" {
		findings = append(findings, "nothing is changed: submit again only if that is the right result, and say why")
	}
	for _, c := range f.Checks {
		switch {
		case c.Unable != "":
		case !c.Fresh:
			findings = append(findings, fmt.Sprintf("%q has not been run since the last edit", c.Name))
		case c.Red != "":
			finding := fmt.Sprintf("%q still fails, %s", c.Name, c.Red)
			if c.Output != "" {
				finding += "; its output ends:\n" + strings.TrimRight(c.Output, "\n")
			}
			findings = append(findings, finding)
		}
	}
	findings = append(findings, Broken(f)...)
	for _, c := range changes(f.Diff) {
		findings = append(findings, c.review()...)
		if len(f.Planned) > 0 && !planned(c.name, f.Planned) {
			findings = append(findings, fmt.Sprintf("%s is changed but is not among the files of your plan: say why it must be, or take it back", c.name))
		}
	}
	return findings
}

// Broken lists what can hardly be meant: files that do not parse, conflict
// markers.
func Broken(f Facts) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.Syntax)) {
		out = append(out, fmt.Sprintf("%s does not parse: %s", name, f.Syntax[name]))
	}
	for _, c := range changes(f.Diff) {
		if slices.ContainsFunc(c.added, isConflictMarker) {
			out = append(out, c.name+" has a conflict marker")
		}
	}
	return out
}

// planned: the plan names the file, a directory above it, or it ends like what
// the plan names.
func planned(name string, files []string) bool {
	for _, f := range files {
		f = strings.Trim(strings.TrimPrefix(f, "/workspace/"), "/")
		if f == name || strings.HasPrefix(name, f+"/") || f == "." {
			return true
		}
	}
	return false
}

// change is one file of a difference.
type change struct {
	name           string
	isNew, deleted bool
	added, removed []string // lines without their mark
}

// changes reads a difference with git's headers.
func changes(diff string) []change {
	var out []change
	inHunk := false
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line, "diff --git "); ok {
			_, name, _ := strings.Cut(rest, " b/")
			out = append(out, change{name: strings.TrimSuffix(name, `"`)})
			inHunk = false
			continue
		}
		if len(out) == 0 {
			continue
		}
		c := &out[len(out)-1]
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk && strings.HasPrefix(line, "new file mode"):
			c.isNew = true
		case !inHunk && strings.HasPrefix(line, "deleted file mode"):
			c.deleted = true
		case inHunk && strings.HasPrefix(line, "+"):
			c.added = append(c.added, line[1:])
		case inHunk && strings.HasPrefix(line, "-"):
			c.removed = append(c.removed, line[1:])
		}
	}
	return out
}

func (c change) review() []string {
	var findings []string
	if c.isNew && isScratch(c.name) {
		findings = append(findings, c.name+" looks like a scratch file: remove it unless it belongs to the change")
	}
	return append(findings, c.weakened()...)
}

func isConflictMarker(added string) bool {
	return strings.HasPrefix(added, "<<<<<<< ") || strings.HasPrefix(added, ">>>>>>> ") || added == "======="
}

// isScratch knows the names that editors, patch tools and hurried people leave.
func isScratch(file string) bool {
	name := strings.ToLower(path.Base(file))
	for _, suffix := range []string{".orig", ".rej", ".bak", ".tmp", ".swp", "~", ".log", ".pyc"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	for _, prefix := range []string{"scratch", "tmp_", "temp_", "debug_", "repro", "core."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
