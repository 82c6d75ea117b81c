package wire

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlab"
	"github.com/greenwright/greenwright/webhook/gitlabhook"
)

// GitLabSetup is what `setup gitlab` is asked to do.
type GitLabSetup struct {
	// Project or Group is the full path of the one whose hook is made; the other
	// is empty.
	Project, Group string
	// URL is where GitLab reaches the receiver; empty is the configured one.
	URL string
	// Token makes the hooks, when the configured account may not: a token of a
	// maintainer, for this one use.
	Token vcs.Secret
	// DryRun says what would be done, and does nothing.
	DryRun bool
}

// hookPlace is where the receiver takes GitLab's deliveries.
const hookPlace = "/webhooks/gitlab"

// gitlabSettings is the remedy for what the API cannot do.
const gitlabSettings = "in GitLab: Settings → Webhooks"

// SetupGitLab creates or repairs the hook of a project or group, and says what
// else is missing. Its error is of what was asked; what GitLab lacks is a
// finding.
func SetupGitLab(ctx context.Context, cfg config.Config, opts GitLabSetup) ([]Finding, error) {
	scope, err := scopeOf(opts.Project, opts.Group)
	if err != nil {
		return nil, err
	}
	if cfg.Forges.GitLab == nil || cfg.Forges.GitLab.Token == "" {
		return found("gitlab", Failure, "set GREENWRIGHT_GITLAB_TOKEN, or forges.gitlab.token_file", "no token is configured"), nil
	}
	forge, err := gitLab(*cfg.Forges.GitLab)
	if err != nil {
		return nil, err
	}
	out := append(checkToken(ctx, forge, time.Now()), checkRole(ctx, forge, scope)...)
	spec, faults := hookSpec(cfg, opts, scope)
	out = append(out, faults...)
	if spec.URL == "" || spec.Token == "" {
		return out, nil
	}
	maker, err := hookMaker(*cfg.Forges.GitLab, opts, forge)
	if err != nil {
		return nil, err
	}
	return append(out, putHook(ctx, maker, scope, spec, opts.DryRun)...), nil
}

// scopeOf reads the paths of a project or a group; its error wraps
// vcs.ErrInvalid.
func scopeOf(project, group string) (gitlab.Scope, error) {
	if (project == "") == (group == "") {
		return gitlab.Scope{}, fmt.Errorf("%w: want one of a project and a group", vcs.ErrInvalid)
	}
	path := strings.Trim(project+group, "/")
	if group != "" {
		return gitlab.Scope{Group: path}, anyIn(path).Validate()
	}
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return gitlab.Scope{}, fmt.Errorf("%w: project %q: want its full path, group/name", vcs.ErrInvalid, project)
	}
	ref := vcs.RepoRef{Forge: vcs.GitLab, Owner: path[:i], Name: path[i+1:]}
	return gitlab.Scope{Project: ref}, ref.Validate()
}

// anyIn is some project of a group.
func anyIn(group string) vcs.RepoRef {
	return vcs.RepoRef{Forge: vcs.GitLab, Owner: group, Name: "any"}
}

// hookMaker is the driver that hooks are made with.
func hookMaker(cfg config.GitLab, opts GitLabSetup, configured *gitlab.Forge) (*gitlab.Forge, error) {
	if opts.Token == "" {
		return configured, nil
	}
	cfg.Token = opts.Token
	return gitLab(cfg)
}

// expirySoon is when a token's end is told.
const expirySoon = 14 * 24 * time.Hour

// neededScope is what every part of the work takes, git included
// (docs.gitlab.com/user/profile/personal_access_tokens, "scopes").
const neededScope = "api"

