package vcstest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

func (p *Project) visibility() string {
	switch {
	case p.internal:
		return "internal"
	case p.meta.Private:
		return "private"
	}
	return "public"
}

func (c *gitlabCall) projectObject(p *Project) object {
	m := p.meta
	o := object{
		"id": m.ID, "name": m.Name, "path": m.Name, "path_with_namespace": m.FullName(), "name_with_namespace": m.Owner + " / " + m.Name,
		"description": nil, "default_branch": m.DefaultBranch, "visibility": p.visibility(), "archived": m.Archived, "empty_repo": len(p.tips) == 0,
		"web_url": m.URL, "http_url_to_repo": m.URL + ".git", "ssh_url_to_repo": "git@forge:" + m.FullName() + ".git", "readme_url": nil,
		"namespace":  object{"id": m.ID + firstID, "name": m.Owner, "path": m.Owner, "kind": "group", "full_path": m.Owner},
		"created_at": c.g.now(), "last_activity_at": c.g.now(), "forks_count": 0, "star_count": 0, "topics": []string{},
		"ci_config_path": p.ciConfig, "merge_method": "merge", "squash_option": "default_off", "jobs_enabled": true, "issues_enabled": true,
		"public_jobs": true, "only_allow_merge_if_pipeline_succeeds": false,
	}
	if f := p.forkOf; f != nil && f.visible(c.token) {
		o["forked_from_project"] = object{"id": f.meta.ID, "path_with_namespace": f.meta.FullName(), "web_url": f.meta.URL}
	}
	return o
}

func getProject(c *gitlabCall) reply { return ok(c.projectObject(c.project)) }

// getMember knows inherited members as well, as all/ does: here every member is
// one of the project.
func getMember(c *gitlabCall) reply {
	id := c.number("user")
	m := c.project.members[id]
	a, there := c.g.byID(id)
	if m == nil || !there {
		return missingThing("Member")
	}
	o := c.g.apiUser(a)
	o["access_level"], o["membership_state"], o["expires_at"], o["created_at"] = m.level, m.state, nil, c.g.now()
	if !m.expires.IsZero() {
		o["expires_at"] = m.expires.UTC().Format(time.DateOnly)
	}
	if m.role != "" {
		o["member_role"] = object{"id": 1, "name": m.role, "base_access_level": m.level, "admin_merge_request": true}
	}
	return ok(o)
}

// byID finds an account.
func (g *GitLab) byID(id int64) (vcs.Actor, bool) {
	for _, a := range g.users {
		if a.ID == id {
			return a, true
		}
	}
	return vcs.Actor{}, false
}

// getGitLabUser is an account as everybody sees it.
func getGitLabUser(c *gitlabCall) reply {
	a, there := c.g.byID(c.number("user"))
	if !there {
		return missingThing("User")
	}
	o := c.g.apiUser(a)
	o["bot"], o["public_email"], o["created_at"] = a.Kind == vcs.KindBot, nil, c.g.now()
	if c.g.external[a.ID] {
		o["external"] = true // administrators alone see it; the own account does
	}
	return ok(o)
}

func getOwnUser(c *gitlabCall) reply {
	a := c.token.actor
	o := c.g.apiUser(a)
	o["bot"], o["email"], o["external"], o["two_factor_enabled"] = a.Kind == vcs.KindBot, a.Login+"@example.com", c.g.external[a.ID], false
	return ok(o)
}

func getBranch(c *gitlabCall) reply {
	p, name := c.project, c.r.PathValue("branch")
	tip := p.tips[name]
	if tip == "" {
		return missingThing("Branch")
	}
	rule, guarded := p.protection(name)
	level := p.levelOf(c.token.actor)
	return ok(object{
		"name": name, "merged": false, "protected": guarded, "default": name == p.meta.DefaultBranch, "developers_can_push": rule.push == developer,
		"developers_can_merge": rule.push == developer, "can_push": level >= developer && (!guarded || rule.push > 0 && level >= rule.push),
		"web_url": p.meta.URL + "/-/tree/" + name, "commit": object{"id": tip, "short_id": tip[:8], "title": "A change", "created_at": c.g.now()},
	})
}

func listProtected(c *gitlabCall) reply {
	var all []any
	for i, b := range c.project.protected {
		levels := []object{{"id": i + 1, "access_level": b.push, "access_level_description": strconv.Itoa(b.push), "user_id": nil, "group_id": nil, "deploy_key_id": nil}}
		all = append(all, object{
			"id": i + 1, "name": b.name, "push_access_levels": levels, "merge_access_levels": levels, "allow_force_push": false,
			"unprotect_access_levels": []object{}, "code_owner_approval_required": false, "inherited": false,
		})
	}
	return c.list(all)
}

// getPushRule is null without one; an edition without them has no such route.
func getPushRule(c *gitlabCall) reply {
	if c.project.pushRule == nil {
		return reply{status: http.StatusOK, body: []byte("null")}
	}
	return ok(c.project.pushRule)
}
