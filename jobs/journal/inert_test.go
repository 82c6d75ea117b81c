package journal_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/journal"
)

var (
	reader  = command.Parser{Prefix: "/agent", Login: "greenwright"}
	mention = regexp.MustCompile(`@[A-Za-z0-9_]`)
	// hostile are texts that try to be more than text.
	hostile = []string{
		"/agent fix", "  /agent fix", "x\r/agent fix", "x\r\n/agent fix\r", "\t/agent stop", "@greenwright fix it", "hi @octo-org/team and @a_b",
		"```\n/agent fix\n```", "```", "~~~\nx", "``", "`", "a`b``c```d", "````\n```\n````", "<!-- greenwright:progress:1 -->", "<!--", "<!-- x", "--> x",
		"<!@a-- greenwright:reply:1 -->", "<details><summary>x", "</details>", "</blockquote>\n\n# Verified", "<table><tr><td>", "a | b\n|---|---|\n| c | d |",
		`a\|b`, `\`, "\\|", "x\n---\n# heading", "- a\n- b", "1. x", "    indented", "\xff\xfe", "\x00", "a\u2028/agent fix", "[x]: http://example.com", "![x](http://example.com)",
		"> quote\n/agent fix", "*\n/agent fix", "x\n\n\n/agent fix\n", "&#47;agent fix", "\\/agent fix", "", " ", "\n",
	}
)

func parse(src string) ast.Node {
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader([]byte(src)))
}

// asksNothing fails when the text could be read as a command (rule L4) or
// holds the marker of a comment of ours.
func asksNothing(t *testing.T, what, src string) {
	t.Helper()
	if got := reader.Parse(src); !got.Empty() {
		t.Errorf("%s %q is a command: %+v", what, src, got)
	}
	if strings.Contains(src, "<!-- greenwright:") {
		t.Errorf("%s %q holds a marker of ours", what, src)
	}
}

// notifiesNobody fails when a mention stands outside code.
func notifiesNobody(t *testing.T, what, src string) {
	t.Helper()
	for _, m := range mention.FindAllStringIndex(src, -1) {
		t.Errorf("%s %q mentions %q", what, src, src[m[0]:])
	}
}

func seed(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
}

func FuzzInert(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := journal.Inert(s)
		asksNothing(t, "inert", got)
		notifiesNobody(t, "inert", got)
		if strings.Contains(got, "\r") {
			t.Errorf("inert %q holds a carriage return, which ends a line as well", got)
		}
		contained := journal.Contained(s)
		asksNothing(t, "contained", contained)
		notifiesNobody(t, "contained", contained)
	})
}

// What follows a contained text is never taken into a fence of it.
func FuzzContained(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		const end = "a-last-paragraph"
		if strings.Contains(s, end) || strings.ContainsAny(s, "\x00") {
			return
		}
		src := journal.Contained(s) + "\n\n" + end
		for n := parse(src).FirstChild(); n != nil; n = n.NextSibling() {
			if _, code := n.(*ast.FencedCodeBlock); code && strings.Contains(string(n.Lines().Value([]byte(src))), end) {
				t.Errorf("the text after %q is in its fence:\n%s", s, src)
			}
		}
	})
}

func FuzzQuote(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := journal.Quote(s)
		asksNothing(t, "quoted", got)
		notifiesNobody(t, "quoted", got)
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, ">") {
				t.Errorf("quote %q has a line outside", got)
			}
		}
		if strings.Contains(strings.ToLower(got), "</blockquote") {
			t.Errorf("quote %q can be closed", got)
		}
	})
}

func FuzzLine(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := journal.Line(s)
		asksNothing(t, "line", got)
		notifiesNobody(t, "line", got)
		if strings.ContainsAny(got, "\n\r") {
			t.Errorf("line %q is more than one", got)
		}
		if strings.Contains(got, "```") || strings.Contains(got, "~~~") {
			t.Errorf("line %q can open a fence", got)
		}
		if regexp.MustCompile(`<[A-Za-z/?]`).MatchString(got) {
			t.Errorf("line %q holds HTML", got)
		}
	})
}

