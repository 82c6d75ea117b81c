package git

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/greenwright/greenwright/vcs"
)

// way is how a remote is reached: the certificates it may show and the proxy
// before it.
type way struct {
	client *http.Client
	config [][2]string // the same for a git process
}

// ways are those in use: one for each forge, as a rule.
type ways struct {
	mu    sync.Mutex
	known map[string]way // under mu, by what they are made of
}

// wayTo finds or makes the way to a remote. Its error wraps vcs.ErrInvalid for
// certificates or a proxy that cannot be read.
func (s *Store) wayTo(remote vcs.Remote) (way, error) {
	sum := sha256.Sum256(append([]byte(remote.Proxy.Reveal()+"\x00"), remote.CA...))
	key := hex.EncodeToString(sum[:])
	s.ways.mu.Lock()
	defer s.ways.mu.Unlock()
	if w, ok := s.ways.known[key]; ok {
		return w, nil
	}
	w, err := s.newWay(remote, key)
	if err == nil {
		s.ways.known[key] = w
	}
	return w, err
}

func (s *Store) newWay(remote vcs.Remote, key string) (way, error) {
	if s.cfg.HTTP != nil {
		return way{client: newHTTPClient(s.cfg, s.cfg.HTTP)}, nil
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = headerTimeout
	w := way{client: newHTTPClient(s.cfg, t)}
	if len(remote.CA) > 0 {
		pool, file, err := s.trust(remote.CA, key)
		if err != nil {
			return way{}, err
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		w.config = append(w.config, [2]string{"http.sslCAInfo", file})
	}
	if remote.Proxy != "" {
		u, err := url.Parse(remote.Proxy.Reveal())
		if err != nil || u.Host == "" {
			return way{}, fmt.Errorf("%w: the proxy's address: want http://host:port", vcs.ErrInvalid)
		}
		t.Proxy = http.ProxyURL(u)
		w.config = append(w.config, [2]string{"http.proxy", u.String()})
	}
	return w, nil
}

// trust adds certificates to the system's. A git process gets them as a file; a
// git whose TLS library looks into no directory of the system's besides trusts
// these alone, which is enough for the one host that they are for.
func (s *Store) trust(pem []byte, key string) (*x509.CertPool, string, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, "", fmt.Errorf("%w: no certificate among those to trust: want PEM", vcs.ErrInvalid)
	}
	file := filepath.Join(s.cfg.Dir, "trust-"+key[:16]+".pem")
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		return nil, "", fmt.Errorf("writing certificates for git: %w", err)
	}
	return pool, file, nil
}
