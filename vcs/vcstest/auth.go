package vcstest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// token is a credential of the API and of git.
type token struct {
	actor   vcs.Actor
	expires time.Time // zero for a personal token
	// perms and repos narrow an installation token; a personal token has
	// neither, and may what its account may.
	perms map[string]string
	repos map[int64]bool // nil is every repository with the App
	app   bool
}

func (t *token) String() string {
	if t == nil {
		return "none"
	}
	if !t.app {
		return t.actor.Login
	}
	parts := make([]string, 0, len(t.perms))
	for _, k := range slices.Sorted(maps.Keys(t.perms)) {
		parts = append(parts, k+"="+t.perms[k])
	}
	return t.actor.Login + " " + strings.Join(parts, ",")
}

// AddToken makes a personal token of an account.
func (g *GitHub) AddToken(login string) (vcs.Secret, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.user(login)
	if err != nil {
		return "", err
	}
	return g.addToken("ghp_", &token{actor: a}), nil
}

func (g *GitHub) addToken(prefix string, t *token) vcs.Secret {
	value := prefix + rand.Text()
	g.tokens[value] = t
	return vcs.Secret(value)
}

// RevokeTokens makes every installation token so far worthless.
func (g *GitHub) RevokeTokens() {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.tokens, func(_ string, t *token) bool { return t.app })
}

// allows reports whether the token may do one of the alternatives, written as
// GitHub's header does: "issues=read; pull_requests=read".
func (t *token) allows(need string, r *Repo) bool {
	if t == nil { // anybody reads what is public
		return strings.HasSuffix(need, "=read") && r != nil && !r.meta.Private
	}
	for alternative := range strings.SplitSeq(need, "; ") {
		name, level, _ := strings.Cut(alternative, "=")
		if t.may(name, level, r) {
			return true
		}
	}
	return false
}

func (t *token) may(name, level string, r *Repo) bool {
	if t.app {
		inReach := r == nil || r.installed && (t.repos == nil || t.repos[r.meta.ID])
		return inReach && (t.perms[name] == level || t.perms[name] == "write" || name == "metadata")
	}
	if r == nil {
		return true
	}
	want := vcs.PermissionRead
	// Anybody who can read may talk on issues and open pull requests.
	if level == "write" && name != "issues" && name != "pull_requests" {
		want = vcs.PermissionWrite
	}
	return r.levelOf(t.actor) >= want
}

// levelOf is an account's level; everybody can read what is public.
func (r *Repo) levelOf(a vcs.Actor) vcs.Permission {
	p := r.perms[a.ID]
	if p == vcs.PermissionNone && !r.meta.Private {
		return vcs.PermissionRead
	}
	return p
}

// bearerOf reads the credential of an API request.
func bearerOf(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "token") {
		return value
	}
	return ""
}

// find looks a token up; nil and no error when none was sent.
func (g *GitHub) find(value string) (*token, error) {
	if value == "" {
		return nil, nil
	}
	t, ok := g.tokens[value]
	if !ok {
		return nil, fmt.Errorf("%w: unknown token", vcs.ErrForbidden)
	}
	if !t.expires.IsZero() && !g.cfg.Now().Before(t.expires) {
		return nil, fmt.Errorf("%w: expired token", vcs.ErrForbidden)
	}
	return t, nil
}

// maxJWTAge is the longest that GitHub lets an App's token live
// (docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/
// generating-a-json-web-token-jwt-for-a-github-app).
const maxJWTAge = 10 * time.Minute

// checkJWT verifies an App's own token: RS256 (RFC 7518, 3.3), issuer, times.
func (g *GitHub) checkJWT(value string) error {
	parts := strings.Split(value, ".")
	if len(parts) != 3 {
		return fmt.Errorf("%w: not a JSON web token", vcs.ErrForbidden)
	}
	var head struct {
		Alg string `json:"alg"`
	}
	var claims struct {
		Issuer    string `json:"iss"`
		IssuedAt  int64  `json:"iat"`
		ExpiresAt int64  `json:"exp"`
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || part(parts[0], &head) != nil || part(parts[1], &claims) != nil || head.Alg != "RS256" {
		return fmt.Errorf("%w: malformed JSON web token", vcs.ErrForbidden)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(&g.key.PublicKey, crypto.SHA256, sum[:], sig); err != nil {
		return fmt.Errorf("%w: JSON web token: %w", vcs.ErrForbidden, err)
	}
	now := g.cfg.Now()
	iat, exp := time.Unix(claims.IssuedAt, 0), time.Unix(claims.ExpiresAt, 0)
	if claims.Issuer != fmt.Sprint(g.cfg.AppID) || iat.After(now) || !exp.After(now) || exp.Sub(iat) > maxJWTAge {
		return fmt.Errorf("%w: JSON web token of %s from %s to %s", vcs.ErrForbidden, claims.Issuer, iat, exp)
	}
	return nil
}

func part(s string, out any) error {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return json.Unmarshal(b, out)
}

func etagOf(b []byte) string {
	sum := sha256.Sum256(b)
	return `W/"` + hex.EncodeToString(sum[:16]) + `"`
}
