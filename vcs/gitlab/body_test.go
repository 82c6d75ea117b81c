package gitlab_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlab"
)

// capture answers every request and keeps what was written, so that what
// reaches GitLab is tested and not how it came about.
type capture struct{ body, title, description string }

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := `{"id":1,"iid":3,"username":"helper","title":"Old","state":"opened"}`
	switch {
	case r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, "/notes") || strings.HasSuffix(r.URL.Path, "/award_emoji")):
		answer = "[]"
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/discussions"):
		answer = `[{"id":"d1","notes":[{"id":7,"type":"DiffNote","author":{"id":2,"username":"bob"}}]}]`
	case r.Method != http.MethodGet:
		var in struct{ Body, Title, Description string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		c.body, c.title, c.description = in.Body, in.Title, in.Description
		answer = `{"id":5}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

func widgets() vcs.RepoRef { return vcs.RepoRef{Forge: vcs.GitLab, Owner: "acme", Name: "widgets"} }

func issue(n int) vcs.Thread { return vcs.Thread{Repo: widgets(), Number: n} }

func merge(n int) vcs.Thread { return vcs.Thread{Repo: widgets(), Number: n, PullRequest: true} }

func capturing(t testing.TB) (*gitlab.Forge, *capture) {
	t.Helper()
	c := new(capture)
	f, err := gitlab.New(gitlab.Config{Token: "t"}, gitlab.WithTransport(c))
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

func sent(t testing.TB, body string) string {
	t.Helper()
	f, c := capturing(t)
	if _, err := f.PutComment(context.Background(), issue(1), vcs.StickyComment{Marker: "run:1", Body: body}); err != nil {
		t.Fatal(err)
	}
	return c.body
}

const (
	marker = "<!-- greenwright:run:1 -->\n"
	notice = "\n\n*This text was cut to GitLab's limit; the console has the whole.*"
	limit  = 1_000_000
)

func TestQuickActionsAreDisarmed(t *testing.T) {
	cases := map[string]struct{ body, want string }{
		"first line":                {"/close", `\/close`},
		"later line":                {"Done.\n/merge\n", "Done.\n\\/merge\n"},
		"blanks before it":          {"  /close\n\t/merge", "  \\/close\n\t\\/merge"},
		"CRLF":                      {"a\r\n/close\r\nb", "a\n\\/close\nb"},
		"a lone carriage return":    {"a\r/close", "a\n\\/close"},
		"a carriage return first":   {"a\n\r/close", "a\n\n\\/close"},
		"a zero-width space first":  {"\u200b/close", "\u200b\\/close"},
		"a byte order mark first":   {"\ufeff/close", "\ufeff\\/close"},
		"a form feed first":         {"\f/close", "\f\\/close"},
		"a zero byte first":         {"\x00/close", "\uFFFD/close"},
		"in a fence":                {"```\n/usr/bin/env\n```\n/close", "```\n /usr/bin/env\n```\n\\/close"},
		"in a fence of tildes":      {"~~~\n/close\n~~~", "~~~\n /close\n~~~"},
		"in a long fence":           {"````\n```\n/close\n````", "````\n```\n /close\n````"},
		"in a fence never closed":   {"```\n/close", "```\n /close"},
		"after a fence in a list":   {"- x\n  ```\n  y\n  ```\n/close", "- x\n  ```\n  y\n  ```\n\\/close"},
		"in a comment":              {"<!--\n/close\n-->", "<!--\n\\/close\n-->"},
		"in HTML":                   {"<div>\n/close\n</div>", "<div>\n\\/close\n</div>"},
		"in a quotation":            {"> /close", "> /close"},
		"a path within a line":      {"see /etc/hosts", "see /etc/hosts"},
		"two slashes":               {"//x", `\//x`},
		"@all":                      {"@all: look", "@<!-- -->all: look"},
		"@here, twice, any case":    {"@HERE @here", "@<!-- -->HERE @<!-- -->here"},
		"at the end":                {"thanks @all", "thanks @<!-- -->all"},
		"after a letter with marks": {"é@all", "é@<!-- -->all"},
		"as entities":               {"&#64;all &#x40;all &commat;all @&#97;ll", "@<!-- -->all @<!-- -->all @<!-- -->all @<!-- -->&#97;ll"},
		"somebody else":             {"@allison @all-hands @ada", "@allison @all-hands @ada"},
		"in code":                   {"```\n@all\n```", "```\n@\u200ball\n```"},
		"after a list's code":       {"- a\n  ```\n  code\n@all please\n", "- a\n  ```\n  code\n@\u200ball please\n"},
	}
	for name, c := range cases {
		got, found := strings.CutPrefix(sent(t, c.body), marker)
		if !found || got != c.want {
			t.Errorf("%s: %q became %q, want %q", name, c.body, got, c.want)
		}
	}
}

