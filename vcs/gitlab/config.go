package gitlab

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/sticky"
	"github.com/greenwright/greenwright/vcs/transport"
)

const (
	publicWeb = "https://gitlab.com"
	apiPath   = "/api/v4/"
	// publicSpacing keeps bursts of notes below gitlab.com's limit of 60 a
	// minute and account (docs.gitlab.com/user/gitlab_com, "Rate limits").
	publicSpacing = time.Second
)

// unfit are tokens that GitLab's API does not take, or that end with a job, by
// how they begin (docs.gitlab.com/security/tokens, "Token prefixes").
var unfit = map[string]string{
	"glcbt-":   "a CI job token",
	"gldt-":    "a deploy token",
	"glrt-":    "a runner's token",
	"glptt-":   "a pipeline trigger token",
	"glft-":    "a feed token",
	"glimt-":   "an incoming mail token",
	"glagent-": "an agent's token",
}

// Config is what an operator sets.
type Config struct {
	// BaseURL is where people open GitLab, a path below the host included;
	// empty is https://gitlab.com. It is https, or http on a loopback address.
	BaseURL string
	// Token is a personal, project or group access token, or a service
	// account's. A CI job token is refused.
	Token vcs.Secret
	// RootCAs are certificates in PEM that are trusted beside the system's.
	RootCAs []byte
	// Proxy is the URL of the HTTP proxy; empty is the environment's. It may
	// hold a credential.
	Proxy vcs.Secret
	// MergeRequests says how merge requests are opened.
	MergeRequests MergeRequests
	// WriteSpacing is the pause between two writes; 0 is 1 s on gitlab.com and
	// none elsewhere.
	WriteSpacing time.Duration
}

// MergeRequests are the options of merge requests that are opened.
type MergeRequests struct {
	// Labels are put on each; those that are not there are made by GitLab.
	Labels []string
	// Squash asks for the commits to be squashed when it is merged; the project's
	// settings may say otherwise.
	Squash bool
	// KeepBranch keeps the source branch when it is merged.
	KeepBranch bool
}

// validate refuses labels that GitLab would read as several, or as none.
func (m MergeRequests) validate() error {
	for _, l := range m.Labels {
		if strings.TrimSpace(l) == "" || strings.ContainsAny(l, ",\n") {
			return fmt.Errorf("%w: gitlab: label %q: want one without a comma", vcs.ErrInvalid, l)
		}
	}
	return nil
}

// Validate names every fault; its error wraps vcs.ErrInvalid.
func (c Config) Validate() error {
	_, at := c.urls()
	_, tr := c.Transport()
	faults := []error{at, tr, c.validateToken(), c.MergeRequests.validate()}
	if c.WriteSpacing < 0 {
		faults = append(faults, fmt.Errorf("%w: gitlab: negative write spacing", vcs.ErrInvalid))
	}
	return errors.Join(faults...)
}

func (c Config) validateToken() error {
	token := c.Token.Reveal()
	if token == "" {
		return fmt.Errorf("%w: gitlab: no token is set", vcs.ErrInvalid)
	}
	for prefix, what := range unfit {
		if strings.HasPrefix(token, prefix) {
			return fmt.Errorf("%w: gitlab: the token is %s: want a personal, project or group access token", vcs.ErrInvalid, what)
		}
	}
	for _, b := range []byte(token) {
		if b <= ' ' || b >= 0x7f {
			return fmt.Errorf("%w: gitlab: the token holds a blank or a control character", vcs.ErrInvalid)
		}
	}
	return nil
}

// urls are the addresses of one GitLab.
type urls struct {
	api *url.URL // with a slash at the end
	web string   // without a slash at the end
}

func (c Config) urls() (urls, error) {
	base := c.BaseURL
	if base == "" {
		base = publicWeb
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.RawPath != "" {
		return urls{}, fmt.Errorf("%w: gitlab base URL: want https://host or https://host/path", vcs.ErrInvalid)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return urls{}, fmt.Errorf("%w: gitlab base URL: want https: the token would travel in clear", vcs.ErrInvalid)
	}
	root := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(apiPath, "/"))
	web := u.Scheme + "://" + u.Host + strings.TrimSuffix(root, "/")
	api, err := url.Parse(web + apiPath)
	return urls{api: api, web: web}, err
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Transport is a plain transport with the configured certificates and proxy.
func (c Config) Transport() (*http.Transport, error) {
	tr := transport.Base()
	if c.Proxy != "" {
		u, err := url.Parse(c.Proxy.Reveal())
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("%w: gitlab proxy: want http://host:port", vcs.ErrInvalid)
		}
		tr.Proxy = http.ProxyURL(u)
	}
	if len(c.RootCAs) == 0 {
		return tr, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil { // this system has none
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(c.RootCAs) {
		return nil, fmt.Errorf("%w: gitlab CA: no certificate in PEM", vcs.ErrInvalid)
	}
	tr.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return tr, nil
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
	f := &Forge{cfg: cfg, at: at, now: time.Now, stickies: sticky.New(), projects: map[string]project{}}
	for _, o := range opts {
		o(f)
	}
	if f.plain == nil {
		base, err := cfg.Transport()
		if err != nil {
			return nil, err
		}
		f.plain = transport.New(base, transport.Config{WriteSpacing: cfg.spacing(at)})
	}
	return f, f.connect()
}

func (c Config) spacing(at urls) time.Duration {
	if c.WriteSpacing == 0 && at.web == publicWeb {
		return publicSpacing
	}
	return c.WriteSpacing
}
