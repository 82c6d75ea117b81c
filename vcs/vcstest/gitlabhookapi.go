package vcstest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// hookRow is where the hooks of the path's project or group are kept. Who may
// not manage a group's is told so.
func (c *gitlabCall) hookRow() (row []*gitlabHook, keep func([]*gitlabHook), rep reply, good bool) {
	if c.project != nil {
		return c.project.hooks, func(r []*gitlabHook) { c.project.hooks = r }, reply{}, true
	}
	group := strings.ToLower(c.r.PathValue("group"))
	if !c.g.isGroup(group) {
		return nil, nil, missingThing("Group"), false
	}
	if c.g.groupLevel(group, c.actor()) < owner {
		return nil, nil, c.forbid("owner of the group"), false
	}
	return c.g.groups[group], func(r []*gitlabHook) { c.g.groups[group] = r }, reply{}, true
}

// inGroup are the projects below a group's path.
func (g *GitLab) inGroup(path string) []*Project {
	var out []*Project
	for _, p := range g.sortedProjects() {
		if strings.HasPrefix(strings.ToLower(p.meta.FullName()), strings.ToLower(path)+"/") {
			out = append(out, p)
		}
	}
	return out
}

func (g *GitLab) isGroup(path string) bool { return len(g.inGroup(path)) > 0 }

// groupLevel is an account's level in a group: here the least that it has in
// all projects there.
func (g *GitLab) groupLevel(path string, a vcs.Actor) int {
	level := owner
	for _, p := range g.inGroup(path) {
		level = min(level, p.levelOf(a))
	}
	return level
}

func getGroup(c *gitlabCall) reply {
	path := c.r.PathValue("group")
	if !c.g.isGroup(path) {
		return missingThing("Group")
	}
	return ok(object{"id": 7, "name": path, "path": path, "full_path": path, "visibility": "public", "web_url": c.g.base + "/groups/" + path})
}

func getGroupMember(c *gitlabCall) reply {
	path := c.r.PathValue("group")
	a, there := c.g.byID(c.number("user"))
	if !c.g.isGroup(path) || !there || c.g.groupLevel(path, a) == 0 {
		return missingThing("Not found")
	}
	o := c.g.apiUser(a)
	o["access_level"], o["membership_state"], o["expires_at"] = c.g.groupLevel(path, a), memberActive, nil
	return ok(o)
}

// hookObject never shows the token.
func (c *gitlabCall) hookObject(k *gitlabHook) object {
	o := object{
		"id": k.id, "url": k.url, "enable_ssl_verification": k.tls, "created_at": k.made, "alert_status": k.status(c.g.cfg.Now()),
		"disabled_until": nil, "url_variables": []any{}, "push_events_branch_filter": nil, "branch_filter_strategy": "wildcard",
		"custom_webhook_template": nil, "custom_headers": []any{}, "name": nil, "description": nil,
	}
	if !k.until.IsZero() {
		o["disabled_until"] = k.until.UTC()
	}
	for _, name := range hookEvents() {
		o[name] = k.wants[name]
	}
	return o
}

// hookEvents are the settings of a hook that let events through
// (docs.gitlab.com/api/project_webhooks).
func hookEvents() []string {
	return []string{
		"push_events", "tag_push_events", "note_events", "confidential_note_events", "issues_events", "confidential_issues_events",
		"merge_requests_events", "pipeline_events", "job_events", "wiki_page_events", "deployment_events", "releases_events",
		"feature_flag_events", "emoji_events", "resource_access_token_events", "vulnerability_events",
	}
}

func listHooks(c *gitlabCall) reply {
	row, _, rep, good := c.hookRow()
	if !good {
		return rep
	}
	var all []any
	for _, k := range row {
		all = append(all, c.hookObject(k))
	}
	return c.list(all)
}

// hookOf finds the hook of the path.
func (c *gitlabCall) hookOf() (*gitlabHook, reply) {
	row, _, rep, good := c.hookRow()
	if !good {
		return nil, rep
	}
	for _, k := range row {
		if k.id == c.number("hook") {
			return k, reply{}
		}
	}
	return nil, missingThing("Not found")
}

func getHook(c *gitlabCall) reply {
	k, rep := c.hookOf()
	if k == nil {
		return rep
	}
	return ok(c.hookObject(k))
}

