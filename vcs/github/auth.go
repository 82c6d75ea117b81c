package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v60/github"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// installationTTL is how long an installation's id is believed: an app
	// that was removed and installed again has a new one.
	installationTTL = 10 * time.Minute
	// maxClients bounds the kept clients: repositories times grants.
	maxClients = 1024
	// maxRedirects is above what a renamed repository needs.
	maxRedirects = 3
)

// grant is a set of rights that a token is narrowed to. metadata:read is part
// of every token.
type grant struct {
	name  string
	perms gh.InstallationPermissions
}

func level(a vcs.Access) *string {
	if a == vcs.Write {
		return gh.String("write")
	}
	return gh.String("read")
}

func grantMetadata() grant {
	return grant{"metadata", gh.InstallationPermissions{Metadata: level(vcs.Read)}}
}

func grantContents(a vcs.Access, workflows bool) grant {
	g := grant{"contents:" + *level(a), gh.InstallationPermissions{Contents: level(a), Metadata: level(vcs.Read)}}
	if workflows && a == vcs.Write {
		g.perms.Workflows = level(vcs.Write)
	}
	return g
}

// grantThread is for the conversation of an issue or pull request.
func grantThread(t vcs.Thread, a vcs.Access) grant {
	if t.PullRequest {
		return grant{"pulls:" + *level(a), gh.InstallationPermissions{PullRequests: level(a), Metadata: level(vcs.Read)}}
	}
	return grant{"issues:" + *level(a), gh.InstallationPermissions{Issues: level(a), Metadata: level(vcs.Read)}}
}

func grantPulls(a vcs.Access) grant { return grantThread(vcs.Thread{PullRequest: true}, a) }

func grantChecks() grant {
	return grant{"checks", gh.InstallationPermissions{Checks: level(vcs.Read), Metadata: level(vcs.Read)}}
}

func grantActions() grant {
	return grant{"actions", gh.InstallationPermissions{Actions: level(vcs.Read), Metadata: level(vcs.Read)}}
}

// client is an API client with one credential.
type client struct {
	*gh.Client
	installation int64
}

type installation struct {
	id int64
	at time.Time
}

// client returns one that may do what g says on repo.
func (f *Forge) client(ctx context.Context, repo vcs.RepoRef, g grant) (client, error) {
	if err := validate(repo); err != nil {
		return client{}, err
	}
	if f.app == nil {
		return f.tokenClient(), nil
	}
	id, err := f.installation(ctx, repo)
	if err != nil {
		return client{}, err
	}
	key := strings.ToLower(repo.FullName()) + " " + g.name
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.clients[key]; ok && c.installation == id {
		return c, nil
	}
	if len(f.clients) >= maxClients {
		clear(f.clients)
	}
	c := client{Client: f.newClient(&lane{name: strconv.FormatInt(id, 10), mint: func() http.RoundTripper { return f.narrowed(id, repo.Name, g) }}), installation: id}
	f.clients[key] = c
	return c, nil
}

// narrowed mints tokens of the installation for one repository and grant.
func (f *Forge) narrowed(id int64, repo string, g grant) *ghinstallation.Transport {
	// A copy: ghinstallation writes to the transport that it is given.
	app := *f.app
	tr := ghinstallation.NewFromAppsTransport(&app, id)
	tr.InstallationTokenOptions = &gh.InstallationTokenOptions{Permissions: &g.perms}
	if repo != "" {
		tr.InstallationTokenOptions.Repositories = []string{repo}
	}
	return tr
}

func (f *Forge) tokenClient() client {
	return client{Client: f.newClient(bearer{next: f.plain, token: f.cfg.Token, host: f.at.api.Host})}
}

// newClient never follows a redirect to another host: the transport below
// would send the credential along.
func (f *Forge) newClient(rt http.RoundTripper) *gh.Client {
	c := gh.NewClient(&http.Client{Transport: rt, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
			return fmt.Errorf("%w: redirect to %s", vcs.ErrUnavailable, r.URL.Host)
		}
		return nil
	}})
	c.BaseURL = f.at.api
	c.UserAgent = "greenwright"
	return c
}

// bearer adds a token, for one host only.
type bearer struct {
	next  http.RoundTripper
	token vcs.Secret
	host  string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != b.host {
		return nil, fmt.Errorf("%w: no credential for %s", vcs.ErrForbidden, r.URL.Host)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token.Reveal())
	return b.next.RoundTrip(r)
}

// installation finds the app's installation for a repository.
func (f *Forge) installation(ctx context.Context, repo vcs.RepoRef) (int64, error) {
	key := strings.ToLower(repo.FullName())
	f.mu.Lock()
	known, ok := f.installations[key]
	f.mu.Unlock()
	if ok && f.now().Sub(known.at) < installationTTL {
		return known.id, nil
	}
	in, _, err := f.newClient(f.app).Apps.FindRepositoryInstallation(ctx, repo.Owner, repo.Name)
	if err != nil {
		return 0, f.mapError("finding the app's installation for "+repo.FullName(), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.installations) >= maxClients {
		clear(f.installations)
	}
	f.installations[key] = installation{id: in.GetID(), at: f.now()}
	return in.GetID(), nil
}

// mint returns a fresh token.
func (f *Forge) mint(ctx context.Context, repo vcs.RepoRef, g grant) (vcs.Secret, error) {
	id, err := f.installation(ctx, repo)
	if err != nil {
		return "", err
	}
	token, err := f.narrowed(id, repo.Name, g).Token(ctx)
	if err != nil {
		return "", f.mapError("minting a token for "+repo.FullName(), err)
	}
	return vcs.Secret(token), nil
}

// validate refuses names of other forges and names unfit for a path.
func validate(repo vcs.RepoRef) error {
	if repo.Forge != vcs.GitHub {
		return fmt.Errorf("%w: %s is not on GitHub", vcs.ErrInvalid, repo)
	}
	return repo.Validate()
}

func validateThread(t vcs.Thread) error {
	if t.Number <= 0 {
		return errors.Join(validate(t.Repo), fmt.Errorf("%w: number %d", vcs.ErrInvalid, t.Number))
	}
	return validate(t.Repo)
}
