package github_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/github"
)

// capture answers every write and keeps the body that was sent, so that what
// reaches GitHub is tested and not how it came about.
type capture struct{ body string }

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := `{"id":1,"login":"helper","type":"User"}`
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/comments"):
		answer = "[]"
	case r.Method == http.MethodPost:
		var in struct {
			Body string `json:"body"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		c.body, answer = in.Body, `{"id":5}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

func sent(t testing.TB, body string) string {
	t.Helper()
	var c capture
	f, err := github.New(github.Config{Token: "t"}, github.WithTransport(&c))
	if err != nil {
		t.Fatal(err)
	}
	th := vcs.Thread{Repo: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, Number: 1}
	if _, err := f.PutComment(context.Background(), th, vcs.StickyComment{Marker: "run:1", Body: body}); err != nil {
		t.Fatal(err)
	}
	return c.body
}

const (
	marker = "<!-- greenwright:run:1 -->\n"
	notice = "\n\n*This text was cut to GitHub's limit; the console has the whole.*"
	limit  = 65536
)

func TestCut(t *testing.T) {
	word := strings.Repeat("word ", 15) + "\n"
	cases := []struct {
		name, body string
		check      func(kept string) bool
	}{
		{"short", "hello", func(k string) bool { return k == "hello" }},
		{"exact", strings.Repeat("x", limit-len(marker)), func(k string) bool { return len(k) == limit-len(marker) }},
		{"paragraphs", strings.Repeat(word+"\n", 2000), func(k string) bool { return strings.HasSuffix(k, "word"+notice) }},
		{"fence", "```go\n" + strings.Repeat(word, 2000) + "```\n", func(k string) bool { return strings.HasSuffix(k, "\n```"+notice) }},
		{"longer fence", "````` go\n```\n" + strings.Repeat(word, 2000), func(k string) bool { return strings.HasSuffix(k, "\n`````"+notice) }},
		{"tilde fence", "~~~\n```\n" + strings.Repeat(word, 2000), func(k string) bool { return strings.HasSuffix(k, "\n~~~"+notice) }},
		{"closed fence", "```\nx\n```\n" + strings.Repeat(word, 2000), func(k string) bool { return strings.HasSuffix(k, "word"+notice) }},
		{"details", "<details><summary>x</summary>\n\n" + strings.Repeat(word, 2000), func(k string) bool { return strings.HasSuffix(k, "\n</details>"+notice) }},
		{"one line of emoji", strings.Repeat("🐛", 100_000), func(k string) bool { return strings.HasSuffix(k, "🐛"+notice) }},
		{"fence longer than the limit", strings.Repeat("`", 2*limit), func(k string) bool { return strings.Contains(k, "was cut") }},
		{"open comment", "<!-- " + strings.Repeat(word, 2000), func(k string) bool { return strings.HasSuffix(k, notice) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := sent(t, c.body)
			kept, found := strings.CutPrefix(got, marker)
			if !found {
				t.Fatalf("no marker at the beginning of %.60q", got)
			}
			if n := len(utf16.Encode([]rune(got))); n > limit {
				t.Errorf("%d characters", n)
			}
			if !c.check(kept) {
				t.Errorf("ends in %q", kept[max(len(kept)-120, 0):])
			}
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add("```\ncode", 3000)
	f.Add("~~~~ x\n\n<details>\n", 9000)
	f.Add("\xff\xfe🐛\r\n\r\n", 30000)
	f.Add("", 1)
	f.Fuzz(func(t *testing.T, part string, times int) {
		if times < 0 || times > 70_000 || len(part)*times > 1<<20 {
			return
		}
		got := sent(t, strings.Repeat(part, times))
		if !strings.HasPrefix(got, marker) || !utf8.ValidString(got) {
			t.Errorf("marker or encoding lost: %.80q", got)
		}
		if n := len(utf16.Encode([]rune(got))); n > limit {
			t.Errorf("%d characters", n)
		}
	})
}
