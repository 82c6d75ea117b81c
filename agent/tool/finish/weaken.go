package finish

import (
	"fmt"
	"path"
	"strings"
)

// weakened lists the signs that a change makes a check say less than before.
func (c change) weakened() []string {
	var findings []string
	if isTest(c.name) {
		if c.deleted {
			findings = append(findings, c.name+" is a test and is deleted")
		}
		if gone, now := count(c.removed, assertions()), count(c.added, assertions()); gone > now && !c.deleted {
			findings = append(findings, fmt.Sprintf("%s has %d assertions fewer than before", c.name, gone-now))
		}
		if mark := firstMark(c.added, c.removed, skips()); mark != "" {
			findings = append(findings, fmt.Sprintf("%s skips a test (%s)", c.name, mark))
		}
	}
	if mark := firstMark(c.added, c.removed, silencers()); mark != "" {
		findings = append(findings, fmt.Sprintf("%s switches a rule off (%s)", c.name, mark))
	}
	return findings
}

// isTest knows tests by the names that the languages' tools look for.
func isTest(name string) bool {
	base := strings.ToLower(path.Base(name))
	stem := strings.TrimSuffix(base, path.Ext(base))
	switch {
	case strings.HasSuffix(stem, "_test"), strings.HasPrefix(stem, "test_"), strings.HasSuffix(stem, ".test"),
		strings.HasSuffix(stem, ".spec"), strings.HasSuffix(stem, "_spec"), strings.HasSuffix(stem, "test") && path.Ext(base) == ".java":
		return true
	}
	for dir := range strings.SplitSeq(strings.ToLower(path.Dir(name)), "/") {
		if dir == "test" || dir == "tests" || dir == "__tests__" || dir == "spec" {
			return true
		}
	}
	return false
}

func assertions() []string {
	return []string{"assert", "expect(", "expect.", "t.error", "t.fatal", "require.", "should", "cmp.diff", "panics", "raises("}
}

func skips() []string {
	return []string{"t.skip", ".skip(", "@skip", "pytest.mark.skip", "pytest.mark.xfail", "unittest.skip", "xit(", "xdescribe(", "it.todo(",
		"@ignore", "@disabled", "#[ignore", "//go:build ignore", "-run=^$", "if: false"}
}

func silencers() []string {
	return []string{"//nolint", "# noqa", "#noqa", "# type: ignore", "eslint-disable", "@ts-ignore", "@ts-nocheck", "@ts-expect-error",
		"#[allow(", "@suppresswarnings", "# rubocop:disable", "# pylint: disable", "#pragma warning disable", "# shellcheck disable", "continue-on-error: true", "|| true"}
}

// count is how many lines hold one of the marks.
func count(lines, marks []string) int {
	n := 0
	for _, l := range lines {
		if holds(l, marks) != "" {
			n++
		}
	}
	return n
}

// firstMark is the first mark that the added lines hold more often than the
// removed ones: a line that was only moved or reformatted is no sign.
func firstMark(added, removed, marks []string) string {
	for _, m := range marks {
		if one := []string{m}; count(added, one) > count(removed, one) {
			return m
		}
	}
	return ""
}

func holds(line string, marks []string) string {
	line = strings.ToLower(line)
	for _, m := range marks {
		if strings.Contains(line, m) {
			return m
		}
	}
	return ""
}
