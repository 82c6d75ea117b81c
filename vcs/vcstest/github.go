package vcstest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
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

// Config is what a simulated GitHub may be given; only Dir is required.
type Config struct {
	// Dir holds the bare repositories.
	Dir string
	// Addr to listen on; default 127.0.0.1 and a free port.
	Addr string
	// AppID and AppSlug are the App's; defaults 4242 and greenwright.
	AppID   int64
	AppSlug string
	// WebhookSecret signs what is delivered to HookURLs.
	WebhookSecret string
	// HookURLs get every event; more than one stands for hooks of the
	// repository and of its organisation. See AddHook.
	HookURLs []string
	// Permissions are the App's; default is what app.yml asks for.
	Permissions map[string]string
	// TokenTTL is how long an installation token lasts; default an hour, as
	// GitHub's.
	TokenTTL time.Duration
	// AppKey is the App's; default a fresh one, which takes a moment to make.
	AppKey *rsa.PrivateKey
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// defaultPermissions are those of the App manifest.
func defaultPermissions() map[string]string {
	return map[string]string{
		"metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write",
		"checks": "write", "actions": "read", "statuses": "read",
	}
}

func (c Config) withDefaults() Config {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.AppID == 0 {
		c.AppID = 4242
	}
	if c.AppSlug == "" {
		c.AppSlug = "greenwright"
	}
	if c.Permissions == nil {
		c.Permissions = defaultPermissions()
	}
	if c.TokenTTL == 0 {
		c.TokenTTL = time.Hour
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// GitHub is a simulated GitHub Enterprise Server. Its methods are safe for
// concurrent use.
type GitHub struct {
	cfg  Config
	git  gitCommand
	key  *rsa.PrivateKey
	base string // http://host:port
	bot  vcs.Actor
	serving
	*outbox
	journal

	mu sync.Mutex
	accounts
	repos  map[string]*Repo  // by lower-case full name
	tokens map[string]*token // by value
}

const keyBits = 2048 // GitHub's own size for an App's key

// NewGitHub starts a server; Close ends it.
func NewGitHub(cfg Config) (*GitHub, error) {
	cfg = cfg.withDefaults()
	if cfg.Dir == "" {
		return nil, fmt.Errorf("%w: simulated GitHub without a directory", vcs.ErrInvalid)
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", cfg.Dir, err)
	}
	cfg.Dir = dir
	if cfg.AppKey == nil {
		if cfg.AppKey, err = rsa.GenerateKey(rand.Reader, keyBits); err != nil {
			return nil, fmt.Errorf("generating the app's key: %w", err)
		}
	}
	git, ln, err := ground(cfg.Dir, cfg.Addr)
	if err != nil {
		return nil, err
	}
	return start(cfg, git, ln), nil
}

func start(cfg Config, git gitCommand, ln net.Listener) *GitHub {
	g := &GitHub{
		cfg: cfg, git: git, key: cfg.AppKey, base: "http://" + ln.Addr().String(),
		accounts: newAccounts(), repos: map[string]*Repo{}, tokens: map[string]*token{},
	}
	g.outbox = newOutbox(cfg.HookURLs, func(ctx context.Context, d Delivery) (*http.Request, error) {
		return webhooktest.Request(ctx, d.URL, cfg.WebhookSecret, d.ID, webhooktest.Hook{Name: d.Event, Body: d.Body})
	})
	g.bot = g.addUser(cfg.AppSlug+"[bot]", vcs.KindBot)
	g.start(ln, g.handler(), g.fault)
	return g
}

// Close delivers what is queued for at most five seconds, then stops.
func (g *GitHub) Close() error {
	flushed := g.end()
	g.shut()
	return flushed
}

// URL is the API's base, in the style of an Enterprise Server.
func (g *GitHub) URL() string { return g.base + "/api/v3/" }

// WebURL is what people see; git remotes are below it.
func (g *GitHub) WebURL() string { return g.base }

// AppID is the App's id.
func (g *GitHub) AppID() int64 { return g.cfg.AppID }

// AppKeyPEM is the App's private key.
func (g *GitHub) AppKeyPEM() vcs.Secret {
	return vcs.Secret(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(g.key)}))
}

// Bot is the App's account.
func (g *GitHub) Bot() vcs.Actor { return g.bot }

// CreateUser makes an account, or returns the one there is.
func (g *GitHub) CreateUser(login string) vcs.Actor {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.addUser(login, vcs.KindUser)
}

// CreateBot makes the account of another App.
func (g *GitHub) CreateBot(slug string) vcs.Actor {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.addUser(slug+"[bot]", vcs.KindBot)
}

// RenameUser gives a login to a new account, as after a rename and takeover.
func (g *GitHub) RenameUser(login string) vcs.Actor {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.users, strings.ToLower(login))
	return g.addUser(login, vcs.KindUser)
}

// now is the time as GitHub shows it, in seconds.
func (g *GitHub) now() time.Time { return g.cfg.Now().UTC().Truncate(time.Second) }

func (g *GitHub) site(at time.Time) webhooktest.Site { return webhooktest.Site{URL: g.base, At: at} }
