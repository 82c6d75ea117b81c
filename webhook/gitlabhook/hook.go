package gitlabhook

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
)

// GitLab's headers
// (docs.gitlab.com/user/project/integrations/webhooks/#delivery-headers), and
// those of a signed hook (Standard Webhooks, standardwebhooks.com).
const (
	HeaderEvent       = "X-Gitlab-Event"
	HeaderToken       = "X-Gitlab-Token" //nolint:gosec // the name of a header
	HeaderIdempotency = "Idempotency-Key"
	HeaderEventUUID   = "X-Gitlab-Event-UUID"
	HeaderID          = "Webhook-Id"
	HeaderTimestamp   = "Webhook-Timestamp"
	HeaderSignature   = "Webhook-Signature"
)

const (
	maxWord = 64 // the longest known name of an event has 26, a UUID 36
	// maxSignatures bounds the comparisons that a request costs; while a key is
	// replaced there are two.
	maxSignatures   = 8
	maxSignature    = 1024 // of the whole header
	signatureScheme = "v1,"
	signatureSize   = 32 // SHA-256
)

// Open checks the headers. A request that only its token could vouch for, and
// whose token is wrong, is refused here, before its body is read. Event and id
// are not refused whatever they are: only a bad secret is answered with 401,
// and an event without a name is one that nothing reacts to.
func (p *Parser) Open(h http.Header) (webhook.Envelope, error) {
	env := webhook.Envelope{Name: within(h.Get(HeaderEvent), isNameChar), ID: deliveryID(h)}
	if t := h.Get(HeaderToken); len(t) <= maxToken {
		env.Token = vcs.Secret(t)
	}
	if len(p.keys) > 0 {
		signed(&env, h)
	}
	if len(env.Signatures) == 0 && len(p.tokensOf(env)) == 0 {
		return webhook.Envelope{}, fmt.Errorf("%w: headers %s and %s absent, malformed or wrong", webhook.ErrUnauthorized, HeaderToken, HeaderSignature)
	}
	return env, nil
}

// deliveryID is the key that a request has in common with its repetitions, or,
// of versions before 17.4, the id of the event. That one several hooks share
// that follow from each other, so it serves for finding a request in GitLab's
// list and not for telling requests apart; facts are told apart by
// vcs.Event.Key. Older versions than 14.8 send neither.
func deliveryID(h http.Header) vcs.DeliveryID {
	if id := within(h.Get(HeaderIdempotency), isIDChar); id != "" {
		return vcs.DeliveryID(id)
	}
	return vcs.DeliveryID(within(h.Get(HeaderEventUUID), isIDChar))
}

// signed fills in what a signature is checked with; anything malformed leaves
// the request unsigned.
func signed(env *webhook.Envelope, h http.Header) {
	id := within(h.Get(HeaderID), isIDChar)
	stamp := within(h.Get(HeaderTimestamp), isDigit)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if id == "" || err != nil {
		return
	}
	env.Signatures = signatures(h.Get(HeaderSignature))
	env.Signed, env.SentAt = id+"."+stamp+".", time.Unix(seconds, 0)
}

// signatures decodes those of the known scheme; a newer one may stand beside
// it.
func signatures(header string) [][]byte {
	if len(header) > maxSignature {
		return nil
	}
	var out [][]byte
	for _, part := range strings.Fields(header) {
		text, found := strings.CutPrefix(part, signatureScheme)
		if !found {
			continue
		}
		mac, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(mac) != signatureSize {
			continue
		}
		if out = append(out, mac); len(out) > maxSignatures {
			return nil
		}
	}
	return out
}

// within is s when it is a header value of allowed characters, else empty.
func within(s string, allowed func(byte) bool) string {
	if len(s) > maxWord {
		return ""
	}
	for i := range len(s) {
		if !allowed(s[i]) {
			return ""
		}
	}
	return s
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isNameChar(c byte) bool { return isLetter(c) || c == ' ' }

func isIDChar(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' || c == '_' }
