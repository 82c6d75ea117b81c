package vcstest

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// gitlabToken is an access token of an account.
type gitlabToken struct {
	id      int64
	actor   vcs.Actor
	name    string
	scopes  []string
	expires time.Time // zero is never
	revoked bool
}

// String is the account and the scopes.
func (t *gitlabToken) String() string {
	if t == nil {
		return "none"
	}
	return t.actor.Login + " " + strings.Join(t.scopes, ",")
}

func (t *gitlabToken) hasScope(one ...string) bool {
	return slices.ContainsFunc(one, func(s string) bool { return slices.Contains(t.scopes, s) })
}

// scopesFor are the scopes of which a request of the API needs one
// (docs.gitlab.com/user/profile/personal_access_tokens, "scopes"); none means
// that any will do.
func scopesFor(r *http.Request) []string {
	_, path, _ := strings.Cut(r.URL.Path, gitlabAPI)
	reads := r.Method == http.MethodGet
	switch {
	case path == "/personal_access_tokens/self":
		return nil
	case reads && (path == "/user" || strings.HasPrefix(path, "/users")):
		return []string{"api", "read_api", "read_user"}
	case reads:
		return []string{"api", "read_api"}
	}
	return []string{"api"}
}

// newToken keeps a token; called with mu held.
func (g *GitLab) newToken(t gitlabToken) vcs.Secret {
	t.id = g.newID()
	value := "glpat-" + rand.Text()
	g.tokens[value] = &t
	return vcs.Secret(value)
}

// AddToken makes a token of an account with the scope api.
func (g *GitLab) AddToken(login string) (vcs.Secret, error) {
	return g.AddScopedToken(login, time.Time{}, "api")
}

// AddScopedToken makes a token with other scopes and an end; zero is none.
func (g *GitLab) AddScopedToken(login string, expires time.Time, scopes ...string) (vcs.Secret, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.user(login)
	if err != nil {
		return "", err
	}
	return g.newToken(gitlabToken{actor: a, name: login, scopes: scopes, expires: expires}), nil
}

// RevokeTokens makes every token so far worthless.
func (g *GitLab) RevokeTokens() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.tokens {
		t.revoked = true
	}
}

// gitlabCredential reads the token of an API request: the two headers that
// take every kind of access token.
func gitlabCredential(r *http.Request) string {
	if v := r.Header.Get("Private-Token"); v != "" {
		return v
	}
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "bearer") {
		return value
	}
	return ""
}

// findToken looks a token up; nil and no error when none was sent.
func (g *GitLab) findToken(value string) (*gitlabToken, error) {
	if value == "" {
		return nil, nil
	}
	t, ok := g.tokens[value]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: unknown token", vcs.ErrForbidden)
	case t.revoked, !t.expires.IsZero() && !g.cfg.Now().Before(t.expires):
		return nil, fmt.Errorf("%w: revoked or expired token", vcs.ErrForbidden)
	}
	return t, nil
}

func getOwnToken(c *gitlabCall) reply {
	t := c.token
	var expires any
	if !t.expires.IsZero() {
		expires = t.expires.UTC().Format(time.DateOnly)
	}
	return ok(object{
		"id": t.id, "name": t.name, "revoked": false, "active": true, "scopes": t.scopes, "user_id": t.actor.ID,
		"expires_at": expires, "last_used_at": c.g.now(), "created_at": c.g.now(), "description": nil,
	})
}
