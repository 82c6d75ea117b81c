package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlabwire"
	"github.com/greenwright/greenwright/vcs/sticky"
)

// gitUsername stands beside a token in git's basic authentication. GitLab takes
// any name but its own for CI jobs and deploy tokens; this one is documented for
// OAuth tokens and good for all (docs.gitlab.com/topics/git/clone).
const gitUsername = "oauth2"

// Forge implements vcs.Forge, vcs.PullRequestOpener, vcs.Reviewer and
// vcs.CheckReader for GitLab.
type Forge struct {
	cfg   Config
	at    urls
	plain http.RoundTripper // without a credential
	http  *http.Client      // with it, for what is streamed
	api   *gl.Client        //nolint:staticcheck // frozen, and what this driver is built on
	now   func() time.Time

	stickies *sticky.Comments

	mu       sync.Mutex
	self     vcs.Actor          // guarded by mu
	projects map[string]project // guarded by mu; ids by path
}

var (
	_ vcs.Forge             = (*Forge)(nil)
	_ vcs.PullRequestOpener = (*Forge)(nil)
	_ vcs.Reviewer          = (*Forge)(nil)
	_ vcs.CheckReader       = (*Forge)(nil)
)

// Self is the token's account: a person's, or the bot user that GitLab made for
// a project's or group's token. It is asked for once.
func (f *Forge) Self(ctx context.Context) (vcs.Actor, error) {
	if known := f.knownSelf(vcs.Actor{}); known.ID != 0 {
		return known, nil
	}
	const doing = "reading the own account"
	u, err := f.user(ctx, "user")
	if err != nil {
		return vcs.Actor{}, f.mapError(doing, err)
	}
	a, err := u.actor()
	if err == nil && a.ID == 0 {
		err = vcs.ErrNotFound
	}
	if err != nil {
		return vcs.Actor{}, f.mapError(doing, err)
	}
	return f.knownSelf(a), nil
}

// knownSelf is the own account as it was read once; a is what was read now.
func (f *Forge) knownSelf(a vcs.Actor) vcs.Actor {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.self.ID == 0 {
		f.self = a
	}
	return f.self
}

// user reads an account.
func (f *Forge) user(ctx context.Context, path string) (userFacts, error) {
	var u userFacts
	_, err := f.call(ctx, http.MethodGet, path, nil, nil, &u)
	return u, err
}

// Permission asks for the actor's level, inherited and shared ones included.
// Who is no member may read a public project, and an internal one unless the
// account is external. An account whose login is now another's is a
// vcs.ErrConflict.
func (f *Forge) Permission(ctx context.Context, repo vcs.RepoRef, actor vcs.Actor) (vcs.Permission, error) {
	if actor.ID <= 0 || !gitlabwire.ValidLogin(actor.Login) {
		return vcs.PermissionNone, fmt.Errorf("%w: account %d %q", vcs.ErrInvalid, actor.ID, actor.Login)
	}
	if err := validate(repo); err != nil {
		return vcs.PermissionNone, err
	}
	p, err := f.permission(ctx, repo, actor)
	if err != nil {
		return vcs.PermissionNone, f.mapError("reading the permission of "+actor.Login, err)
	}
	return p, nil
}

func (f *Forge) permission(ctx context.Context, repo vcs.RepoRef, actor vcs.Actor) (vcs.Permission, error) {
	m, err := f.member(ctx, pathOf(repo), actor.ID)
	if isNotFound(err) {
		return f.outsider(ctx, repo, actor)
	}
	if err != nil {
		return vcs.PermissionNone, err
	}
	if err := m.is(actor); err != nil {
		return vcs.PermissionNone, err
	}
	return m.role(f.now()).Permission(), nil
}

