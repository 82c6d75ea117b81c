package wire

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlab"
)

// HookCheck is what is looked at of GitLab's hooks.
type HookCheck struct {
	// Projects and Groups are looked at besides those that the configuration
	// names in full.
	Projects, Groups []string
	// Enable wakes hooks that GitLab has given up.
	Enable bool
}

// DoctorHooks checks GitLab's token and the hooks of the projects and groups
// that are known by name. Its error is of what was asked.
func DoctorHooks(ctx context.Context, cfg config.Config, opts HookCheck) ([]Finding, error) {
	scopes, err := scopesOf(cfg, opts)
	if err != nil {
		return nil, err
	}
	if cfg.Forges.GitLab == nil || cfg.Forges.GitLab.Token == "" {
		return nil, nil // named by checkConfig
	}
	forge, err := gitLab(*cfg.Forges.GitLab)
	if err != nil {
		return nil, nil // named by checkForges
	}
	bounded, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	out := checkToken(bounded, forge, time.Now())
	if len(scopes) == 0 {
		return append(out, found("gitlab hooks", Warning, "greenwright doctor --project GROUP/NAME, or name projects in full in forges.gitlab.webhooks", "no project or group is named whose hooks to look at")...), nil
	}
	for _, s := range scopes {
		one, cancel := context.WithTimeout(ctx, doctorTimeout)
		out = append(out, checkHooks(one, forge, s, cfg.PublicURL, opts.Enable)...)
		cancel()
	}
	return out, nil
}

// scopesOf are the projects and groups that are named in full: those asked for,
// and of the configuration the globs that stand for one.
func scopesOf(cfg config.Config, opts HookCheck) ([]gitlab.Scope, error) {
	var out []gitlab.Scope
	add := func(project, group string) error {
		s, err := scopeOf(project, group)
		for _, known := range out {
			if known == s {
				return nil
			}
		}
		if err == nil {
			out = append(out, s)
		}
		return err
	}
	for _, p := range opts.Projects {
		if err := add(p, ""); err != nil {
			return nil, err
		}
	}
	for _, g := range opts.Groups {
		if err := add("", g); err != nil {
			return nil, err
		}
	}
	if cfg.Forges.GitLab == nil {
		return out, nil
	}
	for _, h := range cfg.Forges.GitLab.Webhooks {
		for _, glob := range h.Projects {
			group, all := strings.CutSuffix(glob, "/**")
			if all {
				glob = ""
			} else {
				group = ""
			}
			_ = add(glob, group) // a glob of another form names nothing in full
		}
	}
	return out, nil
}

// checkHooks looks at the hooks of one project or group that lead here.
func checkHooks(ctx context.Context, forge *gitlab.Forge, scope gitlab.Scope, public string, wake bool) []Finding {
	name := "gitlab hooks of " + scope.String()
	all, err := forge.Hooks(ctx, scope)
	switch {
	case errors.Is(err, vcs.ErrForbidden):
		return found(name, Warning, "look at them "+gitlabSettings+", or give the account the role that is named", "the account may not see them: %s", err)
	case err != nil:
		return found(name, Failure, "check the path and the network", "%s", err)
	}
	var out []Finding
	for _, h := range all {
		if leadsHere(h.URL, public) {
			out = append(out, checkHook(ctx, forge, scope, h, wake)...)
		}
	}
	if len(out) == 0 {
		return found(name, Failure, "greenwright setup gitlab --"+scope.String(), "none of %d leads to this server", len(all))
	}
	return out
}

// leadsHere reports an address of the receiver, or, where its own is not
// known, one with its path.
func leadsHere(address, public string) bool {
	if want, err := hookURL("", public); err == nil {
		return gitlab.Hook{URL: address}.At(want)
	}
	u, err := url.Parse(address)
	return err == nil && strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), hookPlace)
}

// checkHook looks at one hook's state, settings and last deliveries.
func checkHook(ctx context.Context, forge *gitlab.Forge, scope gitlab.Scope, h gitlab.Hook, wake bool) []Finding {
	name := hookName(scope, h)
	last, failed := deliveries(ctx, forge, scope, h)
	switch missing := missingEvents(h.HookEvents); {
	case !h.Enabled() && wake:
		return append(found(name, Warning, "", "GitLab had switched it off (%s): %s", h.Status, last), enable(ctx, forge, scope, h)...)
	case !h.Enabled():
		until := ""
		if !h.DisabledUntil.IsZero() {
			until = " until " + h.DisabledUntil.UTC().Format(time.RFC3339)
		}
		return found(name, Failure, "see that this server answers, then greenwright doctor --enable-hooks", "GitLab has switched it off (%s%s): %s", h.Status, until, last)
	case len(missing) > 0:
		return found(name, Warning, "greenwright setup gitlab --"+scope.String(), "it does not send: %s; %s", strings.Join(missing, ", "), last)
	case failed:
		return found(name, Warning, "see this server's log for that time", "%s", last)
	}
	return found(name, OK, "", "%s", last)
}

func hookName(scope gitlab.Scope, h gitlab.Hook) string {
	return fmt.Sprintf("gitlab hook %d of %s", h.ID, scope)
}

// deliveries says how the last ones went, and whether the newest failed.
func deliveries(ctx context.Context, forge *gitlab.Forge, scope gitlab.Scope, h gitlab.Hook) (text string, failed bool) {
	all, err := forge.Deliveries(ctx, scope, h.ID)
	switch {
	case errors.Is(err, vcs.ErrUnsupported):
		return "this GitLab does not list deliveries", false
	case err != nil:
		return "its deliveries cannot be read: " + err.Error(), true
	case len(all) == 0:
		return "no delivery in the last days", false
	}
	good := 0
	for _, d := range all {
		if succeeded(d) {
			good++
		}
	}
	newest := all[0]
	answer := newest.Failure
	if newest.Status != 0 {
		answer = fmt.Sprintf("was answered %d", newest.Status)
	}
	when := ""
	if !newest.At.IsZero() {
		when = " at " + newest.At.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("of the last %d deliveries %d succeeded; the newest, %s%s, %s", len(all), good, newest.Trigger, when, answer), !succeeded(newest)
}

// The answers that GitLab counts as a success.
const (
	firstSuccess = 200
	firstError   = 400
)

func succeeded(d gitlab.Delivery) bool { return d.Status >= firstSuccess && d.Status < firstError }

// enable wakes a hook.
func enable(ctx context.Context, forge *gitlab.Forge, scope gitlab.Scope, h gitlab.Hook) []Finding {
	name := hookName(scope, h)
	_, err := forge.EnableHook(ctx, scope, h.ID)
	switch {
	case errors.Is(err, vcs.ErrUnavailable):
		return found(name, Failure, "start greenwright serve where the hook leads, with this configuration, and try again", "it cannot be switched on: %s", err)
	case errors.Is(err, vcs.ErrInvalid), errors.Is(err, vcs.ErrUnsupported):
		return found(name, Failure, gitlabSettings+" → Test", "it cannot be switched on from here: %s", err)
	case err != nil:
		return found(name, Failure, gitlabSettings+" → Test", "it cannot be switched on: %s", err)
	}
	return found(name, OK, "", "it was switched on again")
}