// fill reads what is set of a hook.
func (c *gitlabCall) fill(k *gitlabHook) (reply, bool) {
	var in map[string]json.RawMessage
	if rep, good := c.decode(&in); !good {
		return rep, false
	}
	for name, raw := range in {
		if err := k.set(name, raw); err != nil {
			return c.bad("%s: %v", name, err), false
		}
	}
	if !strings.HasPrefix(k.url, "http://") && !strings.HasPrefix(k.url, "https://") {
		return c.bad("url is missing or blocked"), false
	}
	return reply{}, true
}

func (k *gitlabHook) set(name string, raw json.RawMessage) error {
	switch name {
	case "url":
		return json.Unmarshal(raw, &k.url)
	case "token":
		return json.Unmarshal(raw, &k.token)
	case "enable_ssl_verification":
		return json.Unmarshal(raw, &k.tls)
	}
	if !slices.Contains(hookEvents(), name) {
		return vcs.ErrInvalid
	}
	on := false
	err := json.Unmarshal(raw, &on)
	k.wants[name] = on
	return err
}

func createHook(c *gitlabCall) reply {
	row, keep, rep, good := c.hookRow()
	if !good {
		return rep
	}
	k := &gitlabHook{id: c.g.newID(), wants: map[string]bool{"push_events": true}, tls: true, made: c.g.now()}
	if rep, good := c.fill(k); !good {
		return rep
	}
	keep(append(row, k))
	return created(c.hookObject(k))
}

func editHook(c *gitlabCall) reply {
	k, rep := c.hookOf()
	if k == nil {
		return rep
	}
	if rep, good := c.fill(k); !good {
		return rep
	}
	return ok(c.hookObject(k))
}

func deleteHook(c *gitlabCall) reply {
	k, rep := c.hookOf()
	if k == nil {
		return rep
	}
	row, keep, _, _ := c.hookRow()
	keep(slices.DeleteFunc(row, func(o *gitlabHook) bool { return o == k }))
	return reply{status: http.StatusNoContent}
}

// listHookEvents is newest first; what was secret in a request is not shown.
func listHookEvents(c *gitlabCall) reply {
	k, rep := c.hookOf()
	if k == nil {
		return rep
	}
	var all []any
	for _, a := range slices.Backward(c.g.attempts) {
		if a.hook == k {
			all = append(all, a.object())
		}
	}
	return c.list(all)
}

func (a gitlabAttempt) object() object {
	var status any = a.sent.Status
	if a.sent.Status == 0 {
		status = "internal error"
	}
	return object{
		"id": a.id, "url": a.sent.URL, "trigger": strings.ReplaceAll(strings.ToLower(a.sent.Event), " hook", "_hooks"),
		"request_headers":  object{"X-Gitlab-Event": a.sent.Event, "X-Gitlab-Event-UUID": eventUUID(a.sent.Body), "Idempotency-Key": a.sent.ID, "X-Gitlab-Token": "[REDACTED]"},
		"request_data":     json.RawMessage(a.sent.Body),
		"response_headers": object{"Date": a.at.UTC().Format(http.TimeFormat)}, "response_body": a.sent.Answer,
		"response_status": status, "execution_duration": a.sent.Took.Seconds(),
	}
}

// testHook sends a payload at once, wakes a hook that was given up, and answers
// 422 when the receiver does not take it.
func testHook(c *gitlabCall) reply {
	k, rep := c.hookOf()
	if k == nil {
		return rep
	}
	if !slices.Contains(hookEvents(), c.r.PathValue("trigger")) {
		return c.bad("trigger does not have a valid value")
	}
	p := c.project
	if p == nil {
		p = c.g.inGroup(c.r.PathValue("group"))[0]
	}
	if len(p.tips) == 0 {
		return gitlabRefuse(http.StatusUnprocessableEntity, "Ensure the project has at least one commit.")
	}
	h := p.site(c.g.now()).PushEvent(p.shown(), p.meta.DefaultBranch, p.tips[p.meta.DefaultBranch], p.tips[p.meta.DefaultBranch], c.actor())
	d := Delivery{ID: webhooktest.DeliveryID(int(c.g.newID())), URL: k.url, Event: h.Name, Body: h.Body, hook: k}
	c.g.mu.Unlock() // the receiver may ask this server something
	d = c.g.deliver(c.r.Context(), d)
	c.g.answered(d)
	c.g.mu.Lock()
	if !d.succeeded() {
		return gitlabRefuse(http.StatusUnprocessableEntity, "%s", orText(d.Answer, "internal error"))
	}
	k.until, k.off = time.Time{}, false
	return created(object{"message": "201 Created"})
}

// succeeded reports whether the receiver took it.
func (d Delivery) succeeded() bool {
	return d.Status >= http.StatusOK && d.Status < http.StatusMultipleChoices
}

func orText(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
