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
			g.fault("after a push to %s: %v", full, err)
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
		g.fault("git %s: %v", r.URL.Path, err)
		return nil, http.StatusUnauthorized
	case repo == nil:
		return nil, http.StatusNotFound
	case !t.allows(need, repo):
		g.fault("git %s: %s may not: want %s", r.URL.Path, t, need)
		return nil, http.StatusForbidden
	}
	return t, 0
}

// backend serves a repository to an account.
func (g *GitHub) backend(w http.ResponseWriter, r *http.Request, repo *Repo, rest string, by *token) error {
	var env []string
	if by != nil {
		env = append(env, "REMOTE_USER="+by.actor.Login)
		if by.app && by.perms["workflows"] != "write" {
			env = append(env, "NO_WORKFLOWS=1")
		}
	}
	return g.git.serve(w, r, g.cfg.Dir, repo.meta.FullName()+".git/"+rest, env)
}

// serve runs git http-backend on a path below root. CGI knows no chunked
// bodies, so that one is read first.
func (g gitCommand) serve(w http.ResponseWriter, r *http.Request, root, path string, env []string) error {
	if r.ContentLength < 0 {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPush))
		if err != nil {
			return fmt.Errorf("reading a chunked body: %w", err)
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	var stderr bytes.Buffer
	env = append(append(env,
		"GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"),
	), g.env...)
	r.URL.Path = "/" + path
	h := cgi.Handler{Path: g.backend, Root: "/", Dir: root, Env: env, Stderr: &stderr, Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	h.ServeHTTP(w, r)
	return nil
}
