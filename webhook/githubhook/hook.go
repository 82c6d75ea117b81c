package githubhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/scan"
)

// GitHub's headers
// (docs.github.com/webhooks/webhook-events-and-payloads#delivery-headers).
const (
	HeaderSignature = "X-Hub-Signature-256"
	HeaderEvent     = "X-GitHub-Event"
	HeaderDelivery  = "X-GitHub-Delivery"
)

const (
	signaturePrefix = "sha256="
	maxHeader       = 64 // GitHub's longest event name is 36, a GUID 36
)

// Parser implements webhook.Parser for GitHub. It is safe for concurrent use.
type Parser struct {
	secrets []vcs.Secret
	appID   int64
	payload scan.Decoder[payload]
}

var _ webhook.Parser = (*Parser)(nil)

// Option sets something optional of a Parser.
type Option func(*Parser)

// WithAppID names Greenwright's own App, so that check runs that it reports
// itself are ignored.
func WithAppID(id int64) Option { return func(p *Parser) { p.appID = id } }

// New returns a parser that accepts bodies signed with any of the secrets; more
// than one is for the time of a rotation. No secret, or an empty one, is an
// error that wraps vcs.ErrInvalid: it would accept unsigned bodies.
func New(secrets []vcs.Secret, opts ...Option) (*Parser, error) {
	if len(secrets) == 0 {
		return nil, fmt.Errorf("%w: no webhook secret", vcs.ErrInvalid)
	}
	for i, s := range secrets {
		if strings.TrimSpace(s.Reveal()) == "" {
			return nil, fmt.Errorf("%w: webhook secret %d is empty", vcs.ErrInvalid, i+1)
		}
	}
	p := &Parser{secrets: append([]vcs.Secret(nil), secrets...), payload: scan.NewDecoder[payload]()}
	for _, o := range opts {
		o(p)
	}
	return p, nil
}

// Open checks the headers, the signature's first.
func (p *Parser) Open(h http.Header) (webhook.Envelope, error) {
	mac, err := signature(h.Get(HeaderSignature))
	if err != nil {
		return webhook.Envelope{}, err
	}
	name, id := h.Get(HeaderEvent), h.Get(HeaderDelivery)
	if !within(name, isEventChar) {
		return webhook.Envelope{}, fmt.Errorf("%w: header %s", vcs.ErrInvalid, HeaderEvent)
	}
	if !within(id, isDeliveryChar) {
		return webhook.Envelope{}, fmt.Errorf("%w: header %s", vcs.ErrInvalid, HeaderDelivery)
	}
	return webhook.Envelope{Name: name, ID: vcs.DeliveryID(id), Signatures: [][]byte{mac}}, nil
}

func signature(v string) ([]byte, error) {
	digits, found := strings.CutPrefix(v, signaturePrefix)
	if !found || len(digits) != 2*sha256.Size {
		return nil, fmt.Errorf("%w: header %s absent or malformed", webhook.ErrUnauthorized, HeaderSignature)
	}
	mac, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("%w: header %s is not hexadecimal", webhook.ErrUnauthorized, HeaderSignature)
	}
	return mac, nil
}

// within reports whether s is a header value of allowed characters.
func within(s string, allowed func(byte) bool) bool {
	if s == "" || len(s) > maxHeader {
		return false
	}
	for i := range len(s) {
		if !allowed(s[i]) {
			return false
		}
	}
	return true
}

func isEventChar(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }

func isDeliveryChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

// Verify compares the HMAC-SHA-256 of the raw body under every secret, each in
// constant time, and always under all of them.
func (p *Parser) Verify(env webhook.Envelope, raw []byte) (webhook.Grant, error) {
	if len(env.Signatures) != 1 {
		return nil, fmt.Errorf("%w: not one signature", webhook.ErrUnauthorized)
	}
	good := false
	var sum [sha256.Size]byte
	for _, s := range p.secrets {
		m := hmac.New(sha256.New, []byte(s.Reveal()))
		m.Write(raw) // never an error (hash.Hash)
		if hmac.Equal(m.Sum(sum[:0]), env.Signatures[0]) {
			good = true
		}
	}
	if !good {
		return nil, fmt.Errorf("%w: signature does not match", webhook.ErrUnauthorized)
	}
	return webhook.Unbounded{}, nil
}
