package gitlab_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/vcs"
)

// TestPushThatWouldBeRefused: rules that GitLab tells are held against a push
// before any work begins (rules P7, G6).
func TestPushThatWouldBeRefused(t *testing.T) {
	const open, rules = `{"protected":false,"can_push":true}`, projectPath + "/push_rule"
	push := vcs.Push{Branch: "greenwright/1-fix", New: true, Message: "Fix: a thing\n\nGreenwright-Run: x\n", AuthorEmail: "9-helper@users.noreply.example.com"}
	cases := map[string]struct {
		branch, rules string
		change        func(*vcs.Push)
		want          string // empty: nothing speaks against it
	}{
		"no rules":                {open, "null", nil, ""},
		"protected":               {`{"protected":true,"can_push":false}`, "null", nil, "is protected"},
		"a reader":                {`{"protected":false,"can_push":false}`, "null", nil, "role Developer"},
		"branch name":             {open, `{"branch_name_regex":"^feature/"}`, nil, `branch names that match "^feature/"`},
		"branch that is there":    {open, `{"branch_name_regex":"^feature/"}`, func(p *vcs.Push) { p.New = false }, ""},
		"message":                 {open, `{"commit_message_regex":"JIRA-[0-9]+"}`, nil, "commit messages that match"},
		"message whose line fits": {open, `{"commit_message_regex":"^Fix: .+$"}`, nil, ""},
		"line that is denied":     {open, `{"commit_message_negative_regex":"^Greenwright-Run: x$"}`, nil, "no commit message that matches"},
		"message that fits":       {open, `{"commit_message_regex":"Fix"}`, nil, ""},
		"message that is denied":  {open, `{"commit_message_negative_regex":"thing"}`, nil, "no commit message that matches"},
		"author":                  {open, `{"author_email_regex":"@acme.com$"}`, nil, "authors' addresses"},
		"signatures":              {open, `{"reject_unsigned_commits":true}`, nil, "signed commits"},
		"sign-off":                {open, `{"reject_non_dco_commits":true}`, nil, "Signed-off-by"},
		"no expression":           {open, `{"branch_name_regex":"(","commit_message_negative_regex":"("}`, nil, ""},
	}
	for name, c := range cases {
		f := newFake(t, map[string]string{projectPath + "/repository/branches/greenwright%2F1-fix": c.branch, rules: c.rules, projectPath + "/members/all/9": `{"id":9,"state":"active","access_level":40}`})
		ask := push
		if c.change != nil {
			c.change(&ask)
		}
		got, err := f.forge(t).PushRefused(t.Context(), widgets(), ask)
		if err != nil || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	f := newFake(t, map[string]string{projectPath + "/repository/branches/greenwright%2F1-fix": open, rules: "500 {}", projectPath + "/members/all/9": `{"id":9,"state":"active","access_level":40}`})
	if _, err := f.forge(t).PushRefused(t.Context(), widgets(), push); !errors.Is(err, vcs.ErrUnavailable) {
		t.Errorf("rules not known: %v", err)
	}
	f = newFake(t, map[string]string{projectPath + "/repository/branches/greenwright%2F1-fix": open, rules: `{"reject_unsigned_commits":true}`, projectPath + "/members/all/9": `{"id":9,"state":"active","access_level":30}`})
	if got, err := f.forge(t).PushRefused(t.Context(), widgets(), push); err != nil || got != "" {
		t.Errorf("a developer, who is not told of the rules: %q, %v", got, err)
	}
}
