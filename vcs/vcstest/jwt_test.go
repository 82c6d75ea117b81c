package vcstest_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"
	"time"
)

// jwt signs an App's own token by hand.
func jwt(t *testing.T, key *rsa.PrivateKey, alg, issuer string, at time.Time, life time.Duration) string {
	t.Helper()
	enc := base64.RawURLEncoding.EncodeToString
	text := enc(fmt.Appendf(nil, `{"alg":%q,"typ":"JWT"}`, alg)) + "." +
		enc(fmt.Appendf(nil, `{"iss":%q,"iat":%d,"exp":%d}`, issuer, at.Unix(), at.Add(life).Unix()))
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + enc(sig)
}