// checkToken looks at the configured token.
func checkToken(ctx context.Context, forge *gitlab.Forge, now time.Time) []Finding {
	const name = "gitlab token"
	t, err := forge.Token(ctx)
	switch {
	case errors.Is(err, vcs.ErrForbidden):
		return found(name, Failure, "make a new token with the scope "+neededScope, "it is refused: %s", err)
	case err != nil:
		return found(name, Failure, "check forges.gitlab.base_url and the network", "%s", err)
	case !t.Active:
		return found(name, Failure, "make a new token with the scope "+neededScope, "%q is revoked or has expired", t.Name)
	case !slices.Contains(t.Scopes, neededScope):
		return found(name, Failure, "make a new token with the scope "+neededScope, "the scope %s is missing: %q has %s", neededScope, t.Name, strings.Join(t.Scopes, ", "))
	}
	who := fmt.Sprintf("%s token of %s, scope %s", t.Kind, t.Account.Login, neededScope)
	switch left := t.ExpiresAt.Sub(now); {
	case t.ExpiresAt.IsZero():
		return found(name, OK, "", "%s, without an end", who)
	case left < expirySoon:
		return found(name, Warning, "make a new token before that day", "%s, ends on %s", who, t.ExpiresAt.Format(time.DateOnly))
	}
	return found(name, OK, "", "%s, ends on %s", who, t.ExpiresAt.Format(time.DateOnly))
}

// checkRole looks at what the configured account may in a project or group.
func checkRole(ctx context.Context, forge *gitlab.Forge, scope gitlab.Scope) []Finding {
	name := "gitlab role"
	role, err := forge.AccessLevel(ctx, scope)
	switch {
	case errors.Is(err, vcs.ErrNotFound):
		return found(name, Failure, "check the path, and make the account a member with the role Developer", "%s is not there, or the account does not see it", scope)
	case err != nil:
		return found(name, Failure, "check the token's scopes and the network", "%s", err)
	case role < gitlab.RoleDeveloper:
		return found(name, Failure, "give the account the role Developer, or a custom role that is based on it", "the account is %s in %s: it cannot push branches", role, scope)
	}
	return found(name, OK, "", "the account is %s in %s", role, scope)
}

// hookSpec is the hook that is wanted; without an address or secret there is
// none.
func hookSpec(cfg config.Config, opts GitLabSetup, scope gitlab.Scope) (gitlab.HookSpec, []Finding) {
	var out []Finding
	address, err := hookURL(opts.URL, cfg.PublicURL)
	if err != nil {
		out = found("receiver", Failure, "give --url https://host, or set public_url", "%s", err)
	}
	secret, faults := secretFor(cfg.Forges.GitLab.Webhooks, scope)
	return gitlab.HookSpec{URL: address, Token: secret}, append(out, faults...)
}

// hookURL is the hook's address: a given one without a path gets the
// receiver's.
func hookURL(given, public string) (string, error) {
	if given == "" {
		given = public
	}
	u, err := url.Parse(given)
	switch {
	case given == "":
		return "", errors.New("it is not known where GitLab reaches this server")
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("want https://host or https://host/path, without a secret in it")
	case strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), hookPlace):
		return strings.TrimSuffix(u.String(), "/"), nil
	}
	return strings.TrimSuffix(u.String(), "/") + hookPlace, nil
}

// secretFor is the first configured secret that is believed for a project, or
// for all of a group's.
func secretFor(hooks []config.GitLabWebhook, scope gitlab.Scope) (secret vcs.Secret, faults []Finding) {
	const name = "webhook secret"
	for _, h := range hooks {
		if !covers(h.Projects, scope) {
			continue
		}
		if h.SigningKey != "" {
			faults = found(name, Warning, gitlabSettings+" → the hook → Signing token: the one that is configured here",
				"a signing key is configured for %s: until the hook has it too, its deliveries are not believed", scope)
		}
		if secret == "" {
			secret = h.Secret
		}
	}
	if secret == "" {
		return "", append(faults, found(name, Failure, "set GREENWRIGHT_GITLAB_WEBHOOK_SECRET, or forges.gitlab.webhooks with a secret_file for it", "no configured secret is believed for %s", scope)...)
	}
	return secret, faults
}

