package egress_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/egress/egresstest"
)

// world is a gateway that serves on the loopback interface.
type world struct {
	*egress.Gateway
	t       *testing.T
	address string
	env     []string
	token   string
	done    func()
	stop    func() error // closes the listener and waits for Serve

	mu        sync.Mutex
	decisions []egress.Decision
}

func start(t *testing.T, p egress.Policy, opts ...egress.Option) *world {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return startAnyway(t, p, opts...)
}

// startAnyway does not mind an invalid policy.
func startAnyway(t *testing.T, p egress.Policy, opts ...egress.Option) *world {
	t.Helper()
	w := &world{t: t}
	opts = append(opts, egress.OnDecision(func(d egress.Decision) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.decisions = append(w.decisions, d)
	}))
	w.Gateway = egress.New(p, opts...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.Serve(l) }()
	w.stop = sync.OnceValue(func() error {
		_ = l.Close()
		select {
		case err := <-served:
			return err
		case <-time.After(10 * time.Second):
			return fmt.Errorf("serve did not return")
		}
	})
	t.Cleanup(func() {
		w.done()
		if err := w.stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	w.address = l.Addr().String()
	w.env, w.done = w.Open(w.address)
	w.token = tokenIn(t, w.env)
	return w
}

func tokenIn(t *testing.T, env []string) string {
	t.Helper()
	for _, pair := range env {
		if v, ok := strings.CutPrefix(pair, "HTTPS_PROXY="); ok {
			u, err := url.Parse(v)
			if err != nil {
				t.Fatal(err)
			}
			token, _ := u.User.Password()
			return token
		}
	}
	t.Fatal("no HTTPS_PROXY in the environment")
	return ""
}

// last waits for the n-th decision and returns it.
func (w *world) last(n int) egress.Decision {
	w.t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		if len(w.decisions) >= n {
			defer w.mu.Unlock()
			return w.decisions[n-1]
		}
		w.mu.Unlock()
	}
	w.t.Fatalf("decision %d did not come", n)
	return egress.Decision{}
}

func (w *world) auth() string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("run:"+w.token)) + "\r\n"
}

// raw sends bytes and reads one response head and body.
func (w *world) raw(request string) (status int, body string) {
	w.t.Helper()
	c := w.dial()
	defer c.Close()
	_, _ = io.WriteString(c, request)
	return w.read(bufio.NewReader(c))
}

func (w *world) dial() net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

func (w *world) read(r *bufio.Reader) (int, string) {
	w.t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		w.t.Fatalf("reading the answer: %v", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("reading the answer's body: %v", err)
	}
	return res.StatusCode, string(body)
}

// tunnel sends CONNECT and, when it is answered 200, returns the connection.
func (w *world) tunnel(authority string) (*net.TCPConn, *bufio.Reader, int) {
	w.t.Helper()
	c, r, status := w.connect(authority)
	if status == 0 {
		w.t.Fatal("no answer to CONNECT")
	}
	return c, r, status
}

// connect is tunnel, with status 0 if there is no answer.
func (w *world) connect(authority string) (*net.TCPConn, *bufio.Reader, int) {
	w.t.Helper()
	c := w.dial().(*net.TCPConn)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", authority, authority, w.auth())
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return c, r, 0
	}
	_ = res.Body.Close() // empty: what follows is the tunnel's
	return c, r, res.StatusCode
}

// client goes through the proxy with the token, and trusts the servers.
func (w *world) client(servers ...*httptest.Server) *http.Client {
	roots := x509.NewCertPool()
	for _, s := range servers {
		if s.Certificate() != nil {
			roots.AddCert(s.Certificate())
		}
	}
	proxy := &url.URL{Scheme: "http", Host: w.address, User: url.UserPassword("run", w.token)}
	tr := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots}}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// redirect dials every address at another one, so that tests need no port 443.
type redirect struct {
	to     string
	mu     sync.Mutex
	dialed []string
}

func (r *redirect) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	r.mu.Lock()
	r.dialed = append(r.dialed, address)
	r.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, r.to)
}

func port(s *httptest.Server) string {
	_, p, _ := net.SplitHostPort(s.Listener.Addr().String())
	return p
}

func rules(t *testing.T, texts ...string) []egress.Rule {
	t.Helper()
	var list []egress.Rule
	for _, text := range texts {
		r, err := egress.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func addrs(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func loopback(hosts ...string) egress.Option {
	return egress.WithResolver(egresstest.Loopback(hosts...))
}
