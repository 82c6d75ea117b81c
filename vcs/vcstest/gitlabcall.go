package vcstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// gitlabRoute is one call of the API.
type gitlabRoute struct {
	pattern string
	// level is the least that the account may have in the project, or one of
	// the constants below.
	level int
	// query are the parameters that it takes, beside those of pages.
	query  string
	handle func(*gitlabCall) reply
}

// anyLevel is of routes for every account that sees the project, or that look
// themselves; anonymous of those that take no credential where the project is
// public; codeReader of those for everybody who may read code, which guests of
// a private project may not.
const (
	anyLevel   = 0
	anonymous  = -1
	codeReader = -2
)

// gitlabCall is a request on its way through a handler, which runs with mu held.
type gitlabCall struct {
	g       *GitLab
	r       *http.Request
	body    []byte
	token   *gitlabToken
	project *Project
}

func gitlabRefuse(status int, format string, args ...any) reply {
	return reply{status: status, body: object{"message": fmt.Sprintf(format, args...)}}
}

func missingThing(what string) reply {
	return gitlabRefuse(http.StatusNotFound, "404 %s Not Found", what)
}

// bad is the answer to a request that is wrong in itself, and a fault.
func (c *gitlabCall) bad(format string, args ...any) reply {
	text := fmt.Sprintf(format, args...)
	c.g.fault("%s %s: %s", c.r.Method, c.r.URL.Path, text)
	return reply{status: http.StatusBadRequest, body: object{"error": text}}
}

// forbid is the answer to who may not, and a fault.
func (c *gitlabCall) forbid(need string) reply {
	c.g.fault("%s %s: %s may not: want %s", c.r.Method, c.r.URL.Path, c.token, need)
	return gitlabRefuse(http.StatusForbidden, "403 Forbidden")
}

// decode reads the body strictly. GitLab ignores members that it does not know;
// here they are faults.
func (c *gitlabCall) decode(out any) (reply, bool) {
	if len(c.body) == 0 {
		c.body = []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return c.bad("body: %v", err), false
	}
	return reply{}, true
}

// actor is the token's account; the zero Actor without one.
func (c *gitlabCall) actor() vcs.Actor {
	if c.token == nil {
		return vcs.Actor{}
	}
	return c.token.actor
}

// number reads an integer of the path; 0 matches nothing.
func (c *gitlabCall) number(name string) int64 {
	n, err := strconv.ParseInt(c.r.PathValue(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// The sizes of GitLab's pages (docs.gitlab.com/api/rest, "Pagination").
const (
	gitlabPage    = 20
	gitlabMaxPage = 100
)

// list answers with a part of a listing, as the query asks, and with the
// headers that tell of the rest.
func (c *gitlabCall) list(all []any) reply {
	q := c.r.URL.Query()
	size, page := positive(q.Get("per_page"), gitlabPage), positive(q.Get("page"), 1)
	size = min(size, gitlabMaxPage)
	pages := max(1, (len(all)+size-1)/size)
	from := min((page-1)*size, len(all))
	part := append([]any{}, all[from:min(from+size, len(all))]...)
	header := map[string]string{
		"X-Total": strconv.Itoa(len(all)), "X-Total-Pages": strconv.Itoa(pages), "X-Per-Page": strconv.Itoa(size),
		"X-Page": strconv.Itoa(page), "X-Next-Page": "", "X-Prev-Page": "",
	}
	links := []string{c.link(q, 1, "first"), c.link(q, pages, "last")}
	if page < pages {
		header["X-Next-Page"] = strconv.Itoa(page + 1)
		links = append(links, c.link(q, page+1, "next"))
	}
	if page > 1 {
		header["X-Prev-Page"] = strconv.Itoa(page - 1)
	}
	header["Link"] = strings.Join(links, ", ")
	return reply{status: http.StatusOK, body: part, header: header}
}

func (c *gitlabCall) link(q url.Values, page int, rel string) string {
	q.Set("page", strconv.Itoa(page))
	return fmt.Sprintf("<%s%s?%s>; rel=%q", c.g.base, c.r.URL.EscapedPath(), q.Encode(), rel)
}

func positive(s string, fallback int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return fallback
	}
	return n
}

// maxGitLabRequest is above the largest text that GitLab takes.
const maxGitLabRequest = 8 << 20

// serve is the http.Handler of a route.
func (g *GitLab) serve(rt gitlabRoute) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxGitLabRequest))
		if err != nil {
			g.fault("%s %s: reading the body: %v", r.Method, r.URL.Path, err)
			return
		}
		g.mu.Lock()
		c := &gitlabCall{g: g, r: r, body: body}
		rep, admitted := c.admit(rt)
		if admitted {
			rep = rt.handle(c)
		}
		g.mu.Unlock()
		rep.write(w, r)
	}
}