func covers(projects []string, scope gitlab.Scope) bool {
	t := gitlabhook.Token{Projects: projects}
	if scope.Group == "" {
		return t.Covers(scope.Project)
	}
	return t.Covers(anyIn(scope.Group)) && t.Covers(anyIn(scope.Group+"/any"))
}

// putHook makes the hook as it should be, and wakes one that GitLab has given
// up.
func putHook(ctx context.Context, forge *gitlab.Forge, scope gitlab.Scope, spec gitlab.HookSpec, dry bool) []Finding {
	const name = "gitlab hook"
	before, err := hookAt(ctx, forge, scope, spec.URL)
	if err != nil {
		return hookRefused(scope, spec, err)
	}
	if dry {
		return found(name, OK, "", "%s: would %s %s", scope, deed(before), spec.URL)
	}
	h, made, err := forge.PutHook(ctx, scope, spec)
	switch {
	case err != nil:
		return hookRefused(scope, spec, err)
	case made:
		return found(name, OK, "", "%s: hook %d to %s was created", scope, h.ID, spec.URL)
	case h.Enabled():
		return found(name, OK, "", "%s: hook %d to %s is as it should be now (%s)", scope, h.ID, spec.URL, deed(before))
	}
	return append(found(name, OK, "", "%s: hook %d to %s is as it should be now (%s)", scope, h.ID, spec.URL, deed(before)), enable(ctx, forge, scope, h)...)
}

// hookAt finds the hook with an address; nil when there is none.
func hookAt(ctx context.Context, forge *gitlab.Forge, scope gitlab.Scope, address string) (*gitlab.Hook, error) {
	all, err := forge.Hooks(ctx, scope)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(h gitlab.Hook) bool { return h.At(address) })
	if i < 0 {
		return nil, nil
	}
	return &all[i], nil
}

// deed is what is done about a hook, before it is done.
func deed(before *gitlab.Hook) string {
	if before == nil {
		return "create a hook to"
	}
	var faults []string
	if missing := missingEvents(before.HookEvents); len(missing) > 0 {
		faults = append(faults, "events: "+strings.Join(missing, ", "))
	}
	if !before.VerifyTLS {
		faults = append(faults, "verification of the certificate")
	}
	if !before.Enabled() {
		faults = append(faults, "it is "+before.Status)
	}
	return "set its secret" + strings.Join(append([]string{""}, faults...), "; ")
}

// missingEvents are those that something reacts to, as GitLab's settings call
// them.
func missingEvents(have gitlab.HookEvents) []string {
	want := gitlab.WantedEvents()
	var out []string
	for _, e := range []struct {
		name       string
		want, have bool
	}{
		{"comments", want.Notes, have.Notes},
		{"confidential comments", want.ConfidentialNotes, have.ConfidentialNotes},
		{"issues", want.Issues, have.Issues},
		{"confidential issues", want.ConfidentialIssues, have.ConfidentialIssues},
		{"merge requests", want.MergeRequests, have.MergeRequests},
		{"pipelines", want.Pipelines, have.Pipelines},
		{"jobs", want.Jobs, have.Jobs},
	} {
		if e.want && !e.have {
			out = append(out, e.name)
		}
	}
	return out
}

// hookRefused is a hook that could not be made: somebody who may makes it.
func hookRefused(scope gitlab.Scope, spec gitlab.HookSpec, err error) []Finding {
	role, extra := "a maintainer", ""
	if scope.Group != "" {
		role, extra = "an owner", " (hooks of groups need GitLab Premium; a hook for each project does not)"
	}
	remedy := "give --token-file with the token of " + role + " of " + scope.String() + ", or let one make the hook " + gitlabSettings +
		", to " + spec.URL + ", with the configured secret and the events " + strings.Join(missingEvents(gitlab.HookEvents{}), ", ") + extra
	return found("gitlab hook", Failure, remedy, "%s", err)
}