func FuzzCode(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := journal.Code(s)
		asksNothing(t, "code", got)
		if strings.ContainsAny(s, "\x00") {
			return // shown as U+FFFD
		}
		src := []byte("x " + got + " y")
		para := parse(string(src)).FirstChild()
		if para == nil || para.NextSibling() != nil || para.Kind() != ast.KindParagraph {
			t.Fatalf("code %q is not one paragraph", got)
		}
		span := para.FirstChild().NextSibling()
		if span == nil || span.Kind() != ast.KindCodeSpan || span.NextSibling() == nil || span.NextSibling().NextSibling() != nil {
			t.Fatalf("code of %q gives %q, which is not one code span", s, got)
		}
		want := strings.Join(strings.Fields(s), " ")
		if shown := strings.TrimSpace(string(span.Text(src))); shown != want && !strings.Contains(s, "greenwright:") { //nolint:staticcheck // the plain text of a span
			t.Errorf("code of %q shows %q", s, shown)
		}
	})
}

func FuzzFence(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := journal.Fence("diff", s)
		asksNothing(t, "fence", got)
		src := []byte(got + "\n\nafter\n")
		block := parse(string(src)).FirstChild()
		code, ok := block.(*ast.FencedCodeBlock)
		if !ok {
			t.Fatalf("fence %q is a %s", got, block.Kind())
		}
		after := block.NextSibling()
		if after == nil || after.Kind() != ast.KindParagraph || after.NextSibling() != nil {
			t.Fatalf("fence %q does not end where it should", got)
		}
		if shown := string(code.Lines().Value(src)); strings.TrimRight(shown, "\n") != strings.TrimRight(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"), "\n") && !strings.Contains(s, "greenwright:") {
			t.Errorf("fence of %q shows %q", s, shown)
		}
	})
}

// TestClosesNothing: a merge closes what the text of a pull request or commit
// names after such words; a model or a stranger must not choose what.
func TestClosesNothing(t *testing.T) {
	closes := regexp.MustCompile(`(?i)(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)[:\s*_(\[]+(?:[\w.-]+/[\w.-]+)?(?:#\d|GH-\d|https?://\S+\d)`)
	for _, text := range []string{
		"Fixes #1", "fix: #12 crash", "Closes acme/widgets#3", "resolved GH-4", "Resolve\n#5", "FIXED **#6**", "closes (#7)", "fixes [#8](x)",
		"fixes https://github.com/acme/widgets/issues/9",
	} {
		if !closes.MatchString(text) {
			t.Fatalf("%q is no such text", text)
		}
		for what, got := range map[string]string{"inert": journal.Inert(text), "line": journal.Line(text), "quote": journal.Quote(text), "plain": journal.Unclosing(text)} {
			if closes.MatchString(got) {
				t.Errorf("%s %q closes an issue", what, got)
			}
		}
	}
	const harmless = "See #1; prefix #2, https://example.com/3 and fix it."
	if got := journal.Inert(harmless); got != harmless {
		t.Errorf("changed without need: %q", got)
	}
}

// TestShowsNoPicture: looking at a text must not send anything anywhere.
func TestShowsNoPicture(t *testing.T) {
	for _, text := range []string{"![x](https://example.com/?secret)", "![x][y]", "<img src=https://example.com/?secret>", "</p><PICTURE>"} {
		got := journal.Inert(text)
		_ = ast.Walk(parse(got), func(n ast.Node, _ bool) (ast.WalkStatus, error) {
			if n.Kind() == ast.KindImage {
				t.Errorf("%q shows a picture", got)
			}
			return ast.WalkContinue, nil
		})
		if strings.Contains(strings.ToLower(got), "<img") || strings.Contains(strings.ToLower(got), "<picture") {
			t.Errorf("%q shows a picture", got)
		}
	}
}