// Account reads an account: what GitLab's payloads do not tell, whether it is a
// bot's, a service account's included.
func (f *Forge) Account(ctx context.Context, actor vcs.Actor) (vcs.Actor, error) {
	doing := "reading the account of " + actor.Login
	if actor.ID <= 0 || !gitlabwire.ValidLogin(actor.Login) {
		return vcs.Actor{}, fmt.Errorf("%s: %w: account %d %q", doing, vcs.ErrInvalid, actor.ID, actor.Login)
	}
	u, err := f.user(ctx, "users/"+strconv.FormatInt(actor.ID, 10))
	if err != nil {
		return vcs.Actor{}, f.mapError(doing, err)
	}
	if err := u.is(actor); err != nil {
		return vcs.Actor{}, f.mapError(doing, err)
	}
	return u.actor()
}

// member reads a membership of a project or group.
func (f *Forge) member(ctx context.Context, source string, id int64) (memberFacts, error) {
	var m memberFacts
	_, err := f.call(ctx, http.MethodGet, source+"/members/all/"+strconv.FormatInt(id, 10), nil, nil, &m)
	return m, err
}

// outsider is the level of an account that is no member.
func (f *Forge) outsider(ctx context.Context, repo vcs.RepoRef, actor vcs.Actor) (vcs.Permission, error) {
	u, err := f.user(ctx, "users/"+strconv.FormatInt(actor.ID, 10))
	if isNotFound(err) {
		return vcs.PermissionNone, nil
	}
	if err != nil {
		return vcs.PermissionNone, err
	}
	if err := u.is(actor); err != nil {
		return vcs.PermissionNone, err
	}
	p, err := f.projectFacts(ctx, pathOf(repo))
	if err != nil {
		return vcs.PermissionNone, err
	}
	if u.active() && (p.Visibility == public || p.Visibility == internal && !u.External) {
		return vcs.PermissionRead, nil
	}
	return vcs.PermissionNone, nil
}

// Repo describes a project, under its present path.
func (f *Forge) Repo(ctx context.Context, repo vcs.RepoRef) (vcs.Repo, error) {
	if err := validate(repo); err != nil {
		return vcs.Repo{}, err
	}
	doing := "reading " + repo.FullName()
	p, err := f.projectFacts(ctx, pathOf(repo))
	if err != nil {
		return vcs.Repo{}, f.mapError(doing, err)
	}
	out, err := p.repo()
	return out, f.mapError(doing, err)
}

func (f *Forge) projectFacts(ctx context.Context, path string) (projectFacts, error) {
	var p projectFacts
	if _, err := f.call(ctx, http.MethodGet, path, nil, nil, &p); err != nil {
		return projectFacts{}, err
	}
	if p.ID <= 0 {
		return projectFacts{}, fmt.Errorf("%w: project without an id", vcs.ErrUnavailable)
	}
	return p, nil
}

// Remote gives the project's address and the configured token, which is as wide
// as the operator made it: GitLab mints no narrower one. A token with
// read_repository alone clones and does not push.
func (f *Forge) Remote(_ context.Context, repo vcs.RepoRef, access vcs.Access) (vcs.Remote, error) {
	if err := validate(repo); err != nil {
		return vcs.Remote{}, err
	}
	if access != vcs.Read && access != vcs.Write {
		return vcs.Remote{}, fmt.Errorf("%w: access %q", vcs.ErrInvalid, access)
	}
	return vcs.Remote{
		URL: f.webOf(repo) + ".git", Username: gitUsername, Password: f.cfg.Token, CA: f.cfg.RootCAs, Proxy: f.cfg.Proxy,
	}, nil
}

// webOf is a project's page.
func (f *Forge) webOf(repo vcs.RepoRef) string {
	return f.at.web + "/" + strings.Trim(repo.FullName(), "/")
}

// noteURL is a note's place on its thread's page, which the API does not tell.
func (f *Forge) noteURL(t vcs.Thread, id int64) string {
	return f.webOf(t.Repo) + "/-" + threadPath(t) + "#note_" + strconv.FormatInt(id, 10)
}
