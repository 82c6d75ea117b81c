package gitlab_test

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlab"
)

// TestMovedProject: GitLab redirects what reads an old path, and refuses what
// writes to one.
func TestMovedProject(t *testing.T) {
	f := newFake(t, map[string]string{
		"GET projects/81":                       `{"id":81,"path_with_namespace":"acme/new/widgets","visibility":"private"}`,
		"GET projects/81/issues/1":              `{"title":"A","state":"opened"}`,
		"GET projects/81/issues/1/notes":        `[]`,
		"POST projects/81/issues/1/notes":       `201 {"id":5,"body":"x","author":{"id":9,"username":"helper"}}`,
		"POST projects/81/issues/1/award_emoji": `201 {}`,
	})
	moved := func(path string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, f.URL+"/api/v4/projects/81"+path, http.StatusFound)
		}
	}
	for _, path := range []string{"", "/issues/1", "/issues/1/notes"} {
		f.handle("GET projects/acme%2Fwidgets"+path, moved(path))
	}
	g := f.forge(t)
	ctx := t.Context()
	r, err := g.Repo(ctx, widgets())
	if err != nil || r.FullName() != "acme/new/widgets" || r.Owner != "acme/new" || r.ID != 81 {
		t.Errorf("repository is %+v, %v", r, err)
	}
	if i, err := g.Issue(ctx, issue(1)); err != nil || i.Title != "A" || i.Thread != issue(1) {
		t.Errorf("issue is %+v, %v", i, err)
	}
	if _, err := g.PutComment(ctx, issue(1), vcs.StickyComment{Marker: "m", Body: "x"}); err != nil {
		t.Error(err)
	}
	before := f.asked("GET projects/acme%2Fwidgets")
	if err := g.React(ctx, issue(1), vcs.CommentRef{Kind: vcs.ThreadBody}, vcs.ReactionEyes); err != nil {
		t.Error(err)
	}
	if n := f.asked("GET projects/acme%2Fwidgets"); n != before {
		t.Errorf("the project's id was asked for again")
	}
	if n := f.asked("POST projects/acme"); n != 0 {
		t.Errorf("%d writes to the old path", n)
	}
}

// TestProjectIDIsForgotten: a remembered id that is gone is looked up again.
func TestProjectIDIsForgotten(t *testing.T) {
	f := newFake(t, map[string]string{"POST projects/81/issues/1/award_emoji": "201 {}", "POST projects/82/issues/1/award_emoji": "201 {}"})
	now := time.Now()
	g := f.forge(t, gitlab.WithClock(func() time.Time { return now }))
	react := func() error {
		return g.React(t.Context(), issue(1), vcs.CommentRef{Kind: vcs.ThreadBody}, vcs.ReactionEyes)
	}
	if err := react(); err != nil {
		t.Fatal(err)
	}
	f.on("POST projects/81/issues/1/award_emoji", `404 {"message":"404 Project Not Found"}`)
	f.on("GET projects/acme%2Fwidgets", `{"id":82,"path_with_namespace":"acme/widgets"}`)
	if err := react(); err != nil || f.asked("POST projects/82/") != 1 {
		t.Errorf("after the project was made anew: %v, %d writes", err, f.asked("POST projects/82/"))
	}
	now = now.Add(time.Hour)
	before := f.asked("GET projects/acme%2Fwidgets")
	if err := react(); err != nil || f.asked("GET projects/acme%2Fwidgets") != before+1 {
		t.Errorf("an id was believed for an hour: %v", err)
	}
}

// TestCredentialStaysAtHome: no redirect takes the token to another host, port
// or application.
func TestCredentialStaysAtHome(t *testing.T) {
	leaked := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked <- fmt.Sprint(r.Header)
	}))
	defer other.Close()
	f := newFake(t, nil)
	g := f.forge(t)
	for what, at := range map[string]string{
		"another host": other.URL + "/api/v4/projects/81", "another application": f.URL + "/users/sign_in",
		"another scheme": "https" + strings.TrimPrefix(f.URL, "http") + "/api/v4/projects/81",
	} {
		f.handle("GET projects/acme%2Fwidgets", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, at, http.StatusFound) })
		if _, err := g.Repo(t.Context(), widgets()); !errors.Is(err, vcs.ErrUnavailable) {
			t.Errorf("redirect to %s: %v, want ErrUnavailable", what, err)
		}
	}
	f.on("GET projects/acme%2Fwidgets", `{"id":81}`)
	f.handle("POST projects/81/issues/1/award_emoji", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, f.URL+"/api/v4/projects/82", http.StatusFound)
	})
	if err := g.React(t.Context(), issue(1), vcs.CommentRef{Kind: vcs.ThreadBody}, vcs.ReactionEyes); !errors.Is(err, vcs.ErrUnavailable) {
		t.Errorf("a write that is redirected: %v, want ErrUnavailable", err)
	}
	f.handle("GET projects/acme%2Fwidgets/jobs/5/trace", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/trace", http.StatusFound)
	})
	if _, err := g.CheckLog(t.Context(), widgets(), vcs.Check{ID: 5, App: "gitlab-ci"}); err == nil {
		t.Error("a log was fetched from another host")
	}
	select {
	case h := <-leaked:
		t.Errorf("the other host was asked with %s", h)
	default:
	}
	if len(f.tokens) != 1 || !f.tokens["Bearer glpat-secret"] {
		t.Errorf("credentials sent: %v", f.tokens)
	}
}

