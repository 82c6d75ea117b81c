package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v60/github"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/sticky"
)

// gitUsername is what GitHub expects beside a token
// (docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/
// authenticating-as-a-github-app-installation#about-authentication-as-a-github-app-installation).
const gitUsername = "x-access-token"

// Forge implements vcs.Forge, vcs.PullRequestOpener, vcs.Reviewer and
// vcs.CheckReader for GitHub.
type Forge struct {
	cfg   Config
	at    urls
	plain http.RoundTripper             // without a credential
	app   *ghinstallation.AppsTransport // nil with a token
	now   func() time.Time

	stickies *sticky.Comments

	mu            sync.Mutex
	self          vcs.Actor               // guarded by mu
	clients       map[string]client       // guarded by mu; by repository and grant
	installations map[string]installation // guarded by mu; by repository
}

var (
	_ vcs.Forge             = (*Forge)(nil)
	_ vcs.PullRequestOpener = (*Forge)(nil)
	_ vcs.Reviewer          = (*Forge)(nil)
	_ vcs.CheckReader       = (*Forge)(nil)
)

// Self is the account of the token, or the App's bot account. It is asked for
// once.
func (f *Forge) Self(ctx context.Context) (vcs.Actor, error) {
	f.mu.Lock()
	known := f.self
	f.mu.Unlock()
	if known.ID != 0 {
		return known, nil
	}
	u, err := f.whoami(ctx)
	if err != nil {
		return vcs.Actor{}, err
	}
	a, err := actorOf(u)
	if err != nil {
		return vcs.Actor{}, f.mapError("reading the own account", err)
	}
	if a.ID == 0 {
		return vcs.Actor{}, f.mapError("reading the own account", vcs.ErrNotFound)
	}
	f.mu.Lock()
	f.self = a
	f.mu.Unlock()
	return a, nil
}

func (f *Forge) whoami(ctx context.Context) (*gh.User, error) {
	if f.app == nil {
		u, _, err := f.tokenClient().Users.Get(ctx, "")
		return u, f.mapError("reading the token's account", err)
	}
	app := f.newClient(f.app)
	a, _, err := app.Apps.Get(ctx, "")
	if err != nil {
		return nil, f.mapError("reading the app", err)
	}
	// An App's own token cannot read users; that of any installation can. An
	// App that is installed nowhere yet asks without a credential, which
	// github.com allows.
	rt := f.plain
	ins, _, err := app.Apps.ListInstallations(ctx, &gh.ListOptions{PerPage: 1})
	if err != nil {
		return nil, f.mapError("listing the app's installations", err)
	}
	if len(ins) > 0 {
		rt = f.narrowed(ins[0].GetID(), "", grantMetadata())
	}
	u, _, err := f.newClient(rt).Users.Get(ctx, url.PathEscape(a.GetSlug()+"[bot]"))
	return u, f.mapError("reading the app's account", err)
}

// Permission asks for the actor's level. GitHub resolves custom roles in the
// member permission; role_name only tells maintain and triage apart from it.
// An account whose login now belongs to somebody else is a vcs.ErrConflict.
func (f *Forge) Permission(ctx context.Context, repo vcs.RepoRef, actor vcs.Actor) (vcs.Permission, error) {
	if actor.ID == 0 || !validLogin(actor.Login) {
		return vcs.PermissionNone, fmt.Errorf("%w: account %d %q", vcs.ErrInvalid, actor.ID, actor.Login)
	}
	c, err := f.client(ctx, repo, grantMetadata())
	if err != nil {
		return vcs.PermissionNone, err
	}
	path := fmt.Sprintf("repos/%s/%s/collaborators/%s/permission", repo.Owner, repo.Name, url.PathEscape(actor.Login))
	var out permissionLevel
	if err := c.get(ctx, path, &out); err != nil {
		if hasStatus(err, http.StatusNotFound) {
			return vcs.PermissionNone, nil
		}
		return vcs.PermissionNone, f.mapError("reading the permission of "+actor.Login, err)
	}
	if out.User == nil || out.User.ID != actor.ID {
		return vcs.PermissionNone, f.mapError("reading the permission of "+actor.Login,
			fmt.Errorf("%w: the login is another account's now", vcs.ErrConflict))
	}
	p, err := out.level()
	return p, f.mapError("reading the permission of "+actor.Login, err)
}

// get is a GET of a path that go-github has no complete type for.
func (c client) get(ctx context.Context, path string, out any) error {
	r, err := c.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return fmt.Errorf("building the request: %w", err)
	}
	_, err = c.Do(ctx, r, out)
	return err
}

// Repo describes a repository.
func (f *Forge) Repo(ctx context.Context, repo vcs.RepoRef) (vcs.Repo, error) {
	c, err := f.client(ctx, repo, grantMetadata())
	if err != nil {
		return vcs.Repo{}, err
	}
	r, _, err := c.Repositories.Get(ctx, repo.Owner, repo.Name)
	if err != nil {
		return vcs.Repo{}, f.mapError("reading "+repo.FullName(), err)
	}
	out, err := repoOf(r)
	return out, f.mapError("reading "+repo.FullName(), err)
}

// Remote mints a token for contents:read or contents:write of this repository
// (an App), good for an hour, or gives the configured one. Without
// Config.Workflows GitHub refuses a push that changes a workflow file.
func (f *Forge) Remote(ctx context.Context, repo vcs.RepoRef, access vcs.Access) (vcs.Remote, error) {
	if err := validate(repo); err != nil {
		return vcs.Remote{}, err
	}
	if access != vcs.Read && access != vcs.Write {
		return vcs.Remote{}, fmt.Errorf("%w: access %q", vcs.ErrInvalid, access)
	}
	out := vcs.Remote{URL: f.at.web + "/" + repo.FullName() + ".git", Username: gitUsername, Password: f.cfg.Token}
	if f.app == nil {
		return out, nil
	}
	token, err := f.mint(ctx, repo, grantContents(access, f.cfg.Workflows))
	out.Password = token
	return out, err
}
