package vcstest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// quickActions are GitLab's commands (docs.gitlab.com/user/project/quick_actions).
func quickActions() []string {
	return []string{
		"add_child", "add_contacts", "add_email", "approve", "assign", "assign_reviewer", "award", "blocked_by", "blocks", "checkin_reminder",
		"clear_health_status", "clear_weight", "clone", "close", "cc", "confidential", "convert_to_ticket", "copy_metadata", "create_merge_request",
		"done", "draft", "due", "duplicate", "epic", "estimate", "health_status", "invite_email", "iteration", "label", "labels", "link", "lock",
		"merge", "milestone", "move", "page", "parent_epic", "promote_to", "promote_to_incident", "publish", "react", "ready", "reassign",
		"reassign_reviewer", "rebase", "relabel", "relate", "remove_child", "remove_contacts", "remove_due_date", "remove_email", "remove_epic",
		"remove_estimate", "remove_iteration", "remove_milestone", "remove_parent", "remove_time_spent", "remove_zoom", "reopen", "request_changes",
		"request_review", "reviewer", "set_parent", "severity", "ship", "shrug", "spend", "spent", "status", "submit_review", "subscribe", "tableflip",
		"target_branch", "timeline", "title", "todo", "type", "unapprove", "unassign", "unassign_reviewer", "unlabel", "unlink", "unlock", "unsubscribe",
		"wip", "weight", "zoom",
	}
}

// quickLine is a line that may be one: a slash at the first column.
var quickLine = regexp.MustCompile(`^/([a-zA-Z_]+)(?:\s+(.*))?$`)

// codeFence is the only one that keeps GitLab's older versions from looking for
// quick actions: at the first column, with an end that stands alone. What tildes
// enclose, and what a fence without an end begins, they execute.
const codeFence = "```"

// act executes the quick actions in a text, takes their lines out of it, and
// returns their names.
func (t *gitlabThread) act(by vcs.Actor, text *string) (done []string) {
	lines := strings.Split(strings.ReplaceAll(*text, "\r", ""), "\n")
	var kept []string
	for i := 0; i < len(lines); i++ {
		if n := fenced(lines[i:]); n > 0 {
			kept = append(kept, lines[i:i+n]...)
			i += n - 1
			continue
		}
		m := quickLine.FindStringSubmatch(lines[i])
		if m == nil || !slices.Contains(quickActions(), strings.ToLower(m[1])) {
			kept = append(kept, lines[i])
			continue
		}
		t.execute(by, strings.ToLower(m[1]), strings.TrimSpace(m[2]))
		done = append(done, strings.ToLower(m[1]))
	}
	if len(done) > 0 {
		*text = strings.Join(kept, "\n")
	}
	return done
}

// fenced is how many lines the code has that begins a text; 0 when none does.
func fenced(lines []string) int {
	if !strings.HasPrefix(lines[0], codeFence) {
		return 0
	}
	end := slices.Index(lines[1:], codeFence)
	if end < 0 {
		return 0
	}
	return end + 2 // the fences themselves
}

// execute does what an action says, as far as tests look at it.
func (t *gitlabThread) execute(by vcs.Actor, name, rest string) {
	switch name {
	case "close", "reopen":
		t.setOpen(name == "reopen")
		t.emitThread(name, by, "", nil)
	case "merge":
		if t.pull != nil {
			t.merge(by)
		}
	case "confidential":
		t.issue.Confidential = true
	case "lock", "unlock":
		t.issue.Locked = name == "lock"
	case "label", "labels":
		t.issue.Labels = append(t.issue.Labels, strings.Fields(strings.ReplaceAll(rest, "~", ""))...)
	case "title":
		t.setTitle(rest)
	case "approve":
		t.judge(by, "approved")
	case "request_changes":
		t.judge(by, "requested_changes")
	case "draft", "ready":
		if t.pull != nil {
			t.pull.Draft = name == "draft"
		}
	case "assign_reviewer", "reviewer", "request_review":
		for login := range strings.FieldsSeq(rest) {
			if a, err := t.project.srv.user(strings.TrimPrefix(login, "@")); err == nil {
				t.askTo(a)
			}
		}
	}
}

// written executes the quick actions in what came over the API, each of which
// is a fault: nothing that a program writes for others should command the forge.
func (c *gitlabCall) written(t *gitlabThread, text *string) []string {
	done := t.act(c.token.actor, text)
	for _, name := range done {
		c.g.fault("%s %s: quick action executed: /%s", c.r.Method, c.r.URL.Path, name)
	}
	return done
}
