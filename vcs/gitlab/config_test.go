package gitlab_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlab"
)

func TestConfig(t *testing.T) {
	cases := map[string]struct {
		cfg  gitlab.Config
		good bool
		says string
	}{
		"gitlab.com":             {gitlab.Config{Token: "glpat-x"}, true, ""},
		"self-managed":           {gitlab.Config{Token: "t", BaseURL: "https://gitlab.example"}, true, ""},
		"below a path":           {gitlab.Config{Token: "t", BaseURL: "https://host.example/gitlab/"}, true, ""},
		"with the API's path":    {gitlab.Config{Token: "t", BaseURL: "https://host.example/gitlab/api/v4"}, true, ""},
		"http on this machine":   {gitlab.Config{Token: "t", BaseURL: "http://127.0.0.1:3000"}, true, ""},
		"http on [::1]":          {gitlab.Config{Token: "t", BaseURL: "http://[::1]:3000"}, true, ""},
		"http":                   {gitlab.Config{Token: "t", BaseURL: "http://gitlab.example"}, false, "https"},
		"http on a look-alike":   {gitlab.Config{Token: "t", BaseURL: "http://localhost.example"}, false, "https"},
		"no scheme":              {gitlab.Config{Token: "t", BaseURL: "gitlab.example"}, false, "base URL"},
		"password in the URL":    {gitlab.Config{Token: "t", BaseURL: "https://u:p@gitlab.example"}, false, "base URL"},
		"query in the URL":       {gitlab.Config{Token: "t", BaseURL: "https://gitlab.example?x=y"}, false, "base URL"},
		"escapes in the URL":     {gitlab.Config{Token: "t", BaseURL: "https://gitlab.example/a%2Fb"}, false, "base URL"},
		"no token":               {gitlab.Config{}, false, "no token"},
		"a job's token":          {gitlab.Config{Token: "glcbt-64_x"}, false, "CI job token"},
		"a deploy token":         {gitlab.Config{Token: "gldt-x"}, false, "deploy token"},
		"a runner's token":       {gitlab.Config{Token: "glrt-x"}, false, "runner"},
		"a token with a newline": {gitlab.Config{Token: "glpat-x\n"}, false, "blank"},
		"negative spacing":       {gitlab.Config{Token: "t", WriteSpacing: -1}, false, "spacing"},
		"a proxy":                {gitlab.Config{Token: "t", Proxy: "http://u:p@proxy.example:3128"}, true, ""},
		"no proxy's URL":         {gitlab.Config{Token: "t", Proxy: "proxy.example"}, false, "proxy"},
		"no certificate":         {gitlab.Config{Token: "t", RootCAs: []byte("x")}, false, "certificate"},
	}
	for name, c := range cases {
		_, err := gitlab.New(c.cfg)
		if (err == nil) != c.good || err != nil && (!errors.Is(err, vcs.ErrInvalid) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want good: %v, saying %q", name, err, c.good, c.says)
		}
		if err != nil && c.cfg.Token != "" && c.cfg.Token != "t" && strings.Contains(err.Error(), c.cfg.Token.Reveal()) {
			t.Errorf("%s: the error shows the token: %v", name, err)
		}
	}
}

func TestEveryFaultIsNamed(t *testing.T) {
	err := gitlab.Config{BaseURL: "ftp://x", Proxy: "x", WriteSpacing: -1}.Validate()
	for _, want := range []string{"base URL", "proxy", "token", "spacing"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name the %s", err, want)
		}
	}
}

