package vcstest

import (
	"net/http"
	"strings"
)

// gitlabAPI is where the API is below the web's base.
const gitlabAPI = "/api/v4"

// gitlabRoutes are the calls that are known, with the level that each needs
// (docs.gitlab.com/user/permissions) and the query parameters that it takes.
func gitlabRoutes() []gitlabRoute {
	const (
		p     = "/projects/{id}"
		issue = p + "/issues/{issue}"
		merge = p + "/merge_requests/{merge}"
		order = "order_by sort"
	)
	out := []gitlabRoute{
		{"GET /user", anyLevel, "", getOwnUser},
		{"GET /users/{user}", anyLevel, "", getGitLabUser},
		{"GET /personal_access_tokens/self", anyLevel, "", getOwnToken},
		{"GET " + p, anonymous, "license statistics", getProject},
		{"GET " + p + "/members/all/{user}", anyLevel, "", getMember},
		{"GET " + p + "/repository/branches/{branch}", codeReader, "", getBranch},
		{"GET " + p + "/protected_branches", codeReader, "search", listProtected},
		{"GET " + p + "/push_rule", maintainer, "", getPushRule},

		{"GET " + issue, anonymous, "", getGitLabIssue},
		{"GET " + merge, codeReader, "include_diverged_commits_count include_rebase_in_progress render_html", getMerge},
		{"PUT " + merge, anyLevel, "", editMerge},
		{"GET " + merge + "/reviewers", codeReader, "", listReviewers},
		{"GET " + merge + "/discussions", codeReader, "", listDiscussions},
		{"POST " + merge + "/discussions/{discussion}/notes", anyLevel, "", replyInDiscussion},
		{"GET " + p + "/merge_requests", codeReader, "state source_branch target_branch scope author_id " + order, listMerges},
		{"POST " + p + "/merge_requests", anyLevel, "", createMergeRequest},

		{"GET " + p + "/repository/commits/{sha}/merge_requests", codeReader, "state", listCommitMerges},
		{"GET " + p + "/repository/commits/{sha}/statuses", codeReader, "ref stage name all pipeline_id " + order, listStatuses},
		{"GET " + p + "/pipelines", codeReader, "sha ref source status scope " + order, listPipelines},
		{"GET " + p + "/pipelines/{pipeline}", codeReader, "", getPipeline},
		{"GET " + p + "/pipelines/{pipeline}/jobs", codeReader, "include_retried scope", listPipelineJobs},
		{"GET " + p + "/pipelines/{pipeline}/bridges", codeReader, "scope", listBridges},
		{"GET " + p + "/jobs/{job}", codeReader, "", getGitLabJob},
		{"GET " + p + "/jobs/{job}/trace", codeReader, "", getTrace},
	}
	for _, on := range []string{issue, merge} {
		out = append(out,
			gitlabRoute{"GET " + on + "/notes", anyLevel, "activity_filter " + order, listNotes},
			gitlabRoute{"POST " + on + "/notes", anyLevel, "", createNote},
			gitlabRoute{"GET " + on + "/notes/{note}", anyLevel, "", getNote},
			gitlabRoute{"PUT " + on + "/notes/{note}", anyLevel, "", editNote},
			gitlabRoute{"DELETE " + on + "/notes/{note}", anyLevel, "", deleteNote},
		)
		for _, at := range []string{on, on + "/notes/{note}"} {
			out = append(out, gitlabRoute{"GET " + at + "/award_emoji", anyLevel, "", listAwards}, gitlabRoute{"POST " + at + "/award_emoji", anyLevel, "", award})
		}
	}
	return append(out, hookRoutes()...)
}

func hookRoutes() []gitlabRoute {
	out := []gitlabRoute{
		{"GET /groups/{group}", anyLevel, "with_projects", getGroup},
		{"GET /groups/{group}/members/all/{user}", anyLevel, "", getGroupMember},
	}
	// Of a group the handlers look at the level themselves.
	for base, level := range map[string]int{"/projects/{id}": maintainer, "/groups/{group}": anyLevel} {
		out = append(out,
			gitlabRoute{"GET " + base + "/hooks", level, "", listHooks},
			gitlabRoute{"POST " + base + "/hooks", level, "", createHook},
			gitlabRoute{"GET " + base + "/hooks/{hook}", level, "", getHook},
			gitlabRoute{"PUT " + base + "/hooks/{hook}", level, "", editHook},
			gitlabRoute{"DELETE " + base + "/hooks/{hook}", level, "", deleteHook},
			gitlabRoute{"GET " + base + "/hooks/{hook}/events", level, "status", listHookEvents},
			gitlabRoute{"POST " + base + "/hooks/{hook}/test/{trigger}", level, "", testHook},
		)
	}
	return out
}

// handler serves the API and git below the sub-path.
func (g *GitLab) handler() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range gitlabRoutes() {
		method, path, _ := strings.Cut(rt.pattern, " ")
		mux.Handle(method+" "+gitlabAPI+path, g.serve(rt))
	}
	mux.HandleFunc("/", g.serveOther)
	below := http.StripPrefix(g.cfg.SubPath, mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		defer g.record(rec, r)
		if !inject(rec, r, g.failure(r)) {
			below.ServeHTTP(rec, r)
		}
	})
}

func (g *GitLab) record(rec *recorder, r *http.Request) {
	value := gitlabCredential(r)
	if _, password, sent := r.BasicAuth(); sent {
		value = password
	}
	g.mu.Lock()
	who := "unknown"
	if t := g.tokens[value]; t != nil || value == "" {
		who = t.String()
	}
	g.mu.Unlock()
	g.note(Request{Method: r.Method, Path: r.URL.RequestURI(), Credential: who, Status: rec.status, At: g.cfg.Now()})
}

// serveOther is git, or nothing that is known.
func (g *GitLab) serveOther(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, ".git/") && !strings.HasPrefix(r.URL.Path, "/api/") {
		g.serveGit(w, r)
		return
	}
	g.fault("%s %s: unknown route", r.Method, r.URL.Path)
	reply{status: http.StatusNotFound, body: object{"error": "404 Not Found"}}.write(w, r)
}

// FailRateLimit answers the next n requests as GitLab's limits do.
func (g *GitLab) FailRateLimit(path string, n int, retryAfter string) {
	f := Failure{Path: path, Times: n, Status: http.StatusTooManyRequests, Body: "Retry later\n", Header: map[string]string{
		"RateLimit-Limit": "60", "RateLimit-Remaining": "0", "RateLimit-Observed": "61", "RateLimit-Name": "throttle_authenticated_api",
		"Content-Type": "text/plain",
	}}
	if retryAfter != "" {
		f.Header["Retry-After"] = retryAfter
	}
	g.Fail(f)
}
