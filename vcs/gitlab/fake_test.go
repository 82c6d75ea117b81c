package gitlab_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs/gitlab"
	"github.com/greenwright/greenwright/vcs/transport"
)

// fake answers what a test lists, and nothing else.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	routes map[string]http.HandlerFunc // by method and escaped path below /api/v4/
	seen   []string                    // method, path and body
	tokens map[string]bool
}

// newFake starts one; answers are JSON, or a status and JSON ("404 {}").
func newFake(t *testing.T, answers map[string]string) *fake {
	t.Helper()
	f := &fake{routes: map[string]http.HandlerFunc{}, tokens: map[string]bool{}}
	f.on("GET user", `{"id":9,"username":"helper","state":"active"}`)
	f.on("GET projects/acme%2Fwidgets", `{"id":81,"path_with_namespace":"acme/widgets","default_branch":"main","visibility":"private"}`)
	for route, answer := range answers {
		f.on(route, answer)
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// on sets the answer of a route.
func (f *fake) on(route, answer string) {
	f.handle(route, func(w http.ResponseWriter, _ *http.Request) { reply(w, answer) })
}

func (f *fake) handle(route string, h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.routes[route] = h
}

func reply(w http.ResponseWriter, answer string) {
	status := http.StatusOK
	if code, rest, found := strings.Cut(answer, " "); found && len(code) == 3 {
		_, _ = fmt.Sscan(code, &status)
		answer = rest
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, path, _ := strings.Cut(r.URL.EscapedPath(), "/api/v4/")
	f.mu.Lock()
	h := f.routes[r.Method+" "+path]
	line := r.Method + " " + path
	if r.URL.RawQuery != "" {
		line += "?" + r.URL.RawQuery
	}
	f.seen = append(f.seen, strings.TrimSpace(line+" "+string(body)))
	f.tokens[r.Header.Get("Authorization")+r.Header.Get("Private-Token")] = true
	f.mu.Unlock()
	if h == nil {
		reply(w, `404 {"message":"404 Not Found"}`)
		return
	}
	h(w, r)
}

// asked counts the requests that begin so.
func (f *fake) asked(prefix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.seen {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// forge is a driver on the fake that waits for nothing.
func (f *fake) forge(t *testing.T, opts ...gitlab.Option) *gitlab.Forge {
	t.Helper()
	rt := transport.New(nil, transport.Config{Retries: -1, MaxWait: time.Millisecond})
	g, err := gitlab.New(gitlab.Config{BaseURL: f.URL, Token: "glpat-secret"}, append([]gitlab.Option{gitlab.WithTransport(rt)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
