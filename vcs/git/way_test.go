package git_test

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// TestServerWithItsOwnCertificate: a forge of one's own has a certificate that
// no system trusts (rule G1).
func TestServerWithItsOwnCertificate(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		ctx := testContext(t)
		r := newRemote(t)
		write(t, r.work, "a", "a\n")
		sha := r.commit(t, "main")
		secure := httptest.NewTLSServer(r.srv.Config.Handler)
		defer secure.Close()
		own := r.remote()
		own.URL = secure.URL + "/o/r.git"
		m := newMirror(t, cfg)
		if _, err := m.Fetch(ctx, own, mainRef); err == nil {
			t.Error("a certificate that nobody vouches for was taken")
		}
		own.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
		if got := value(m.Fetch(ctx, own, mainRef))(t)[mainRef]; got != sha {
			t.Errorf("fetched %s, want %s", got, sha)
		}
		own.CA = []byte("no certificate")
		if _, err := m.Fetch(ctx, own, mainRef); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("certificates that are none: %v", err)
		}
	})
}

// TestThroughAProxy: what is configured for a forge is used for its git data.
func TestThroughAProxy(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		r := newRemote(t)
		write(t, r.work, "a", "a\n")
		sha := r.commit(t, "main")
		at := value(url.Parse(r.srv.URL))(t)
		var passed atomic.Int64
		forward := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(at) }}
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			passed.Add(1)
			q.URL.Scheme, q.URL.Host = "", ""
			forward.ServeHTTP(w, q)
		}))
		defer proxy.Close()
		far := r.remote()
		far.URL, far.Proxy = "http://forge.example.invalid/o/r.git", vcs.Secret(proxy.URL)
		if got := value(newMirror(t, cfg).Fetch(testContext(t), far, mainRef))(t)[mainRef]; got != sha {
			t.Errorf("fetched %s, want %s", got, sha)
		}
		if passed.Load() == 0 {
			t.Error("the proxy saw nothing")
		}
	})
}