// TestEveryWayOutIsGuarded: each method that writes a text has the gate.
func TestEveryWayOutIsGuarded(t *testing.T) {
	ctx := context.Background()
	const hostile = "x\n/approve\n/merge\n@all"
	s := vcs.StickyComment{Marker: "m", Body: hostile}
	ways := map[string]func(f *gitlab.Forge) error{
		"issue":         func(f *gitlab.Forge) error { _, err := f.PutComment(ctx, issue(1), s); return err },
		"merge request": func(f *gitlab.Forge) error { _, err := f.PutComment(ctx, merge(1), s); return err },
		"reply":         func(f *gitlab.Forge) error { _, err := f.ReplyToRemark(ctx, merge(1), 7, s); return err },
		"edit":          func(f *gitlab.Forge) error { return f.EditPullRequest(ctx, merge(1), "@all", hostile) },
	}
	for name, way := range ways {
		f, c := capturing(t)
		if err := way(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := c.body + c.description
		if !strings.Contains(text, `\/merge`) || strings.Contains(text, "\n/") || strings.Contains(text+c.title, "@all") {
			t.Errorf("%s sent %q, title %q", name, text, c.title)
		}
	}
}

// executed is what any version of GitLab could take for a quick action: they
// delete carriage returns and want the slash at a line's first column, whatever
// stands around it.
var executed = regexp.MustCompile(`(?m)^/`)

func FuzzQuickActions(f *testing.F) {
	for _, s := range []string{
		"/close", "a\n/merge", "```\n/x\n```", "~~~\n/x", "\r/close", "\n\r/close", "<!--\n/x", " \t/x", "`\n/x\n`", ">>>\n/x\n>>>", "\x00/x", "\u2028/x", "@all", "&#64;here",
		"```go\n/x\n``` \n/close", "   ```\n/x\n    ```\n/y", "\xff\n/x",
	} {
		f.Add(s, 1)
	}
	f.Add("/", 60_000)
	f.Add("x\n/close\n", 200_000)
	f.Fuzz(func(t *testing.T, part string, times int) {
		if times < 1 || times > 300_000 || len(part)*times > 3<<20 {
			return
		}
		got := sent(t, strings.Repeat(part, times))
		if !strings.HasPrefix(got, marker) || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\x00") {
			t.Errorf("marker or encoding lost: %.80q", got)
		}
		if n := len(utf16.Encode([]rune(got))); n > limit {
			t.Errorf("%d characters", n)
		}
		if at := executed.FindStringIndex(got); at != nil {
			t.Errorf("a line begins with a slash: %.60q", got[at[0]:])
		}
		checkOutsideFences(t, got)
	})
}

// checkOutsideFences looks at what follows blanks as well.
func checkOutsideFences(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "```") || strings.Contains(text, "~~~") {
		return
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "/") {
			t.Errorf("a line begins with blanks and a slash: %.60q", line)
		}
	}
	if regexp.MustCompile(`(?i)@(all|here)([^0-9a-z_-]|$)`).MatchString(text) {
		t.Errorf("everybody is called: %.200q", text)
	}
}

func TestCut(t *testing.T) {
	word := strings.Repeat("word ", 15) + "\n"
	cases := map[string]struct {
		body  string
		check func(kept string) bool
	}{
		"short":             {"hello", func(k string) bool { return k == "hello" }},
		"exact":             {strings.Repeat("x", limit-len(marker)), func(k string) bool { return len(k) == limit-len(marker) }},
		"one more":          {strings.Repeat("x", limit-len(marker)+1), func(k string) bool { return strings.HasSuffix(k, "x"+notice) }},
		"paragraphs":        {strings.Repeat(word+"\n", 20000), func(k string) bool { return strings.HasSuffix(k, "word"+notice) }},
		"fence":             {"```go\n" + strings.Repeat(word, 20000) + "```\n", func(k string) bool { return strings.HasSuffix(k, "\n```"+notice) }},
		"details":           {"<details><summary>x</summary>\n\n" + strings.Repeat(word, 20000), func(k string) bool { return strings.HasSuffix(k, "\n</details>"+notice) }},
		"one line of emoji": {strings.Repeat("🐛", 600_000), func(k string) bool { return strings.HasSuffix(k, "🐛"+notice) }},
		"made longer":       {strings.Repeat("/x\n", 333_000), func(k string) bool { return strings.HasSuffix(k, `\/x`+notice) }},
	}
	for name, c := range cases {
		got := sent(t, c.body)
		kept, found := strings.CutPrefix(got, marker)
		if n := len(utf16.Encode([]rune(got))); !found || n > limit {
			t.Errorf("%s: %d characters, beginning %.40q", name, n, got)
		}
		if !c.check(kept) {
			t.Errorf("%s: ends in %q", name, kept[max(len(kept)-120, 0):])
		}
	}
}

func TestTitles(t *testing.T) {
	long := strings.Repeat("word ", 100)
	cases := []struct {
		title string
		check func(sent string) bool
	}{
		{"Fix  it\nnow", func(s string) bool { return s == "Fix it now" }},
		{"Draft: Fix it", func(s string) bool { return s == "Fix it" }},
		{"[WIP] draft: (Draft) Fix it", func(s string) bool { return s == "Fix it" }},
		{"Drafting a plan", func(s string) bool { return s == "Drafting a plan" }},
		{"Call @all", func(s string) bool { return s == "Call @ all" }},
		{long, func(s string) bool { return len([]rune(s)) <= 255 && strings.HasSuffix(s, "word…") }},
		{strings.Repeat("🐛", 300), func(s string) bool { return len(utf16.Encode([]rune(s))) <= 255 }},
	}
	for _, c := range cases {
		f, got := capturing(t)
		if err := f.EditPullRequest(t.Context(), merge(3), c.title, ""); err != nil {
			t.Fatal(err)
		}
		if !c.check(got.title) {
			t.Errorf("%.60q became %q", c.title, got.title)
		}
	}
}