func TestRemote(t *testing.T) {
	nested := vcs.RepoRef{Forge: vcs.GitLab, Owner: "acme/team.x/sub", Name: "widgets.js"}
	for base, want := range map[string]string{
		"":                                   "https://gitlab.com/acme/team.x/sub/widgets.js.git",
		"https://gitlab.com/":                "https://gitlab.com/acme/team.x/sub/widgets.js.git",
		"https://host.example/gitlab":        "https://host.example/gitlab/acme/team.x/sub/widgets.js.git",
		"https://host.example/gitlab/api/v4": "https://host.example/gitlab/acme/team.x/sub/widgets.js.git",
		"https://host.example:8443/api/v4/":  "https://host.example:8443/acme/team.x/sub/widgets.js.git",
	} {
		f, err := gitlab.New(gitlab.Config{BaseURL: base, Token: "t", Proxy: "http://proxy.example:3128"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Remote(t.Context(), nested, vcs.Write)
		if err != nil || r.URL != want || r.Username != "oauth2" || r.Password != "t" || r.Proxy != "http://proxy.example:3128" {
			t.Errorf("%q: remote %+v, %v; want %s", base, r, err, want)
		}
	}
}

// TestHostileNames: nothing that could leave its place in a path is asked for.
func TestHostileNames(t *testing.T) {
	asked := 0
	f, err := gitlab.New(gitlab.Config{Token: "t"}, gitlab.WithTransport(roundTrip(func(*http.Request) (*http.Response, error) {
		asked++
		return nil, errors.New("asked")
	})))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	sha := strings.Repeat("a", 40)
	for _, bad := range []vcs.RepoRef{
		{Forge: vcs.GitLab, Owner: "acme", Name: ".."}, {Forge: vcs.GitLab, Owner: "../x", Name: "y"}, {Forge: vcs.GitLab, Owner: "acme//x", Name: "y"},
		{Forge: vcs.GitLab, Owner: "acme", Name: "a?b"}, {Forge: vcs.GitLab, Owner: "acme", Name: "a%2fb"}, {Forge: vcs.GitLab, Owner: "acme", Name: "x.git"},
		{Forge: vcs.GitLab, Name: "y"}, {Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, {},
	} {
		th := vcs.Thread{Repo: bad, Number: 1, PullRequest: true}
		ways := map[string]error{}
		_, ways["repo"] = f.Repo(ctx, bad)
		_, ways["remote"] = f.Remote(ctx, bad, vcs.Read)
		_, ways["permission"] = f.Permission(ctx, bad, vcs.Actor{ID: 1, Login: "ada"})
		_, ways["issue"] = f.Issue(ctx, th)
		_, ways["comment"] = f.PutComment(ctx, th, vcs.StickyComment{Marker: "m", Body: "x"})
		ways["react"] = f.React(ctx, th, vcs.CommentRef{Kind: vcs.ThreadBody}, vcs.ReactionEyes)
		_, ways["pull"] = f.PullRequest(ctx, th)
		_, ways["open"] = f.OpenPullRequest(ctx, vcs.NewPullRequest{Repo: bad, Head: "a", Base: "b"})
		ways["edit"] = f.EditPullRequest(ctx, th, "x", "")
		_, ways["review"] = f.Review(ctx, th, 1)
		_, ways["reply"] = f.ReplyToRemark(ctx, th, 1, vcs.StickyComment{Marker: "m", Body: "x"})
		ways["request"] = f.RequestReview(ctx, th, vcs.Actor{ID: 1})
		_, ways["checks"] = f.Checks(ctx, bad, sha)
		_, ways["job"] = f.CheckJob(ctx, bad, vcs.Check{ID: 1, App: "gitlab-ci"})
		_, ways["log"] = f.CheckLog(ctx, bad, vcs.Check{ID: 1, App: "gitlab-ci"})
		_, _, ways["protected"] = f.ProtectedBranch(ctx, bad, "main")
		_, ways["push rules"] = f.PushRules(ctx, bad)
		_, ways["hooks"] = f.Hooks(ctx, gitlab.Scope{Project: bad})
		_, ways["group hooks"] = f.Hooks(ctx, gitlab.Scope{Project: bad, Group: "a/../b"})
		_, ways["role"] = f.AccessLevel(ctx, gitlab.Scope{Project: bad})
		for name, err := range ways {
			if !errors.Is(err, vcs.ErrInvalid) {
				t.Errorf("%s of %q: %v, want ErrInvalid", name, bad.FullName(), err)
			}
		}
	}
	for what, err := range map[string]error{
		"a merge request's method on an issue": second(f.PullRequest(ctx, issue(1))), "number 0": second(f.Issue(ctx, issue(0))),
		"an issue's review": second(f.Review(ctx, issue(1), 1)), "no object's name": second(f.Checks(ctx, widgets(), "main")),
		"a branch that is an option": second(f.OpenPullRequest(ctx, vcs.NewPullRequest{Repo: widgets(), Head: "--x", Base: "main"})),
		"a marker that ends itself":  second(f.PutComment(ctx, issue(1), vcs.StickyComment{Marker: "a --> b", Body: "x"})),
		"nobody":                     f.RequestReview(ctx, merge(1), vcs.Actor{Login: "ada"}),
	} {
		if !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	if asked != 0 {
		t.Errorf("GitLab was asked %d times", asked)
	}
}

func second[T any](_ T, err error) error { return err }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
