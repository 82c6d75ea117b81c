package finish

import (
	"fmt"
	"path"
	"strings"
)

// CheckState is what is known of one verifying command at the time of review.
type CheckState struct {
	Name string
	// Fresh says that it ran on the files as they are now; ExitCode is then
	// how it ended.
	Fresh    bool
	ExitCode int
}

// Review lists what a reviewer of the difference should look at before it is
// submitted: nothing changed, checks not run since the last edit or red,
// conflict markers, scratch files. An empty list means nothing was found, not
// that the change is right.
func Review(diff string, checks []CheckState) []string {
	var findings []string
	if strings.TrimSpace(diff) == "" {
		findings = append(findings, "nothing is changed: submit again only if that is the right result, and say why")
	}
	for _, c := range checks {
		switch {
		case !c.Fresh:
			findings = append(findings, fmt.Sprintf("%q has not been run since the last edit", c.Name))
		case c.ExitCode != 0:
			findings = append(findings, fmt.Sprintf("%q still fails with exit code %d", c.Name, c.ExitCode))
		}
	}
	return append(findings, reviewDiff(diff)...)
}

// reviewDiff looks at added lines and new files of a unified diff.
func reviewDiff(diff string) []string {
	var findings []string
	file, marked, inHunk := "", "", false
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "diff --git "):
			_, file, _ = strings.Cut(line, " b/")
			inHunk = false
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk && strings.HasPrefix(line, "new file mode"):
			if isScratch(file) {
				findings = append(findings, fmt.Sprintf("%s looks like a scratch file: remove it unless it belongs to the change", file))
			}
		case inHunk && isConflictMarker(line) && marked != file:
			marked = file
			findings = append(findings, fmt.Sprintf("%s has a conflict marker", file))
		}
	}
	return findings
}

func isConflictMarker(added string) bool {
	return strings.HasPrefix(added, "+<<<<<<< ") || strings.HasPrefix(added, "+>>>>>>> ") || added == "+======="
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
