package github_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/github"
)

func serve(t *testing.T, s *http.Server) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	s.ReadHeaderTimeout = time.Second
	go func() {
		defer close(done)
		_ = s.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = s.Shutdown(context.Background())
		<-done
	})
	return "http://" + ln.Addr().String() + "/"
}

func TestConfig(t *testing.T) {
	cases := map[string]struct {
		cfg  github.Config
		good bool
	}{
		"token":            {github.Config{Token: "t"}, true},
		"enterprise":       {github.Config{Token: "t", BaseURL: "https://ghe.example/api/v3"}, true},
		"nothing":          {github.Config{}, false},
		"both":             {github.Config{Token: "t", AppID: 1, PrivateKey: "k"}, false},
		"no key":           {github.Config{AppID: 1}, false},
		"no id":            {github.Config{PrivateKey: "k"}, false},
		"bad key":          {github.Config{AppID: 1, PrivateKey: "k"}, false},
		"bad URL":          {github.Config{Token: "t", BaseURL: "ghe.example"}, false},
		"password in URL":  {github.Config{Token: "t", BaseURL: "https://u:p@ghe.example"}, false},
		"negative spacing": {github.Config{Token: "t", WriteSpacing: -1}, false},
	}
	for name, c := range cases {
		_, err := github.New(c.cfg)
		if (err == nil) != c.good || err != nil && !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%s: %v, want good: %v", name, err, c.good)
		}
	}
}

func TestRemoteURL(t *testing.T) {
	repo := vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}
	for base, want := range map[string]string{
		"":                              "https://github.com/acme/widgets.git",
		"https://api.github.com":        "https://github.com/acme/widgets.git",
		"https://ghe.example":           "https://ghe.example/acme/widgets.git",
		"https://ghe.example/api/v3/":   "https://ghe.example/acme/widgets.git",
		"https://ghe.example/x/api/v3/": "https://ghe.example/x/acme/widgets.git",
	} {
		f, err := github.New(github.Config{BaseURL: base, Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Remote(t.Context(), repo, vcs.Read)
		if err != nil || r.URL != want || r.Username != "x-access-token" || r.Password != "t" {
			t.Errorf("%q: remote %+v, %v; want %s", base, r, err, want)
		}
	}
}
