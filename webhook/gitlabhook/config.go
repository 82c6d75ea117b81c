package gitlabhook

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/scan"
)

// Config is what an operator sets. It needs one token or signing key at least:
// without any, whoever reaches the address would be believed.
type Config struct {
	// Tokens are the secret tokens of hooks; more than one is for the time of a
	// rotation, or for hooks of different projects.
	Tokens []Token
	// SigningKeys are the signing tokens of hooks ("whsec_…").
	SigningKeys []Token
	// BaseURL is where the GitLab is found. Only its path is used: job events of
	// older versions name their project by its address alone.
	BaseURL string
	// Now is the clock that signatures are checked with; nil is the system's.
	Now func() time.Time
}

// Token is a secret of hooks and what it is believed for.
type Token struct {
	Secret vcs.Secret
	// Projects are globs over the projects' full paths ("acme/widgets",
	// "acme/**"), case not counting, as in GitLab; empty is any project.
	Projects []string
}

// Covers reports whether the secret is believed for a repository. A pattern that
// is no glob covers nothing.
func (t Token) Covers(repo vcs.RepoRef) bool {
	p, err := newPins(t.Projects)
	return err == nil && p.cover(repo)
}

const (
	// maxToken is above any secret that is made by a program; a longer header is
	// refused unread.
	maxToken  = 1024
	keyPrefix = "whsec_"
	// minKey is the shortest key of the Standard Webhooks specification;
	// GitLab's have 32 bytes.
	minKey = 24
)

// Parser implements webhook.Parser for GitLab. It is safe for concurrent use.
type Parser struct {
	tokens   []token
	keys     []key
	basePath string
	now      func() time.Time

	kinds     scan.Decoder[kinds]
	glances   scan.Decoder[glance]
	payloads  scan.Decoder[payload]
	notes     scan.Decoder[note]
	issues    scan.Decoder[issue]
	pulls     scan.Decoder[mergeRequest]
	pipelines scan.Decoder[pipeline]
}

var _ webhook.Parser = (*Parser)(nil)

// pins are the projects that a secret is believed for, in lower case.
type pins []string

// token is a Token made ready: its digest, so that a comparison tells nothing
// of its length.
type token struct {
	pins
	digest [sha256.Size]byte
}

// key is a signing key made ready.
type key struct {
	pins
	secret []byte
}

// New returns a parser that believes the secrets of cfg; its error wraps
// vcs.ErrInvalid.
func New(cfg Config) (*Parser, error) {
	if len(cfg.Tokens) == 0 && len(cfg.SigningKeys) == 0 {
		return nil, fmt.Errorf("%w: no webhook token or signing key", vcs.ErrInvalid)
	}
	p := &Parser{
		now: cfg.Now, kinds: scan.NewDecoder[kinds](), glances: scan.NewDecoder[glance](), payloads: scan.NewDecoder[payload](), notes: scan.NewDecoder[note](),
		issues: scan.NewDecoder[issue](), pulls: scan.NewDecoder[mergeRequest](), pipelines: scan.NewDecoder[pipeline](),
	}
	if p.now == nil {
		p.now = time.Now
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("%w: base URL: %w", vcs.ErrInvalid, err)
	}
	p.basePath = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/api/v4")
	for i, t := range cfg.Tokens {
		ready, err := newToken(t)
		if err != nil {
			return nil, fmt.Errorf("webhook token %d: %w", i+1, err)
		}
		p.tokens = append(p.tokens, ready)
	}
	for i, k := range cfg.SigningKeys {
		ready, err := newKey(k)
		if err != nil {
			return nil, fmt.Errorf("webhook signing key %d: %w", i+1, err)
		}
		p.keys = append(p.keys, ready)
	}
	return p, nil
}

func newToken(t Token) (token, error) {
	s := t.Secret.Reveal()
	if s == "" || len(s) > maxToken || strings.TrimSpace(s) != s || strings.ContainsFunc(s, isControl) {
		return token{}, fmt.Errorf("%w: empty, or nothing that a header can hold", vcs.ErrInvalid)
	}
	pins, err := newPins(t.Projects)
	return token{pins: pins, digest: sha256.Sum256([]byte(s))}, err
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func newKey(t Token) (key, error) {
	text, found := strings.CutPrefix(t.Secret.Reveal(), keyPrefix)
	if !found {
		return key{}, fmt.Errorf("%w: does not begin with %s", vcs.ErrInvalid, keyPrefix)
	}
	secret, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(secret) < minKey { // the error would quote some of the key
		return key{}, fmt.Errorf("%w: not the base64 of %d bytes or more", vcs.ErrInvalid, minKey)
	}
	pins, err := newPins(t.Projects)
	return key{pins: pins, secret: secret}, err
}

func newPins(projects []string) (pins, error) {
	var out pins
	for _, glob := range projects {
		if glob == "" || !doublestar.ValidatePattern(glob) {
			return nil, fmt.Errorf("%w: projects: %q is no glob over paths", vcs.ErrInvalid, glob)
		}
		out = append(out, strings.ToLower(glob))
	}
	return out, nil
}

// cover reports whether the secret is believed for the repository.
func (p pins) cover(repo vcs.RepoRef) bool {
	if len(p) == 0 {
		return true
	}
	path := strings.ToLower(repo.FullName())
	for _, glob := range p {
		if match, err := doublestar.Match(glob, path); err == nil && match {
			return true
		}
	}
	return false
}