// admit authenticates and authorises as GitLab does: first the token and its
// scope, then the project, which who may not see it is told is not there.
func (c *gitlabCall) admit(rt gitlabRoute) (reply, bool) {
	if rep, good := c.authenticate(); !good {
		return rep, false
	}
	if c.token == nil && rt.level != anonymous {
		c.g.fault("%s %s: no token", c.r.Method, c.r.URL.Path)
		return gitlabRefuse(http.StatusUnauthorized, "401 Unauthorized"), false
	}
	if rep, good := c.scoped(); !good {
		return rep, false
	}
	for name := range c.r.URL.Query() {
		if !slices.Contains(strings.Fields("page per_page "+rt.query), name) {
			c.g.fault("%s %s: %s is not a parameter", c.r.Method, c.r.URL.Path, name) // and GitLab ignores it
		}
	}
	if !strings.Contains(rt.pattern, "/projects/{id}") {
		return reply{}, true
	}
	return c.enter(rt)
}

func (c *gitlabCall) authenticate() (reply, bool) {
	t, err := c.g.findToken(gitlabCredential(c.r))
	if err != nil {
		c.g.fault("%s %s: %v", c.r.Method, c.r.URL.Path, err)
		return gitlabRefuse(http.StatusUnauthorized, "401 Unauthorized"), false
	}
	c.token = t
	return reply{}, true
}

// scoped refuses a token without the scope, in the words of RFC 6750.
func (c *gitlabCall) scoped() (reply, bool) {
	need := scopesFor(c.r)
	if c.token == nil || len(need) == 0 || c.token.hasScope(need...) {
		return reply{}, true
	}
	c.g.fault("%s %s: %s lacks a scope of %v", c.r.Method, c.r.URL.Path, c.token, need)
	return reply{status: http.StatusForbidden, body: object{
		"error": "insufficient_scope", "scope": strings.Join(need, " "),
		"error_description": "The request requires higher privileges than provided by the access token.",
	}}, false
}

// enter finds the project and looks at the account's level there.
func (c *gitlabCall) enter(rt gitlabRoute) (reply, bool) {
	id := c.r.PathValue("id")
	p := c.g.projectBy(id)
	if old := c.g.moved[strings.ToLower(id)]; p == nil && old != nil && old.visible(c.token) {
		return c.redirect(old), false
	}
	if p == nil || !p.visible(c.token) {
		return missingThing("Project"), false
	}
	c.project = p
	if rt.level == codeReader && !p.readsCode(c.actor()) {
		return c.forbid("reporter, to read code"), false
	}
	if rt.level > anyLevel && p.levelOf(c.token.actor) < rt.level {
		return c.forbid(fmt.Sprintf("access level %d", rt.level)), false
	}
	return reply{}, true
}

// redirect leads to a moved project; GitLab does so for reading alone.
func (c *gitlabCall) redirect(to *Project) reply {
	if c.r.Method != http.MethodGet {
		c.g.fault("%s %s: the project has moved", c.r.Method, c.r.URL.Path)
		return gitlabRefuse(http.StatusMethodNotAllowed, "405 Non GET methods are not allowed for moved projects")
	}
	_, rest, _ := strings.Cut(c.r.URL.EscapedPath(), "/projects/")
	_, tail, below := strings.Cut(rest, "/")
	u := fmt.Sprintf("%s%s/projects/%d", c.g.base, gitlabAPI, to.meta.ID)
	if below {
		u += "/" + tail
	}
	if c.r.URL.RawQuery != "" {
		u += "?" + c.r.URL.RawQuery
	}
	return reply{status: http.StatusMovedPermanently, body: object{"message": "This resource has been moved permanently to " + u}, header: map[string]string{"Location": u}}
}

// projectBy finds a project by its id or path.
func (g *GitLab) projectBy(id string) *Project {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		for _, p := range g.projects {
			if p.meta.ID == n {
				return p
			}
		}
		return nil
	}
	return g.projects[strings.ToLower(id)]
}

// tooLongText reports a text over GitLab's limit in characters
// (docs.gitlab.com/administration/instance_limits).
func tooLongText(s string) bool { return len([]rune(s)) > maxGitLabBody }

const (
	maxGitLabBody  = 1_000_000
	maxGitLabTitle = 255
)

// apiUser is an account as most answers show it.
func (g *GitLab) apiUser(a vcs.Actor) object {
	return object{
		"id": a.ID, "username": a.Login, "name": a.Login, "state": "active", "locked": false,
		"avatar_url": nil, "web_url": g.base + "/" + a.Login,
	}
}
