package vcstest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// installationID is the one installation of the App.
const installationID = 42

func getApp(c *call) reply {
	return ok(object{
		"id": c.g.cfg.AppID, "slug": c.g.cfg.AppSlug, "name": c.g.cfg.AppSlug, "permissions": c.g.cfg.Permissions,
		"html_url": c.g.base + "/apps/" + c.g.cfg.AppSlug, "installations_count": 1,
	})
}

func (g *GitHub) installation() object {
	return object{
		"id": installationID, "app_id": g.cfg.AppID, "app_slug": g.cfg.AppSlug, "permissions": g.cfg.Permissions,
		"repository_selection": "selected", "target_type": "Organization",
	}
}

func listInstallations(c *call) reply { return c.list([]any{c.g.installation()}) }

func getInstallation(c *call) reply {
	if !c.repo.installed {
		return notFound()
	}
	return ok(c.g.installation())
}

// createToken narrows to the repositories and permissions that are asked, and
// refuses more than the App has.
func createToken(c *call) reply {
	if c.number("id") != installationID {
		return notFound()
	}
	var in struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if rep, good := c.decode(&in); !good {
		return rep
	}
	t := &token{actor: c.g.bot, app: true, perms: c.g.cfg.Permissions, expires: c.g.cfg.Now().Add(c.g.cfg.TokenTTL)}
	if in.Permissions != nil {
		t.perms = in.Permissions
	}
	for name, level := range t.perms {
		if has := c.g.cfg.Permissions[name]; has == "" || level == "write" && has != "write" {
			c.g.fault("a token with %s=%s, which the app does not have", name, level)
			return refuse(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
		}
	}
	if in.Repositories != nil || in.RepositoryIDs != nil {
		if t.repos = c.g.selected(in.Repositories, in.RepositoryIDs); t.repos == nil {
			return refuse(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
		}
	}
	value := c.g.addToken("ghs_", t)
	return created(object{
		"token": value.Reveal(), "expires_at": t.expires.UTC(), "permissions": t.perms, "repository_selection": "selected",
	})
}

// selected is nil when one of them is not installed. Names carry no owner: an
// installation has one.
func (g *GitHub) selected(names []string, ids []int64) map[int64]bool {
	out := map[int64]bool{}
	for _, r := range g.repos {
		named := slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, r.meta.Name) })
		if r.installed && (named || slices.Contains(ids, r.meta.ID)) {
			out[r.meta.ID] = true
		}
	}
	if len(out) < max(len(names), len(ids)) {
		return nil
	}
	return out
}

func getSelf(c *call) reply { return ok(c.g.site(c.g.now()).User(c.token.actor)) }

func getUser(c *call) reply {
	a, err := c.g.user(c.r.PathValue("login"))
	if err != nil {
		return notFound()
	}
	return ok(c.g.site(c.g.now()).User(a))
}

func getRepo(c *call) reply { return ok(c.g.site(c.g.now()).Repo(c.repo.meta)) }

// getPermission answers with the legacy level, the role's name and the
// resolved permissions, as GitHub does.
func getPermission(c *call) reply {
	a, err := c.g.user(c.r.PathValue("login"))
	if err != nil {
		return notFound()
	}
	p := c.repo.levelOf(a)
	legacy := map[vcs.Permission]string{
		vcs.PermissionTriage: "read", vcs.PermissionMaintain: "write",
	}[p]
	if legacy == "" {
		legacy = p.String()
	}
	role := c.repo.customRole[a.ID]
	if role == "" {
		role = p.String()
	}
	user, _ := c.g.site(c.g.now()).User(a).(webhooktest.Object)
	user["role_name"] = role
	user["permissions"] = object{
		"pull": p >= vcs.PermissionRead, "triage": p >= vcs.PermissionTriage, "push": p >= vcs.PermissionWrite,
		"maintain": p >= vcs.PermissionMaintain, "admin": p >= vcs.PermissionAdmin,
	}
	return ok(object{"permission": legacy, "role_name": role, "user": user})
}
