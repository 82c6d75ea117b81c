package command_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/journal"
)

var parser = command.Parser{Prefix: "/agent", Login: "greenwright"}

func TestCommands(t *testing.T) {
	fix := func(text string) []jobs.Command { return []jobs.Command{{Verb: jobs.VerbFix, Text: text}} }
	cases := []struct {
		name, text string
		want       []jobs.Command
	}{
		{"plain", "/agent fix", fix("")},
		{"with text", "/agent fix the login page", fix("the login page")},
		{"case of the verb", "/agent FIX it", fix("it")},
		{"trailing period", "/agent fix.", fix("")},
		{"period after a space", "/agent fix .", fix("")},
		{"three spaces", "   /agent fix", fix("")},
		{"CRLF", "hello\r\n\r\n/agent fix\r\nthe tests\r\n", fix("the tests")},
		{"second line of a paragraph", "Looks broken to me.\n/agent fix please", fix("please")},
		{"following lines belong to it", "/agent fix\n\nSee:\n\n```\nfoo\n```\n", fix("See:\n\n```\nfoo\n```")},
		{"alias", "/agent explain why", []jobs.Command{{Verb: jobs.VerbAsk, Text: "why"}}},
		{"two commands", "/agent stop\n/agent fix b", []jobs.Command{{Verb: jobs.VerbStop}, {Verb: jobs.VerbFix, Text: "b"}}},
		{"options", "/agent fix --model anthropic/x --base release --dry-run the bug", []jobs.Command{{Verb: jobs.VerbFix, Text: "the bug", Options: jobs.Options{Model: "anthropic/x", Base: "release", DryRun: true}}}},
		{"option with equals", "/agent fix --model=a/b", []jobs.Command{{Verb: jobs.VerbFix, Options: jobs.Options{Model: "a/b"}}}},
		{"long dash", "/agent fix —dry-run", []jobs.Command{{Verb: jobs.VerbFix, Options: jobs.Options{DryRun: true}}}},
		{"flag at the end", "/agent fix the bug --no-verify", []jobs.Command{{Verb: jobs.VerbFix, Text: "the bug", Options: jobs.Options{NoVerify: true}}}},
		{"dashes in the text", "/agent fix the --verbose flag", fix("the --verbose flag")},
		{"prefix alone", "/agent", []jobs.Command{{Verb: jobs.VerbHelp}}},
		{"mention with verb", "@greenwright status", []jobs.Command{{Verb: jobs.VerbStatus}}},
		{"mention in another case", "@Greenwright, fix it", fix("it")},
		{"mention as free text", "@greenwright the build is red since monday", fix("the build is red since monday")},
		{"mention as question", "@greenwright why is it red?", []jobs.Command{{Verb: jobs.VerbAsk, Text: "why is it red?"}}},
		{"setext heading", "/agent fix\n---\n", fix("---")},

		{"fenced code", "```\n/agent fix\n```", nil},
		{"tilde fence never closed", "~~~\n/agent fix", nil},
		{"indented code", "    /agent fix", nil},
		{"tab", "\t/agent fix", nil},
		{"inline code over lines", "see `foo\n/agent fix` there", nil},
		{"block quote", "> /agent fix", nil},
		{"lazy block quote", "> somebody said\n/agent fix", nil},
		{"HTML comment", "<!--\n/agent fix\n-->", nil},
		{"HTML comment in a paragraph", "text <!--\n/agent fix\n--> text", nil},
		{"link text", "[see\n/agent fix](https://example.com)", nil},
		{"reference link text", "[see\n/agent fix][1]\n\n[1]: https://example.com", nil},
		{"image text", "![a\n/agent fix](x.png)", nil},
		{"HTML block", "<div>\n/agent fix\n</div>", nil},
		{"in the middle of a line", "please /agent fix", nil},
		{"escaped", `\/agent fix`, nil},
		{"longer word", "/agents fix", nil},
		{"path", "/agent/fix", nil},
		{"list item", "- /agent fix", nil},
		{"other mention", "@greenwright-dev fix", nil},
		{"four spaces in a paragraph", "text\n    /agent fix", nil},
		{"nothing", "", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := parser.Parse(c.text)
			if diff := cmp.Diff(c.want, got.Commands); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			if len(got.Problems) > 0 {
				t.Errorf("problems: %+v", got.Problems)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	cases := []struct{ text, written, nearest string }{
		{"/agent fxi", "fxi", "fix"},
		{"/agent statsu please", "statsu", "status"},
		{"/agent xyzzy", "xyzzy", ""},
		{"/agent fix --modell x", "--modell", "--model"},
		{"/agent fix --model", "--model", ""},
		{"/agent fix --model --dry-run", "--model", ""},
	}
	for _, c := range cases {
		got := parser.Parse(c.text)
		if len(got.Commands) != 0 || len(got.Problems) != 1 || got.Problems[0].Written != c.written || got.Problems[0].Nearest != c.nearest {
			t.Errorf("%q: %+v", c.text, got)
		}
	}
}

func TestAtMostFive(t *testing.T) {
	got := parser.Parse(strings.Repeat("/agent status\n", 7))
	if len(got.Commands) != 5 || len(got.Problems) != 1 {
		t.Errorf("%d commands, problems %+v", len(got.Commands), got.Problems)
	}
}

func TestHelpIsNoCommand(t *testing.T) {
	help := parser.Help()
	if got := parser.Parse(help); !got.Empty() {
		t.Errorf("help parses as %+v", got)
	}
	if !strings.Contains(help, "/agent fix [text]") || strings.Contains(help, "rebase") {
		t.Errorf("help should list what this version does, and only that:\n%s", help)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"/agent fix", "> /agent fix", "```\n/agent", "@greenwright hi?", "/agent fix --model", "\xff/agent\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := parser.Parse(s)
		if len(got.Commands) > 5 {
			t.Errorf("%d commands", len(got.Commands))
		}
		for _, c := range got.Commands {
			if c.Verb == "" || !strings.Contains(strings.ToValidUTF8(s, "\uFFFD"), c.Text) && c.Text != strings.TrimSpace(c.Text) {
				t.Errorf("%q gave %+v", s, c)
			}
		}
		// Rule L4: what is made inert asks for nothing.
		if again := parser.Parse(journal.Inert(s)); !again.Empty() {
			t.Errorf("inert text %q parses as %+v", journal.Inert(s), again)
		}
		if again := parser.Parse(journal.Quote(s)); !again.Empty() {
			t.Errorf("quoted text %q parses as %+v", journal.Quote(s), again)
		}
	})
}
