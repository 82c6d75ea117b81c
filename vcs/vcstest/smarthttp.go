package vcstest

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"strings"
)

// maxPush bounds a push to the simulated server in bytes.
const maxPush = 512 << 20

// serveGit speaks git's smart HTTP protocol through git http-backend.
func (g *GitHub) serveGit(w http.ResponseWriter, r *http.Request) {
	full, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	write := rest == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	g.mu.Lock()
	repo := g.repos[strings.ToLower(full)]
	t, status := g.mayGit(r, repo, write)
	g.mu.Unlock()
	if status != 0 {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, http.StatusText(status), status)
		return
	}
	if err := g.backend(w, r, repo, rest, t); err != nil {
		g.fault("%s %s: %v", r.Method, r.URL.Path, err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	if rest == "git-receive-pack" {
		g.mu.Lock()
		defer g.mu.Unlock()
		if err := repo.pushed(t.actor); err != nil {
			g.faultLocked("after a push to %s: %v", full, err)
		}
	}
}

// mayGit is called with mu held; status 0 is yes. The first request of a git
// client has no credential: that is no fault.
func (g *GitHub) mayGit(r *http.Request, repo *Repo, write bool) (*token, int) {
	need := "contents=read"
	if write {
		need = "contents=write"
	}
	_, password, sent := r.BasicAuth()
	if !sent {
		if repo != nil && !repo.meta.Private && !write {
			return nil, 0
		}
		return nil, http.StatusUnauthorized
	}
	t, err := g.find(password)
	switch {
	case err != nil:
		g.faultLocked("git %s: %v", r.URL.Path, err)
		return nil, http.StatusUnauthorized
	case repo == nil:
		return nil, http.StatusNotFound
	case !t.allows(need, repo):
		g.faultLocked("git %s: %s may not: want %s", r.URL.Path, t, need)
		return nil, http.StatusForbidden
	}
	return t, 0
}

// backend runs git http-backend. CGI knows no chunked bodies, so that one is
// read first.
func (g *GitHub) backend(w http.ResponseWriter, r *http.Request, repo *Repo, rest string, by *token) error {
	if r.ContentLength < 0 {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPush))
		if err != nil {
			return fmt.Errorf("reading a chunked body: %w", err)
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	var stderr bytes.Buffer
	env := append([]string{
		"GIT_PROJECT_ROOT=" + g.cfg.Dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL=" + r.Header.Get("Git-Protocol"),
	}, g.git.env...)
	if by != nil {
		env = append(env, "REMOTE_USER="+by.actor.Login)
		if by.app && by.perms["workflows"] != "write" {
			env = append(env, "NO_WORKFLOWS=1")
		}
	}
	r.URL.Path = "/" + repo.meta.FullName() + ".git/" + rest
	h := cgi.Handler{Path: g.git.backend, Root: "/", Dir: g.cfg.Dir, Env: env, Stderr: &stderr, Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	h.ServeHTTP(w, r)
	return nil
}
