package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
)

// TokenKind tells whose a token is.
type TokenKind string

// The kinds of access token that the API takes.
const (
	PersonalToken       TokenKind = "personal"
	ProjectToken        TokenKind = "project"
	GroupToken          TokenKind = "group"
	ServiceAccountToken TokenKind = "service account"
)

// TokenInfo is what GitLab says of the configured token.
type TokenInfo struct {
	Name      string
	Kind      TokenKind
	Scopes    []string
	ExpiresAt time.Time // the day's beginning in UTC; zero is never
	Active    bool      // neither expired nor revoked
	Account   vcs.Actor
}

// Token describes the configured token; any scope lets it ask.
func (f *Forge) Token(ctx context.Context) (TokenInfo, error) {
	const doing = "reading the token"
	var t gl.PersonalAccessToken
	if _, err := f.call(ctx, http.MethodGet, "personal_access_tokens/self", nil, nil, &t); err != nil {
		return TokenInfo{}, f.mapError(doing, err)
	}
	out := TokenInfo{Name: t.Name, Scopes: append([]string{}, t.Scopes...), Active: t.Active && !t.Revoked}
	if t.ExpiresAt != nil {
		out.ExpiresAt = time.Time(*t.ExpiresAt)
	}
	account, err := f.Self(ctx)
	if err != nil {
		return out, err
	}
	out.Account, out.Kind = account, kindOf(account)
	return out, nil
}

// kindOf tells by the account: GitLab makes one for each token of a project or
// group, and any other bot with a token is a service account.
func kindOf(a vcs.Actor) TokenKind {
	switch {
	case a.Kind != vcs.KindBot:
		return PersonalToken
	case strings.HasPrefix(a.Login, "project_"):
		return ProjectToken
	case strings.HasPrefix(a.Login, "group_"):
		return GroupToken
	}
	return ServiceAccountToken
}

// Scope is one project or one group with all its projects.
type Scope struct {
	Project vcs.RepoRef
	Group   string // full path
}

// String is the scope as an operator would name it.
func (s Scope) String() string {
	if s.Group != "" {
		return "group " + s.Group
	}
	return "project " + s.Project.FullName()
}

// path is the scope's place in the API. Its error wraps vcs.ErrInvalid.
func (s Scope) path() (string, error) {
	if s.Group == "" {
		return pathOf(s.Project), validate(s.Project)
	}
	// A group's path is a project's without its end.
	group := vcs.RepoRef{Forge: vcs.GitLab, Owner: strings.Trim(s.Group, "/"), Name: "x"}
	return "groups/" + gl.PathEscape(group.Owner), errors.Join(onlyGroup(s), group.Validate())
}

func onlyGroup(s Scope) error {
	if !s.Project.IsZero() {
		return fmt.Errorf("%w: a project and a group", vcs.ErrInvalid)
	}
	return nil
}

// AccessLevel is the role of the token's account, inherited and shared ones
// included; RoleNone when it is no member.
func (f *Forge) AccessLevel(ctx context.Context, s Scope) (Role, error) {
	path, err := s.path()
	if err != nil {
		return RoleNone, err
	}
	r, err := f.roleIn(ctx, path)
	if err != nil {
		return RoleNone, f.mapError("reading the own role in "+s.String(), err)
	}
	return r, nil
}

// roleIn is our account's role in a project or group.
func (f *Forge) roleIn(ctx context.Context, source string) (Role, error) {
	u, err := f.user(ctx, "user")
	if err != nil {
		return RoleNone, err
	}
	if u.IsAdmin {
		return RoleAdmin, nil
	}
	m, err := f.member(ctx, source, u.ID)
	if err == nil {
		return m.role(f.now()), nil
	}
	if !isNotFound(err) {
		return RoleNone, err
	}
	// No member, or no such place.
	if _, err := f.projectFacts(ctx, source); err != nil {
		return RoleNone, err
	}
	return RoleNone, nil
}
