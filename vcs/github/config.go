package github

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/sticky"
	"github.com/greenwright/greenwright/vcs/transport"
)

const (
	publicAPI = "https://api.github.com/"
	publicWeb = "https://github.com"
	// publicSpacing is the pause between writes that GitHub asks for
	// (docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api).
	publicSpacing = time.Second
	enterprise    = "/api/v3/"
)

// Config is what an operator sets: a Token, or an App's id and key.
type Config struct {
	// BaseURL is that of a GitHub Enterprise Server, with or without
	// /api/v3/; empty is github.com.
	BaseURL string
	// Token is a personal access token, classic or fine-grained.
	Token vcs.Secret
	// AppID and PrivateKey (PEM) are a GitHub App's.
	AppID      int64
	PrivateKey vcs.Secret
	// Workflows asks for the right to push changes of workflow files as well;
	// the App must have it (workflows: write), else nothing can be pushed.
	Workflows bool
	// WriteSpacing is the pause between two writes; 0 is 1 s on github.com
	// and none elsewhere.
	WriteSpacing time.Duration
}

// Validate names every fault; its error wraps vcs.ErrInvalid.
func (c Config) Validate() error {
	var faults []error
	if _, err := c.urls(); err != nil {
		faults = append(faults, err)
	}
	if c.AppID < 0 || c.WriteSpacing < 0 {
		faults = append(faults, fmt.Errorf("%w: github: negative app id or write spacing", vcs.ErrInvalid))
	}
	isApp := c.AppID != 0 || c.PrivateKey != ""
	switch {
	case isApp && c.Token != "":
		faults = append(faults, fmt.Errorf("%w: github: set a token or an app, not both", vcs.ErrInvalid))
	case isApp && (c.AppID == 0 || c.PrivateKey == ""):
		faults = append(faults, fmt.Errorf("%w: github: an app needs its id and its private key", vcs.ErrInvalid))
	case !isApp && c.Token == "":
		faults = append(faults, fmt.Errorf("%w: github: neither a token nor an app is set", vcs.ErrInvalid))
	}
	return errors.Join(faults...)
}

// urls are the addresses of one GitHub.
type urls struct {
	api     *url.URL // with a slash at the end
	graphql string
	web     string // without a slash at the end
}

func (c Config) urls() (urls, error) {
	if c.BaseURL == "" {
		api, err := url.Parse(publicAPI)
		return urls{api: api, graphql: publicAPI + "graphql", web: publicWeb}, err
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
		return urls{}, fmt.Errorf("%w: github base URL: want https://host", vcs.ErrInvalid)
	}
	if u.Host == "api.github.com" || u.Host == "github.com" {
		return Config{}.urls()
	}
	root := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(enterprise, "/"))
	web := u.Scheme + "://" + u.Host + root
	api, err := url.Parse(web + enterprise)
	return urls{api: api, graphql: web + "/api/graphql", web: web}, err
}

// Option sets an optional collaborator of a Forge.
type Option func(*Forge)

// WithTransport replaces the whole HTTP stack, limits and retries included.
func WithTransport(rt http.RoundTripper) Option { return func(f *Forge) { f.plain = rt } }

// New returns a driver; it makes no request.
func New(cfg Config, opts ...Option) (*Forge, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	at, err := cfg.urls()
	if err != nil {
		return nil, err
	}
	f := &Forge{cfg: cfg, at: at, now: time.Now, stickies: sticky.New(), clients: map[string]client{}, installations: map[string]installation{}}
	for _, o := range opts {
		o(f)
	}
	if f.plain == nil {
		f.plain = transport.New(nil, transport.Config{WriteSpacing: cfg.spacing()})
	}
	if cfg.AppID == 0 {
		return f, nil
	}
	f.app, err = ghinstallation.NewAppsTransport(f.plain, cfg.AppID, []byte(cfg.PrivateKey.Reveal()))
	if err != nil {
		return nil, fmt.Errorf("%w: github: private key of the app: %w", vcs.ErrInvalid, err)
	}
	f.app.BaseURL = strings.TrimSuffix(at.api.String(), "/")
	return f, nil
}

func (c Config) spacing() time.Duration {
	if c.WriteSpacing == 0 && c.BaseURL == "" {
		return publicSpacing
	}
	return c.WriteSpacing
}
