package vcstest

import (
	"context"
	"crypto/sha1"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// GitLabConfig is what a simulated GitLab may be given; only Dir is required.
type GitLabConfig struct {
	// Dir holds the bare repositories.
	Dir string
	// Addr to listen on; default 127.0.0.1 and a free port.
	Addr string
	// SubPath is where GitLab lives on its host, e.g. /gitlab; empty is its root.
	SubPath string
	// WebhookToken is sent to HookURLs as X-Gitlab-Token.
	WebhookToken string
	// SigningKey, whsec_…, signs what is sent to HookURLs.
	SigningKey string
	// HookURLs get every event, as hooks of the group do. See AddHook.
	HookURLs []string
	// BotLogin is the account of Token; default greenwright. One named
	// project_1_bot_… is a project's token's.
	BotLogin string
	// OverlapNumbers counts issues and merge requests apart, as GitLab does.
	// Without it one sequence numbers both, so that a number alone names a
	// thread and a test can be the same on every forge.
	OverlapNumbers bool
	// Now is the clock; default time.Now.
	Now func() time.Time
}

func (c GitLabConfig) withDefaults() (GitLabConfig, error) {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.BotLogin == "" {
		c.BotLogin = "greenwright"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Dir == "" || c.SubPath != "" && (c.SubPath[0] != '/' || strings.HasSuffix(c.SubPath, "/")) {
		return c, fmt.Errorf("%w: simulated GitLab: want a directory, and a sub-path like /gitlab", vcs.ErrInvalid)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("finding %s: %w", c.Dir, err)
	}
	c.Dir = dir
	return c, nil
}

// GitLab is a simulated GitLab. Its methods are safe for concurrent use.
type GitLab struct {
	cfg  GitLabConfig
	git  gitCommand
	base string // http://host:port and the sub-path
	bot  vcs.Actor
	serving
	*outbox
	journal

	mu sync.Mutex
	accounts
	projects map[string]*Project      // by lower-case full path
	moved    map[string]*Project      // by the path that they had
	groups   map[string][]*gitlabHook // hooks by lower-case path
	tokens   map[string]*gitlabToken  // by value
	external map[int64]bool           // accounts that are no insiders
	attempts []gitlabAttempt          // what was sent to hooks made over the API
}

// NewGitLab starts a server; Close ends it.
func NewGitLab(cfg GitLabConfig) (*GitLab, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	git, ln, err := ground(cfg.Dir, cfg.Addr)
	if err != nil {
		return nil, err
	}
	return startGitLab(cfg, git, ln), nil
}

func startGitLab(cfg GitLabConfig, git gitCommand, ln net.Listener) *GitLab {
	g := &GitLab{
		cfg: cfg, git: git, base: "http://" + ln.Addr().String() + cfg.SubPath, accounts: newAccounts(),
		projects: map[string]*Project{}, moved: map[string]*Project{}, groups: map[string][]*gitlabHook{},
		tokens: map[string]*gitlabToken{}, external: map[int64]bool{},
	}
	g.outbox = newOutbox(cfg.HookURLs, g.delivery)
	g.after = g.answered
	g.bot = g.addUser(cfg.BotLogin, vcs.KindBot)
	g.start(ln, g.handler(), g.fault)
	return g
}

// delivery is a request to a hook, with its secrets.
func (g *GitLab) delivery(ctx context.Context, d Delivery) (*http.Request, error) {
	secrets := webhooktest.GitLabSecrets{Token: g.cfg.WebhookToken, SigningKey: g.cfg.SigningKey}
	if d.hook != nil {
		secrets = webhooktest.GitLabSecrets{Token: d.hook.token}
	}
	told := webhooktest.GitLabDelivery{Key: d.ID, Event: eventUUID(d.Body), Webhook: d.ID, Instance: g.base, At: g.cfg.Now()}
	return webhooktest.GitLabRequest(ctx, d.URL, secrets, told, webhooktest.Hook{Name: d.Event, Body: d.Body})
}

// eventUUID is the same for all hooks that one event sets off.
func eventUUID(body []byte) string {
	sum := sha1.Sum(body)
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// Close delivers what is queued for at most five seconds, then stops.
func (g *GitLab) Close() error {
	flushed := g.end()
	g.shut()
	return flushed
}

// URL is where people open it, its path included; the API is below it.
func (g *GitLab) URL() string { return g.base }

// WebURL is URL.
func (g *GitLab) WebURL() string { return g.base }

// Bot is the account of Token.
func (g *GitLab) Bot() vcs.Actor { return g.bot }

// Token is a new token of the bot with the scope api, and no end.
func (g *GitLab) Token() vcs.Secret {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.newToken(gitlabToken{actor: g.bot, name: "greenwright", scopes: []string{"api"}})
}

// CreateUser makes an account, or returns the one there is.
func (g *GitLab) CreateUser(login string) vcs.Actor {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.addUser(login, vcs.KindUser)
}

// CreateBot makes a service account. Unlike GitHub's, its name has no mark.
func (g *GitLab) CreateBot(login string) vcs.Actor {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.addUser(login, vcs.KindBot)
}

// SetExternal makes an account one that sees no internal project.
func (g *GitLab) SetExternal(login string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.user(login)
	g.external[a.ID] = err == nil
	return err
}

// Repo finds a project by its present path; nil when there is none.
func (g *GitLab) Repo(owner, name string) *Project {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.projects[strings.ToLower(owner+"/"+name)]
}

// now is the time as GitLab shows it, in milliseconds.
func (g *GitLab) now() time.Time { return g.cfg.Now().UTC().Truncate(time.Millisecond) }

func (g *GitLab) site(at time.Time) webhooktest.GitLabSite {
	return webhooktest.GitLabSite{URL: g.base, At: at}
}
