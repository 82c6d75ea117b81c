package gitlabhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
)

// maxAge is how far a signature's time may be off, the value that Standard
// Webhooks advises. A request repeated within it is a fact delivered twice.
const maxAge = 5 * time.Minute

// Verify compares the token with every configured one and the signatures under
// every key, each in constant time and always all of them. The request is
// believed for the projects of what fits: a key's, and of a token's those that
// no key is bound to.
func (p *Parser) Verify(env webhook.Envelope, raw []byte) (webhook.Grant, error) {
	g := grant{tokens: p.tokensOf(env), keys: p.keysOf(env, raw), signedOnly: p.keys}
	if len(g.tokens) == 0 && len(g.keys) == 0 {
		return nil, fmt.Errorf("%w: no token or signature fits", webhook.ErrUnauthorized)
	}
	return g, nil
}

// tokensOf are the configured tokens that the request's is equal to; several
// when one secret is bound twice.
func (p *Parser) tokensOf(env webhook.Envelope) []token {
	digest := sha256.Sum256([]byte(env.Token.Reveal()))
	var out []token
	for _, t := range p.tokens {
		if subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1 {
			out = append(out, t)
		}
	}
	return out
}

// keysOf are the keys that signed the request.
func (p *Parser) keysOf(env webhook.Envelope, raw []byte) []key {
	if age := p.now().Sub(env.SentAt); len(env.Signatures) == 0 || age.Abs() > maxAge {
		return nil
	}
	var out []key
	for _, k := range p.keys {
		if k.signed(env, raw) {
			out = append(out, k)
		}
	}
	return out
}

func (k key) signed(env webhook.Envelope, raw []byte) bool {
	m := hmac.New(sha256.New, k.secret)
	m.Write([]byte(env.Signed)) // never an error (hash.Hash)
	m.Write(raw)
	sum, good := m.Sum(nil), 0
	for _, s := range env.Signatures {
		good |= subtle.ConstantTimeCompare(sum, s)
	}
	return good == 1
}

// grant is what fitted a request, beside all keys.
type grant struct {
	tokens     []token
	keys       []key
	signedOnly []key
}

// Covers implements webhook.Grant.
func (g grant) Covers(repo vcs.RepoRef) bool {
	if slices.ContainsFunc(g.keys, func(k key) bool { return k.cover(repo) }) {
		return true
	}
	return slices.ContainsFunc(g.tokens, func(t token) bool { return t.cover(repo) }) &&
		!slices.ContainsFunc(g.signedOnly, func(k key) bool { return k.cover(repo) })
}
