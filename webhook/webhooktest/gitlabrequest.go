package webhooktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// GitLabSecrets are those of one of GitLab's hooks.
type GitLabSecrets struct {
	// Token is sent as it is; empty is none.
	Token string
	// SigningKey signs each request: "whsec_" and the key in base64, or the key
	// itself; empty is none.
	SigningKey string
}

// GitLabSign is the value of webhook-signature for a body (Standard Webhooks:
// standardwebhooks.com).
func GitLabSign(key, id string, at time.Time, body []byte) string {
	secret := []byte(key)
	if text, found := strings.CutPrefix(key, "whsec_"); found {
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			secret = b
		}
	}
	m := hmac.New(sha256.New, secret)
	fmt.Fprintf(m, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// GitLabDelivery tells one request of a hook from others.
type GitLabDelivery struct {
	// Key is the same when the request is sent again.
	Key string
	// Event is of what happened, and Webhook the hook's own; both may be empty,
	// as from older versions.
	Event, Webhook string
	// Instance is the GitLab's address.
	Instance string
	At       time.Time
}

// GitLabRequest is a delivery as GitLab sends it; the error is of a bad URL.
func GitLabRequest(ctx context.Context, target string, s GitLabSecrets, d GitLabDelivery, h Hook) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(h.Body))
	if err != nil {
		return nil, fmt.Errorf("building a delivery: %w", err)
	}
	set := func(name, value string) {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	set("Content-Type", "application/json")
	set("User-Agent", "GitLab/18.4.0")
	set("X-Gitlab-Event", h.Name)
	set("X-Gitlab-Token", s.Token)
	set("X-Gitlab-Event-UUID", d.Event)
	set("X-Gitlab-Webhook-UUID", d.Webhook)
	set("X-Gitlab-Instance", d.Instance)
	set("Idempotency-Key", d.Key)
	if s.SigningKey != "" {
		set("Webhook-Id", d.Key)
		set("Webhook-Timestamp", strconv.FormatInt(d.At.Unix(), 10))
		set("Webhook-Signature", GitLabSign(s.SigningKey, d.Key, d.At, h.Body))
	}
	return r, nil
}
