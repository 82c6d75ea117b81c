package vcstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// object is a JSON object.
type object = webhooktest.Object

// Who may call a route, beside the permissions of tokens.
const (
	needApp  = "app"  // the App's own token
	needUser = "user" // a personal token
	needAny  = "any"  // anybody
)

// route is one call of the API. need is one of the constants above, or
// permissions as GitHub's documentation lists them.
type route struct {
	pattern string
	need    string
	handle  func(*call) reply
}

// call is a request on its way through a handler, which runs with mu held.
type call struct {
	g     *GitHub
	r     *http.Request
	body  []byte
	token *token
	repo  *Repo
}

// reply is what a handler answers.
type reply struct {
	status int
	body   any
	header map[string]string
}

func ok(body any) reply      { return reply{status: http.StatusOK, body: body} }
func created(body any) reply { return reply{status: http.StatusCreated, body: body} }

func refuse(status int, format string, args ...any) reply {
	return reply{status: status, body: object{
		"message": fmt.Sprintf(format, args...), "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status),
	}}
}

func notFound() reply { return refuse(http.StatusNotFound, "Not Found") }

// decode reads the body strictly; what it does not know is a fault.
func (c *call) decode(out any) (reply, bool) {
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		c.g.fault("%s %s: body: %v", c.r.Method, c.r.URL.Path, err)
		return refuse(http.StatusUnprocessableEntity, "Invalid request: %v", err), false
	}
	return reply{}, true
}

// missing is the answer to a request without a member, and a fault.
func (c *call) missing(member string) reply {
	c.g.fault("%s %s: no %s", c.r.Method, c.r.URL.Path, member)
	return refuse(http.StatusUnprocessableEntity, "Invalid request: %q wasn't supplied.", member)
}

// number reads an integer of the path; 0 matches nothing.
func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.r.PathValue(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// thread finds the issue or pull request that the path names.
func (c *call) thread() *thread { return c.repo.threads[int(c.number("number"))] }

// page cuts a listing as the query asks and links to the next part.
func (c *call) page(all []any) ([]any, map[string]string) {
	q := c.r.URL.Query()
	size, page := atoi(q.Get("per_page"), 30), atoi(q.Get("page"), 1)
	from := min((page-1)*size, len(all))
	to := min(from+size, len(all))
	var header map[string]string
	if to < len(all) {
		q.Set("page", strconv.Itoa(page+1))
		next := fmt.Sprintf("%s%s?%s", c.g.base, c.r.URL.Path, q.Encode())
		header = map[string]string{"Link": fmt.Sprintf("<%s>; rel=\"next\"", next)}
	}
	return all[from:to], header
}

func (c *call) list(all []any) reply {
	part, header := c.page(all)
	if part == nil {
		part = []any{}
	}
	return reply{status: http.StatusOK, body: part, header: header}
}

func atoi(s string, fallback int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 100 && fallback == 30 {
		return fallback
	}
	return n
}

// maxRequest bounds a request's body: GitHub's bodies are 64 kB of text.
const maxRequest = 1 << 20

// serve is the http.Handler of a route.
func (g *GitHub) serve(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			g.fault("%s %s: reading the body: %v", r.Method, r.URL.Path, err)
			return
		}
		g.mu.Lock()
		c := &call{g: g, r: r, body: body}
		rep, admitted := c.admit(rt.need)
		if admitted {
			rep = rt.handle(c)
		}
		g.mu.Unlock()
		w.Header().Set("X-GitHub-Media-Type", "github.v3; format=json")
		rep.write(w, r)
	}
}

// admit authenticates and authorises as GitHub does.
func (c *call) admit(need string) (reply, bool) {
	if need == needApp {
		if err := c.g.checkJWT(bearerOf(c.r)); err != nil {
			c.g.fault("%s %s: %v", c.r.Method, c.r.URL.Path, err)
			return refuse(http.StatusUnauthorized, "A JSON web token could not be decoded"), false
		}
	} else if rep, good := c.authenticate(); !good {
		return rep, false
	}
	if owner := c.r.PathValue("owner"); owner != "" {
		c.repo = c.g.repos[strings.ToLower(owner+"/"+c.r.PathValue("repo"))]
		if c.repo == nil {
			return notFound(), false
		}
	}
	switch need {
	case needApp, needAny:
		return reply{}, true
	case needUser:
		if c.token == nil || c.token.app {
			return c.forbid("a user"), false
		}
		return reply{}, true
	}
	if !c.token.allows(need, c.repo) {
		return c.forbid(need), false
	}
	return reply{}, true
}

func (c *call) authenticate() (reply, bool) {
	t, err := c.g.find(bearerOf(c.r))
	if err != nil {
		c.g.fault("%s %s: %v", c.r.Method, c.r.URL.Path, err)
		return refuse(http.StatusUnauthorized, "Bad credentials"), false
	}
	c.token = t
	return reply{}, true
}

// forbid hides what cannot be seen and names the missing permission otherwise.
func (c *call) forbid(need string) reply {
	c.g.fault("%s %s: %s may not: want %s", c.r.Method, c.r.URL.Path, c.token, need)
	if c.repo != nil && c.repo.meta.Private && !c.token.allows("metadata=read", c.repo) {
		return notFound()
	}
	rep := refuse(http.StatusForbidden, "Resource not accessible by integration")
	rep.header = map[string]string{"X-Accepted-GitHub-Permissions": need}
	return rep
}

func (rep reply) write(w http.ResponseWriter, r *http.Request) {
	for k, v := range rep.header {
		w.Header().Set(k, v)
	}
	if rep.body == nil {
		w.WriteHeader(rep.status)
		return
	}
	if text, plain := rep.body.([]byte); plain {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(rep.status)
		_, _ = w.Write(text) // the client may have gone
		return
	}
	b, err := json.Marshal(rep.body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if r.Method == http.MethodGet && rep.status == http.StatusOK {
		tag := etagOf(b)
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(rep.status)
	_, _ = w.Write(b) // the client may have gone
}
