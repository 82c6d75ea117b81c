package webhooktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
)

// Hook is one webhook: the event's name and its payload.
type Hook struct {
	Name string
	Body []byte
}

// Sign is the value of X-Hub-Signature-256 for the body.
func Sign(secret string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(body) // never an error (hash.Hash)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// Request is a signed delivery as GitHub sends it; the error is of a bad URL.
func Request(ctx context.Context, target, secret, delivery string, h Hook) (*http.Request, error) {
	return request(ctx, target, secret, delivery, "application/json", h.Name, h.Body)
}

// FormRequest is Request for a hook whose content type is the older form.
func FormRequest(ctx context.Context, target, secret, delivery string, h Hook) (*http.Request, error) {
	body := []byte("payload=" + url.QueryEscape(string(h.Body)))
	return request(ctx, target, secret, delivery, "application/x-www-form-urlencoded", h.Name, body)
}

func request(ctx context.Context, target, secret, delivery, contentType, name string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("building a delivery: %w", err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", "GitHub-Hookshot/044aadd")
	r.Header.Set("X-GitHub-Delivery", delivery)
	r.Header.Set("X-GitHub-Event", name)
	r.Header.Set("X-GitHub-Hook-ID", "292430182")
	r.Header.Set("X-Hub-Signature-256", Sign(secret, body))
	return r, nil
}

// DeliveryID is the n-th of a row of distinct GUIDs.
func DeliveryID(n int) string {
	return fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012x", n)
}
