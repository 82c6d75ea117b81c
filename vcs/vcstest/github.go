package vcstest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
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
	cfg    Config
	git    gitCommand
	key    *rsa.PrivateKey
	base   string // http://host:port
	server *http.Server
	served chan struct{} // closed when the server has ended
	bot    vcs.Actor
	out    *outbox

	mu       sync.Mutex
	lastID   int64
	users    map[string]vcs.Actor // by lower-case login
	repos    map[string]*Repo     // by lower-case full name
	tokens   map[string]*token    // by value
	faults   []string
	requests []Request
	failures []*Failure
}

const (
	keyBits       = 2048 // GitHub's own size for an App's key
	headerTimeout = 10 * time.Second
	closeTimeout  = 5 * time.Second
	// shutdownTimeout is short: clients keep connections that they never used.
	shutdownTimeout = 200 * time.Millisecond
	// firstID keeps ids apart from numbers of issues.
	firstID = 1_000_000
)

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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of repositories: %w", err)
	}
	git, err := newGitCommand()
	if err != nil {
		return nil, err
	}
	if cfg.AppKey == nil {
		if cfg.AppKey, err = rsa.GenerateKey(rand.Reader, keyBits); err != nil {
			return nil, fmt.Errorf("generating the app's key: %w", err)
		}
	}
	ln, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return start(cfg, git, ln), nil
}

func start(cfg Config, git gitCommand, ln net.Listener) *GitHub {
	g := &GitHub{
		cfg: cfg, git: git, key: cfg.AppKey, base: "http://" + ln.Addr().String(), served: make(chan struct{}),
		lastID: firstID, users: map[string]vcs.Actor{}, repos: map[string]*Repo{}, tokens: map[string]*token{},
	}
	g.out = newOutbox(cfg.WebhookSecret, cfg.HookURLs)
	g.bot = g.addUser(cfg.AppSlug+"[bot]", vcs.KindBot)
	g.server = &http.Server{Handler: g.handler(), ReadHeaderTimeout: headerTimeout}
	go func() {
		defer close(g.served)
		if err := g.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			g.fault("serving: %v", err)
		}
	}()
	return g
}

// Close delivers what is queued for at most five seconds, then stops.
func (g *GitHub) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	flushed := g.out.close(ctx)
	ctx, cancelShutdown := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancelShutdown()
	if err := g.server.Shutdown(ctx); err != nil {
		_ = g.server.Close() // the connections that did not end by themselves
	}
	<-g.served
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

// addUser is called with mu held, or before the server runs.
func (g *GitHub) addUser(login string, k vcs.ActorKind) vcs.Actor {
	if a, ok := g.users[strings.ToLower(login)]; ok {
		return a
	}
	a := vcs.Actor{ID: g.newID(), Login: login, Kind: k}
	g.users[strings.ToLower(login)] = a
	return a
}

func (g *GitHub) user(login string) (vcs.Actor, error) {
	a, ok := g.users[strings.ToLower(login)]
	if !ok {
		return vcs.Actor{}, fmt.Errorf("%w: no account %q", vcs.ErrNotFound, login)
	}
	return a, nil
}

func (g *GitHub) newID() int64 {
	g.lastID++
	return g.lastID
}

// now is the time as GitHub shows it, in seconds.
func (g *GitHub) now() time.Time { return g.cfg.Now().UTC().Truncate(time.Second) }

func (g *GitHub) site(at time.Time) webhooktest.Site { return webhooktest.Site{URL: g.base, At: at} }