// TestSubPathWithCustomCA: a self-managed GitLab below a path, with a
// certificate that no system knows.
func TestSubPathWithCustomCA(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/gitlab/api/v4/user" {
			reply(w, "404 {}")
			return
		}
		reply(w, `{"id":9,"username":"helper","bot":true}`)
	}))
	srv.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	srv.StartTLS()
	defer srv.Close()
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	g, err := gitlab.New(gitlab.Config{BaseURL: srv.URL + "/gitlab/", Token: "t", RootCAs: cert})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := g.Self(t.Context()); err != nil || a != (vcs.Actor{ID: 9, Login: "helper", Kind: vcs.KindBot}) {
		t.Errorf("self is %+v, %v", a, err)
	}
	r, err := g.Remote(t.Context(), widgets(), vcs.Read)
	if err != nil || r.URL != srv.URL+"/gitlab/acme/widgets.git" || string(r.CA) != string(cert) {
		t.Errorf("remote is %s, %v", r.URL, err)
	}
	tr, err := gitlab.Config{Token: "t", BaseURL: srv.URL}.Transport()
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := (&http.Client{Transport: tr}).Get(srv.URL); err == nil {
		_ = resp.Body.Close()
		t.Error("a certificate was trusted that nobody named")
	}
}

func TestProxy(t *testing.T) {
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		reply(w, `{"id":9,"username":"helper"}`)
	}))
	defer proxy.Close()
	g, err := gitlab.New(gitlab.Config{BaseURL: "http://localhost:1/gitlab", Token: "t", Proxy: vcs.Secret(proxy.URL)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Self(t.Context()); err != nil {
		t.Error(err)
	}
	if got := <-asked; got != "http://localhost:1/gitlab/api/v4/user" {
		t.Errorf("the proxy was asked for %s", got)
	}
}

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		answer string
		want   error
		says   string
	}{
		"scope":           {`403 {"error":"insufficient_scope","error_description":"The request requires higher privileges.","scope":"api read_api"}`, vcs.ErrForbidden, "want one of: api read_api"},
		"role":            {`403 {"message":"403 Forbidden"}`, vcs.ErrForbidden, "at least the role Maintainer"},
		"no token":        {`401 {"message":"401 Unauthorized"}`, vcs.ErrForbidden, "token was refused"},
		"expired":         {`401 {"error":"invalid_token","error_description":"Token is expired. You can either do re-authorization or token refresh."}`, vcs.ErrForbidden, "Token is expired"},
		"not there":       {`404 {"message":"404 Project Not Found"}`, vcs.ErrNotFound, "not visible to the token"},
		"conflict":        {`409 {"message":"x"}`, vcs.ErrConflict, ""},
		"moved":           {`405 {"message":"Non GET methods are not allowed for moved projects"}`, vcs.ErrConflict, "moved projects"},
		"bad":             {`400 {"message":{"url":["is blocked"]}}`, vcs.ErrInvalid, "is blocked"},
		"unprocessable":   {`422 {"message":"x"}`, vcs.ErrInvalid, ""},
		"too large":       {`413 too large`, vcs.ErrInvalid, ""},
		"broken":          {`500 {"message":"500 Internal Server Error"}`, vcs.ErrUnavailable, ""},
		"away":            {`502 <html>`, vcs.ErrUnavailable, ""},
		"no JSON":         {`<html>Sign in</html>`, vcs.ErrUnavailable, "no JSON"},
		"JSON, but other": {`{"message":"x"}`, vcs.ErrUnavailable, ""},
	}
	for name, c := range cases {
		f := newFake(t, map[string]string{"GET projects/acme%2Fwidgets/hooks": c.answer})
		_, err := f.forge(t).Hooks(t.Context(), gitlab.Scope{Project: widgets()})
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, want one that wraps %q and says %q", name, err, c.want, c.says)
		}
		if strings.Contains(fmt.Sprint(err), "glpat-secret") {
			t.Errorf("%s: the error shows the token: %v", name, err)
		}
	}
}

func TestRateLimit(t *testing.T) {
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	cases := map[string]struct {
		header map[string]string
		bare   bool // without vcs/transport
		want   time.Time
	}{
		"GitLab's headers":                {map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": strconv.FormatInt(at.Unix(), 10)}, false, at},
		"seconds":                         {map[string]string{"Retry-After": "3600"}, false, at},
		"GitLab's headers, by the driver": {map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": strconv.FormatInt(at.Unix(), 10)}, true, at},
		"seconds, by the driver":          {map[string]string{"Retry-After": "3600"}, true, at},
		"nothing, by the driver":          {nil, true, time.Now().Add(time.Minute)},
	}
	for name, c := range cases {
		f := newFake(t, nil)
		f.handle("GET projects/acme%2Fwidgets", func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			reply(w, "429 Retry later")
		})
		var opts []gitlab.Option
		if c.bare {
			opts = append(opts, gitlab.WithTransport(http.DefaultTransport))
		}
		_, err := f.forge(t, opts...).Repo(t.Context(), widgets())
		var limit *vcs.RateLimitError
		if !errors.As(err, &limit) || !errors.Is(err, vcs.ErrUnavailable) || limit.RetryAt.Sub(c.want).Abs() > 5*time.Second {
			t.Errorf("%s: %v, want a RateLimitError until %s", name, err, c.want)
		}
		if n := f.asked("GET projects/acme"); n != 1 {
			t.Errorf("%s: asked %d times", name, n)
		}
	}
}
