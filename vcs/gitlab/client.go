package gitlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// perPage is GitLab's largest page.
	perPage = 100
	// maxPages bounds a listing; 5,000 entries.
	maxPages = 50
	// maxRedirects is above what a moved project needs.
	maxRedirects = 3
	// projectTTL is how long a project's id is believed: another project may
	// take the path of one that was moved.
	projectTTL = 10 * time.Minute
	// maxProjects bounds the remembered ids.
	maxProjects = 1024
)

// connect makes the clients; every request of either carries the credential.
func (f *Forge) connect() error {
	f.http = &http.Client{Transport: bearer{next: f.plain, token: f.cfg.Token, at: f.at.api}, CheckRedirect: f.redirect}
	// The credential is bearer's business.
	c, err := gl.NewOAuthClient("", gl.WithBaseURL(f.at.web), gl.WithHTTPClient(f.http), //nolint:staticcheck // frozen, and what this driver is built on
		gl.WithoutRetries(), gl.WithCustomRetryMax(0), gl.WithCustomLimiter(unlimited{}))
	if err != nil {
		return fmt.Errorf("%w: gitlab: building the client: %w", vcs.ErrInvalid, err)
	}
	c.UserAgent = "greenwright"
	f.api = c
	return nil
}

// unlimited is go-gitlab's limiter, off: vcs/transport has the limits.
type unlimited struct{}

func (unlimited) Wait(ctx context.Context) error { return ctx.Err() }

// redirect follows GitLab to a moved project, and nobody anywhere else.
func (f *Forge) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || via[0].Method != http.MethodGet || !below(r.URL, f.at.api) {
		return fmt.Errorf("%w: redirect to %s", vcs.ErrUnavailable, r.URL.Host)
	}
	return nil
}

// below reports whether an address is one of the API's.
func below(u, api *url.URL) bool {
	return u.Scheme == api.Scheme && u.Host == api.Host && strings.HasPrefix(u.Path, api.Path)
}

// bearer adds the token, for the API alone. All kinds of access token are taken
// in this header (docs.gitlab.com/api/rest/authentication), and vcs/transport
// tells accounts apart by it.
type bearer struct {
	next  http.RoundTripper
	token vcs.Secret
	at    *url.URL
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if !below(r.URL, b.at) {
		return nil, fmt.Errorf("%w: no credential for %s", vcs.ErrForbidden, r.URL.Host)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token.Reveal())
	return b.next.RoundTrip(r)
}

// call makes one request of the API; path is relative to it and escaped.
func (f *Forge) call(ctx context.Context, method, path string, q url.Values, body, out any) (*gl.Response, error) {
	r, err := f.api.NewRequest(method, path, body, []gl.RequestOptionFunc{gl.WithContext(ctx)})
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	r.URL.RawQuery = q.Encode()
	resp, err := f.api.Do(r, out)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return resp, fmt.Errorf("%w: the answer is no JSON: %w", vcs.ErrUnavailable, err)
	}
	return resp, err
}

// read is a GET below a project, by its path: GitLab redirects from an old one.
func (f *Forge) read(ctx context.Context, repo vcs.RepoRef, path string, q url.Values, out any) error {
	_, err := f.call(ctx, http.MethodGet, pathOf(repo)+path, q, nil, out)
	return err
}

// pathOf is a project's place in the API, by its path.
func pathOf(repo vcs.RepoRef) string { return "projects/" + gl.PathEscape(repo.FullName()) }

// list reads a listing page by page, offset or keyset, until keep says that it
// has enough. more is set when there would have been other pages.
func list[T any](ctx context.Context, f *Forge, path string, q url.Values, pages int, keep func([]T) (enough bool)) (more bool, err error) {
	q = cloneQuery(q)
	q.Set("per_page", strconv.Itoa(perPage))
	for range pages {
		var got []T
		resp, err := f.call(ctx, http.MethodGet, path, q, nil, &got)
		if err != nil {
			return false, err
		}
		if keep(got) {
			return false, nil
		}
		if more = nextPage(resp, q); !more {
			return false, nil
		}
	}
	return more, nil
}

