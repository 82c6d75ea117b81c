package publish

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/vcs/git"
)

// The size of a change that is published without a person.
const (
	maxFiles = 1000
	maxLines = 50_000
)

// secretPatterns are credentials whose form gives them away. The names are
// what a person is told; the text found is never shown.
var secretPatterns = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"a GitHub token", regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{60,}\b`)},
	{"a GitLab token", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}\b`)},
	{"an Anthropic key", regexp.MustCompile(`\bsk-ant-[A-Za-z0-9_-]{24,}\b`)},
	{"an OpenAI key", regexp.MustCompile(`\bsk-(?:proj-)?[A-Za-z0-9_-]{32,}\b`)},
	{"an AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{"a Slack token", regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9-]{20,}\b`)},
	{"a private key", regexp.MustCompile(`-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----`)},
}

// Fault is why a change may not be published as it is.
type Fault struct {
	Text string
	// Approvable says that a person may let it pass.
	Approvable bool
}

// Inspect gives the faults of a change; diff is its unified diff. None means
// that it may pass.
func Inspect(rules policy.Config, set *git.ChangeSet, diff string) []Fault {
	var faults []Fault
	lines := 0
	for _, f := range set.Files {
		lines += f.Added + f.Deleted
		if rules.Protected(f.Path) {
			faults = append(faults, Fault{Text: fmt.Sprintf("%q is a protected path", f.Path), Approvable: true})
		}
	}
	if len(set.Files) > maxFiles || lines > maxLines {
		faults = append(faults, Fault{Text: fmt.Sprintf("the change has %d files and %d lines; the limits are %d and %d", len(set.Files), lines, maxFiles, maxLines)})
	}
	return append(faults, secrets(diff)...)
}

// secrets looks at added lines only: what was there before is not ours to
// refuse. A diff that was cut is refused: what is not shown was not looked at.
func secrets(diff string) []Fault {
	var faults []Fault
	add := func(text string) {
		if f := (Fault{Text: text}); !slices.Contains(faults, f) {
			faults = append(faults, f)
		}
	}
	var at position
	for line := range strings.Lines(diff) {
		added, ok := at.read(line)
		if !ok {
			if strings.HasPrefix(line, cutMark) {
				add("the change is too large: it cannot be looked through for secrets")
			}
			continue
		}
		for _, s := range secretPatterns {
			if s.pattern.MatchString(added) {
				add(fmt.Sprintf("%q would hold what looks like %s", at.path, s.name))
			}
		}
	}
	return faults
}
