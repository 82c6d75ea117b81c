package vcstest

import (
	"net/http"
	"strings"
)

// serveGit speaks git's smart HTTP protocol. The name beside a token may be any
// (docs.gitlab.com/user/profile/personal_access_tokens).
func (g *GitLab) serveGit(w http.ResponseWriter, r *http.Request) {
	full, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	write := rest == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	g.mu.Lock()
	p := g.projects[strings.ToLower(full)]
	if p == nil {
		p = g.moved[strings.ToLower(full)] // git is led to where it went
	}
	t, status := g.mayGit(r, p, write)
	var env []string
	if status == 0 && t != nil {
		env = append(p.refused(p.levelOf(t.actor)), "REMOTE_USER="+t.actor.Login)
	}
	g.mu.Unlock()
	if status != 0 {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitLab"`)
		http.Error(w, gitRefusal(status), status)
		return
	}
	if err := g.git.serve(w, r, p.root(), p.base()+"/"+rest, env); err != nil {
		g.fault("%s %s: %v", r.Method, r.URL.Path, err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	if rest != "git-receive-pack" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := p.pushed(t.actor); err != nil {
		g.fault("after a push to %s: %v", full, err)
	}
}

func gitRefusal(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "HTTP Basic: Access denied. If a password was provided for Git authentication, the password was incorrect or you're required to use a token instead of a password."
	case http.StatusForbidden:
		return "You are not allowed to push code to this project."
	}
	return "The project you were looking for could not be found or you don't have permission to view it."
}

// mayGit is called with mu held; status 0 is yes. The first request of a git
// client has no credential: that is no fault.
func (g *GitLab) mayGit(r *http.Request, p *Project, write bool) (*gitlabToken, int) {
	_, password, sent := r.BasicAuth()
	if !sent {
		if p != nil && !p.meta.Private && !write {
			return nil, 0
		}
		return nil, http.StatusUnauthorized
	}
	t, err := g.findToken(password)
	scopes := []string{"api", "write_repository"}
	if !write {
		scopes = append(scopes, "read_repository")
	}
	switch {
	case err != nil || t == nil:
		g.fault("git %s: %v", r.URL.Path, err)
		return nil, http.StatusUnauthorized
	case !t.hasScope(scopes...):
		g.fault("git %s: %s lacks a scope of %v", r.URL.Path, t, scopes)
		return nil, http.StatusForbidden
	case p == nil || !p.visible(t) || !p.readsCode(t.actor):
		return nil, http.StatusNotFound
	case write && p.levelOf(t.actor) < developer:
		g.fault("git %s: %s may not: want developer", r.URL.Path, t)
		return nil, http.StatusForbidden
	}
	return t, 0
}
