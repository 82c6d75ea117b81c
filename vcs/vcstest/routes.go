package vcstest

import (
	"net/http"
	"strings"
)

// Permissions of the calls, from docs.github.com/rest/authentication/
// permissions-required-for-github-apps.
const (
	metadataRead  = "metadata=read"
	talkRead      = "issues=read; pull_requests=read"
	talkWrite     = "issues=write; pull_requests=write"
	pullsRead     = "pull_requests=read"
	pullsWrite    = "pull_requests=write"
	checksRead    = "checks=read"
	actionsRead   = "actions=read"
	repoPrefix    = "/repos/{owner}/{repo}"
	apiPrefix     = "/api/v3"
	graphqlPath   = "/api/graphql"
	logPathPrefix = "/_logs/"
)

func routes() []route {
	r := repoPrefix
	return []route{
		{"GET /app", needApp, getApp},
		{"GET /app/installations", needApp, listInstallations},
		{"POST /app/installations/{id}/access_tokens", needApp, createToken},
		{"GET " + r + "/installation", needApp, getInstallation},
		{"GET /user", needUser, getSelf},
		{"GET /users/{login}", needAny, getUser},
		{"GET " + r, metadataRead, getRepo},
		{"GET " + r + "/collaborators/{login}/permission", metadataRead, getPermission},

		{"GET " + r + "/issues/{number}", talkRead, getIssue},
		{"GET " + r + "/issues/{number}/comments", talkRead, listComments},
		{"POST " + r + "/issues/{number}/comments", talkWrite, createComment},
		{"PATCH " + r + "/issues/comments/{id}", talkWrite, editComment},
		{"POST " + r + "/issues/{number}/reactions", talkWrite, reactOnIssue},
		{"POST " + r + "/issues/comments/{id}/reactions", talkWrite, reactOnComment},
		{"POST " + r + "/pulls/comments/{id}/reactions", pullsWrite, reactOnRemark},

		{"GET " + r + "/pulls", pullsRead, listPulls},
		{"POST " + r + "/pulls", pullsWrite, createPull},
		{"GET " + r + "/pulls/{number}", pullsRead, getPull},
		{"PATCH " + r + "/pulls/{number}", pullsWrite, editPull},
		{"POST " + r + "/pulls/{number}/requested_reviewers", pullsWrite, requestReviewers},
		{"GET " + r + "/pulls/{number}/reviews/{id}", pullsRead, getReview},
		{"GET " + r + "/pulls/{number}/comments", pullsRead, listRemarks},
		{"POST " + r + "/pulls/{number}/comments/{id}/replies", pullsWrite, replyToRemark},
		{"PATCH " + r + "/pulls/comments/{id}", pullsWrite, editRemark},

		{"GET " + r + "/commits/{sha}/check-runs", checksRead, listCheckRuns},
		{"GET " + r + "/check-runs/{id}", checksRead, getCheckRun},
		{"GET " + r + "/actions/jobs/{id}", actionsRead, getJob},
		{"GET " + r + "/actions/jobs/{id}/logs", actionsRead, getJobLogs},
		{"GET " + r + "/actions/runs/{id}", actionsRead, getRun},
	}
}

// handler serves the API, GraphQL, logs and git.
func (g *GitHub) handler() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range routes() {
		method, path, _ := strings.Cut(rt.pattern, " ")
		mux.Handle(method+" "+apiPrefix+path, g.serve(rt))
	}
	mux.Handle("POST "+graphqlPath, g.serve(route{need: needAny, handle: graphql}))
	mux.HandleFunc("GET "+logPathPrefix+"{id}", g.serveLog)
	mux.HandleFunc("/", g.serveOther)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		defer g.record(rec, r)
		if !inject(rec, r, g.failure(r)) {
			mux.ServeHTTP(rec, r)
		}
	})
}

func (g *GitHub) record(rec *recorder, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	who := "app"
	value := bearerOf(r)
	if _, password, ok := r.BasicAuth(); ok {
		value = password
	}
	if t := g.tokens[value]; t != nil || value == "" {
		who = t.String()
	}
	g.note(Request{Method: r.Method, Path: r.URL.RequestURI(), Credential: who, Status: rec.status, At: g.cfg.Now()})
}

// serveOther is git, or nothing that is known.
func (g *GitHub) serveOther(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, ".git/") && !strings.HasPrefix(r.URL.Path, "/api/") {
		g.serveGit(w, r)
		return
	}
	g.fault("%s %s: unknown route", r.Method, r.URL.Path)
	notFound().write(w, r)
}