// nextPage turns the query to the next page; false is the end. Of a keyset's
// link only the query is taken.
func nextPage(resp *gl.Response, q url.Values) bool {
	if resp.NextPage != 0 {
		q.Set("page", strconv.Itoa(resp.NextPage))
		return true
	}
	next, err := url.Parse(resp.NextLink)
	if err != nil || resp.NextLink == "" {
		return false
	}
	for name, v := range next.Query() {
		q[name] = v
	}
	return true
}

func cloneQuery(q url.Values) url.Values {
	out := url.Values{}
	for name, v := range q {
		out[name] = v
	}
	return out
}

// collect is a whole listing; one of more than maxPages is an error, for what is
// not in a part of it may well be there.
func collect[T any](ctx context.Context, f *Forge, path string, q url.Values) ([]T, error) {
	var all []T
	more, err := list(ctx, f, path, q, maxPages, func(got []T) bool { all = append(all, got...); return false })
	if err == nil && more {
		err = fmt.Errorf("%w: %s has more than %d pages", vcs.ErrUnsupported, path, maxPages)
	}
	return all, err
}

// project is what is remembered of one.
type project struct {
	id int64
	at time.Time
}

// write changes something below a project, by its id: GitLab refuses writes to
// an old path (405), and does not redirect them. A remembered id that is gone
// is looked up again, once.
func (f *Forge) write(ctx context.Context, repo vcs.RepoRef, method, path string, body, out any) error {
	id, known, err := f.projectID(ctx, repo)
	if err != nil {
		return err
	}
	_, err = f.call(ctx, method, idPath(id)+path, nil, body, out)
	if !known || !isNotFound(err) {
		return err
	}
	f.forget(repo)
	again, _, findErr := f.projectID(ctx, repo)
	if findErr != nil || again == id {
		return err
	}
	_, err = f.call(ctx, method, idPath(again)+path, nil, body, out)
	return err
}

func idPath(id int64) string { return "projects/" + strconv.FormatInt(id, 10) }

// projectID finds a project's id; known is set when it was remembered.
func (f *Forge) projectID(ctx context.Context, repo vcs.RepoRef) (id int64, known bool, err error) {
	key := strings.ToLower(repo.FullName())
	f.mu.Lock()
	p, ok := f.projects[key]
	f.mu.Unlock()
	if ok && f.now().Sub(p.at) < projectTTL {
		return p.id, true, nil
	}
	facts, err := f.projectFacts(ctx, pathOf(repo))
	if err != nil {
		return 0, false, fmt.Errorf("finding the project: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.projects) >= maxProjects {
		clear(f.projects)
	}
	f.projects[key] = project{id: facts.ID, at: f.now()}
	return facts.ID, false, nil
}

func (f *Forge) forget(repo vcs.RepoRef) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.projects, strings.ToLower(repo.FullName()))
}

// validate refuses names of other forges and names unfit for a path.
func validate(repo vcs.RepoRef) error {
	if repo.Forge != vcs.GitLab {
		return fmt.Errorf("%w: %s is not on GitLab", vcs.ErrInvalid, repo)
	}
	return repo.Validate()
}

func validateThread(t vcs.Thread) error {
	if t.Number <= 0 {
		return errors.Join(validate(t.Repo), fmt.Errorf("%w: number %d", vcs.ErrInvalid, t.Number))
	}
	return validate(t.Repo)
}

func validateMerge(t vcs.Thread) error {
	if !t.PullRequest {
		return errors.Join(validateThread(t), fmt.Errorf("%w: %s is no merge request", vcs.ErrInvalid, t))
	}
	return validateThread(t)
}

// threadPath is a thread's place below its project: issues and merge requests
// are numbered apart.
func threadPath(t vcs.Thread) string {
	if t.PullRequest {
		return "/merge_requests/" + strconv.Itoa(t.Number)
	}
	return "/issues/" + strconv.Itoa(t.Number)
}
