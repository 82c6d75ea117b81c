package vcstest

import (
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// gitlabHook is a webhook of a project or group, made over the API.
type gitlabHook struct {
	id    int64
	url   string
	token string
	wants map[string]bool // by the API's names: note_events, …
	tls   bool
	made  time.Time
	fails int // in a row
	until time.Time
	off   bool
}

// gitlabAttempt is one request to a hook.
type gitlabAttempt struct {
	id   int64
	hook *gitlabHook
	sent Delivery
	at   time.Time
}

// eventMember is the setting of a hook that lets an event through.
func eventMember(name string) string {
	return map[string]string{
		webhooktest.NoteHook: "note_events", webhooktest.ConfidentialNoteHook: "confidential_note_events",
		webhooktest.IssueHook: "issues_events", webhooktest.ConfidentialIssueHook: "confidential_issues_events",
		webhooktest.MergeRequestHook: "merge_requests_events", webhooktest.PipelineHook: "pipeline_events",
		webhooktest.JobHook: "job_events", webhooktest.PushHook: "push_events",
	}[name]
}

// emit queues a hook for every configured URL, and for the hooks of the project
// and of its groups that want it. It never blocks.
func (p *Project) emit(h webhooktest.Hook) {
	p.srv.add(h)
	for _, k := range p.hooksAbove() {
		if k.wants[eventMember(h.Name)] && k.status(p.srv.cfg.Now()) == hookExecutable {
			p.srv.addFor(k.url, h, k)
		}
	}
}

// hooksAbove are the project's hooks and those of the groups that it is in.
func (p *Project) hooksAbove() []*gitlabHook {
	out := slices.Clone(p.hooks)
	for path := strings.ToLower(p.meta.Owner); path != ""; {
		out = append(out, p.srv.groups[path]...)
		i := strings.LastIndexByte(path, '/')
		path = path[:max(i, 0)]
	}
	return out
}

// addFor queues a hook for one URL.
func (o *outbox) addFor(url string, h webhooktest.Hook, k *gitlabHook) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n++
	o.push(Delivery{ID: webhooktest.DeliveryID(o.n), URL: url, Event: h.Name, Body: h.Body, hook: k})
}

// The states of a hook (docs.gitlab.com/user/project/integrations/webhooks,
// "Auto-disabled webhooks").
const (
	hookExecutable = "executable"
	hookPaused     = "temporarily_disabled"
	hookOff        = "disabled"
)

const (
	// maxHookFails is after how many failures in a row GitLab pauses a hook.
	maxHookFails = 4
	// maxHookPauses is after how many it disables one for good.
	maxHookPauses = 40
	hookPause     = time.Minute
)

func (k *gitlabHook) status(now time.Time) string {
	switch {
	case k.off:
		return hookOff
	case now.Before(k.until):
		return hookPaused
	}
	return hookExecutable
}

// answered keeps what came of a delivery and pauses a hook that fails.
func (g *GitLab) answered(d Delivery) {
	if d.hook == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.cfg.Now()
	g.attempts = append(g.attempts, gitlabAttempt{id: g.newID(), hook: d.hook, sent: d, at: now})
	if d.succeeded() {
		d.hook.fails, d.hook.until, d.hook.off = 0, time.Time{}, false
		return
	}
	d.hook.fails++
	if d.hook.fails >= maxHookFails {
		d.hook.until = now.Add(hookPause << min(d.hook.fails-maxHookFails, 10))
	}
	d.hook.off = d.hook.fails >= maxHookPauses
}

// DisableHooks makes every hook so far one that GitLab has given up.
func (g *GitLab) DisableHooks() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.projects {
		for _, k := range p.hooksAbove() {
			k.off = true
		}
	}
}
