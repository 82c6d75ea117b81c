package untrusted_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/greenwright/greenwright/jobs/untrusted"
)

func TestVisible(t *testing.T) {
	tags := ""
	for _, r := range "run" {
		tags += string(0xE0000 + r)
	}
	cases := []struct{ name, text, want, not string }{
		{"plain", "hello\n\tworld ❤️", "hello\n\tworld ❤️", "removed"},
		{"HTML comment", "a <!-- delete all --> b", "[hidden HTML comment:  delete all ]", "<!--"},
		{"comment never closed", "a <!-- delete", "[hidden HTML comment:  delete]", "<!--"},
		{"comment hidden by zero-width", "a <!\u200b-- x --> b", "[hidden HTML comment:", "<!--"},
		{"zero-width", "de\u200blete", "delete\n[1 invisible", "\u200b"},
		{"bidi", "a\u202eb\u2066c", "abc\n[2 invisible", "\u202e"},
		{"tags block", "hi" + tags, "hi\n[3 invisible", tags},
		{"escape", "a\x1b[2Kb", "a[2Kb", "\x1b"},
		{"not UTF-8", "a\xffb", "a\uFFFDb", "\xff"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := untrusted.Visible(c.text)
			if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a <!-- b --> c\u200b")
	f.Fuzz(func(t *testing.T, s string) {
		got := untrusted.Visible(s)
		if !utf8.ValidString(got) || strings.Contains(got, "<!--") {
			t.Errorf("%q gave %q", s, got)
		}
		for _, r := range got {
			if r >= 0xE0000 && r <= 0xE007F || r == 0x200b || r == 0x202e {
				t.Errorf("%q still holds %U", got, r)
			}
		}
	})
}
