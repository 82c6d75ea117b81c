package wire

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/github"
	"github.com/greenwright/greenwright/vcs/gitlab"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/githubhook"
	"github.com/greenwright/greenwright/webhook/gitlabhook"
)

// host is one configured forge, and who we are there.
type host struct {
	name  vcs.ForgeName
	forge vcs.Forge
	self  atomic.Pointer[vcs.Actor] // nil while it is not known
}

// hosts are the configured forges, in the order of their names.
type hosts []*host

// openHosts makes the drivers; it asks no forge.
func openHosts(cfg config.Forges) (hosts, error) {
	var out hosts
	if cfg.GitHub != nil {
		forge, err := gitHub(*cfg.GitHub)
		if err != nil {
			return nil, err
		}
		out = append(out, &host{name: vcs.GitHub, forge: forge})
	}
	if cfg.GitLab != nil {
		forge, err := gitLab(*cfg.GitLab)
		if err != nil {
			return nil, err
		}
		out = append(out, &host{name: vcs.GitLab, forge: forge})
	}
	return out, nil
}

// gitHub makes the driver of a configured GitHub.
func gitHub(cfg config.GitHub) (*github.Forge, error) {
	return github.New(github.Config{BaseURL: cfg.BaseURL, Token: cfg.Token, AppID: cfg.AppID, PrivateKey: cfg.PrivateKey, Workflows: cfg.Workflows})
}

// gitLab makes the driver of a configured GitLab.
func gitLab(cfg config.GitLab) (*gitlab.Forge, error) {
	return gitlab.New(gitlab.Config{
		BaseURL: cfg.BaseURL, Token: cfg.Token, RootCAs: cfg.CA, Proxy: cfg.Proxy, MergeRequests: gitlab.MergeRequests(cfg.MergeRequests),
	})
}

// parserOf reads the deliveries of a configured forge.
func parserOf(cfg config.Forges, name vcs.ForgeName) (webhook.Parser, error) {
	if name == vcs.GitLab {
		return gitLabParser(*cfg.GitLab)
	}
	var opts []githubhook.Option
	if id := cfg.GitHub.AppID; id != 0 {
		opts = append(opts, githubhook.WithAppID(id))
	}
	return githubhook.New(cfg.GitHub.Secrets, opts...)
}

func gitLabParser(cfg config.GitLab) (*gitlabhook.Parser, error) {
	out := gitlabhook.Config{BaseURL: cfg.BaseURL}
	for _, h := range cfg.Webhooks {
		if h.Secret != "" {
			out.Tokens = append(out.Tokens, gitlabhook.Token{Secret: h.Secret, Projects: h.Projects})
		}
		if h.SigningKey != "" {
			out.SigningKeys = append(out.SigningKeys, gitlabhook.Token{Secret: h.SigningKey, Projects: h.Projects})
		}
	}
	return gitlabhook.New(out)
}

// drivers are the forges by their names.
func (h hosts) drivers() map[vcs.ForgeName]vcs.Forge {
	out := map[vcs.ForgeName]vcs.Forge{}
	for _, one := range h {
		out[one.name] = one.forge
	}
	return out
}

// of is the host of a forge, nil when it is not configured.
func (h hosts) of(name vcs.ForgeName) *host {
	i := slices.IndexFunc(h, func(one *host) bool { return one.name == name })
	if i < 0 {
		return nil
	}
	return h[i]
}

// rules are those of a forge; who we are there is asked when it is not known.
func (h hosts) rules(ctx context.Context, cfg config.Config, name vcs.ForgeName) (trigger.Rules, error) {
	one := h.of(name)
	if one == nil {
		return trigger.Rules{}, fmt.Errorf("%w: no forge %q is configured", vcs.ErrInvalid, name)
	}
	self, err := one.askSelf(ctx)
	return rules(cfg, self), err
}

// selfRetry is how often a forge is asked who we are until it answers.
const selfRetry = 10 * time.Second

// learnSelf asks the forge who we are, so that own events are dropped at the
// door. Until it answers they are dropped by the dispatcher.
func (h *host) learnSelf(ctx context.Context, log *slog.Logger) {
	for {
		if self, err := h.askSelf(ctx); err == nil {
			log.Info("forge knows us", "forge", h.name, "login", self.Login, "id", self.ID)
			return
		} else if ctx.Err() == nil {
			log.Warn("forge does not say who we are: check its settings and the network, greenwright doctor helps", "forge", h.name, "error", err)
		}
		timer := time.NewTimer(selfRetry)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (h *host) askSelf(ctx context.Context) (vcs.Actor, error) {
	if known := h.self.Load(); known != nil {
		return *known, nil
	}
	self, err := h.forge.Self(ctx)
	if err != nil {
		return self, err
	}
	h.self.Store(&self)
	return self, nil
}

// knownSelf is who we are, zero while that is not known.
func (h *host) knownSelf() vcs.Actor {
	if known := h.self.Load(); known != nil {
		return *known
	}
	return vcs.Actor{}
}
