package egress_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/egress/egresstest"
)

// spellings of 127.0.0.1, 169.254.169.254 and relatives.
func spellings() []string {
	return []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "017700000001", "0177.0.0.1", "0x7f000001", "0x7f.0.0.1", "0X7F.1",
		"127.0.0.0x1", "127.0.0.01", "0", "0.0.0.0", "127.0.0.1.", "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[fe80::1%25eth0]", "[fd00:ec2::254]", "::1",
		"4294967297", "256.256.256.256", "1.2.3.4.5", "0x", "127。0。0。1", "①②⑦.0.0.1", "%31%32%37.0.0.1", "127.0.0.1%00.allowed.test",
		"allowed.test@127.0.0.1", "127.0.0.1#allowed.test", "127.0.0.1\\@allowed.test", "allowed.test..", ".allowed.test", "allowed..test",
		"-allowed.test", "allowed_.test", "allowed.test%2e", "allow\x00ed.test", "аllowed.test", "user:pw@allowed.test",
		strings.Repeat("a", 64) + ".test", strings.Repeat("a.", 130) + "test",
	}
}

func TestLiteralsAndOddNamesAreRefused(t *testing.T) {
	s := httptest.NewServer(echo())
	defer s.Close()
	p := port(s)
	dialer := &redirect{to: s.Listener.Addr().String()}
	w := start(t, egress.Policy{Allow: rules(t, "allowed.test:"+p), AllowPrivate: []string{"allowed.test"}},
		loopback("allowed.test"), egress.WithDialer(dialer))
	for _, host := range spellings() {
		for _, request := range []string{
			fmt.Sprintf("CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n", host, p, host, p),
			fmt.Sprintf("CONNECT %s:%s HTTP/1.1\r\nHost: allowed.test:%s\r\n", host, p, p),
			fmt.Sprintf("GET http://%s:%s/ HTTP/1.1\r\nHost: %s:%s\r\n", host, p, host, p),
			fmt.Sprintf("GET http://%s:%s/ HTTP/1.1\r\nHost: allowed.test:%s\r\n", host, p, p),
		} {
			status, body := w.raw(request + w.auth() + "\r\n")
			if status != http.StatusForbidden && status != http.StatusBadRequest {
				t.Errorf("%q = %d %q", request, status, body)
			}
			if !strings.HasPrefix(body, "greenwright: ") || strings.Count(body, "\n") != 1 {
				t.Errorf("%q is answered %q, want one line", request, body)
			}
		}
	}
	if len(dialer.dialed) > 0 {
		t.Errorf("dialled %v", dialer.dialed)
	}
	// The control: the same server is reached by its name.
	if status, _ := w.raw("GET http://allowed.test.:" + p + "/ HTTP/1.1\r\nHost: allowed.test:" + p + "\r\n" + w.auth() + "\r\n"); status != 200 {
		t.Errorf("the allowed name = %d", status)
	}
}

func TestTunnelTo443MustBeTLSForTheHost(t *testing.T) {
	s := tlsServer(t)
	hello := func(config *tls.Config) func(*world, io.ReadWriter) error {
		config.InsecureSkipVerify = true
		return func(_ *world, c io.ReadWriter) error {
			return tls.Client(conn{c}, config).Handshake()
		}
	}
	text := func(s string) func(*world, io.ReadWriter) error {
		return func(_ *world, c io.ReadWriter) error {
			_, _ = io.WriteString(c, s)
			answer, err := io.ReadAll(c)
			if strings.HasPrefix(string(answer), "HTTP/1.1 400") {
				return nil // the TLS server has seen plain text: it came through
			}
			return fmt.Errorf("%q %w", answer, firstOf(err, io.EOF))
		}
	}
	cases := []struct {
		name   string
		send   func(*world, io.ReadWriter) error
		reason string // "" is let through
	}{
		{"the host", hello(&tls.Config{ServerName: "example.com"}), ""},
		{"the host in capitals", hello(&tls.Config{ServerName: "EXAMPLE.com"}), ""},
		{"old TLS", hello(&tls.Config{ServerName: "example.com", MaxVersion: tls.VersionTLS12}), ""},
		{"another name", hello(&tls.Config{ServerName: "other.test"}), "the server name of TLS is other.test, not example.com"},
		{"no name", hello(&tls.Config{}), "without a server name"},
		{"a literal", hello(&tls.Config{ServerName: "127.0.0.1"}), "without a server name"},
		{"plain HTTP", text("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"), "not TLS"},
		{"SSH", text("SSH-2.0-x\r\n"), "not TLS"},
		{"a broken hello", text("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"), "cannot be read"},
		{"an endless hello", text("\x16\x03\x01\x40\x00\x01\x00\xff\xff" + strings.Repeat("x", 100_000)), "cannot be read"},
		{"silence", func(_ *world, c io.ReadWriter) error { _, err := io.ReadAll(c); return firstOf(err, io.EOF) }, "took too long"},
		{"half a hello", text("\x16\x03\x01"), "cannot be read"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dialer := &redirect{to: s.Listener.Addr().String()}
			w := start(t, egress.Policy{Allow: rules(t, "example.com")}, egress.WithDialer(dialer),
				egress.WithLimits(egress.Limits{HelloTime: 300 * time.Millisecond}),
				egress.WithResolver(egresstest.Names{"example.com": addrs("93.184.215.14")}))
			tunnel, _, status := w.tunnel("example.com:443")
			if status != 200 {
				t.Fatalf("CONNECT = %d", status)
			}
			err := c.send(w, tunnel)
			w.done()
			d := w.last(1)
			if c.reason == "" {
				if err != nil || d.Verdict != egress.Allowed {
					t.Errorf("%v; %+v", err, d)
				}
				return
			}
			if err == nil || d.Verdict != egress.Refused || !strings.Contains(d.Reason, c.reason) {
				t.Errorf("%v; %+v; want %q", err, d, c.reason)
			}
			if d.BytesOut != 0 {
				t.Errorf("%d bytes were let out", d.BytesOut)
			}
		})
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestRequestsThatAreRefused(t *testing.T) {
	s := httptest.NewServer(echo())
	defer s.Close()
	p := port(s)
	allowed := "allowed.test:" + p
	w := start(t, egress.Policy{Allow: rules(t, allowed), AllowPrivate: []string{"allowed.test"}},
		egress.WithResolver(egresstest.Loopback("allowed.test", "other.test")))
	host := "Host: " + allowed + "\r\n"
	get := "GET http://" + allowed + "/ HTTP/1.1\r\n" + host
	cases := []struct {
		name, request string
		status        int
		text          string
	}{
		{"control", get, 200, ""},
		{"another host", "GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n", 403, "other.test:80 is not on the allow-list; add it to sandbox.egress.allow"},
		{"another port", "CONNECT allowed.test:22 HTTP/1.1\r\nHost: allowed.test:22\r\n", 403, "allowed.test:22 is not on the allow-list"},
		{"no port", "CONNECT allowed.test HTTP/1.1\r\nHost: allowed.test\r\n", 403, "the port is missing"},
		{"port 0", "CONNECT allowed.test:0 HTTP/1.1\r\nHost: allowed.test:0\r\n", 403, "port"},
		{"port out of range", "CONNECT allowed.test:65979 HTTP/1.1\r\nHost: allowed.test\r\n", 403, "port"},
		{"port with a sign", "CONNECT allowed.test:+443 HTTP/1.1\r\nHost: allowed.test\r\n", 400, ""},
		{"empty port", "GET http://allowed.test:/ HTTP/1.1\r\nHost: allowed.test\r\n", 403, "port"},
		{"no host", "GET http:///x HTTP/1.1\r\nHost: allowed.test\r\n", 403, "not a host name"},
		{"Host differs", "GET http://" + allowed + "/ HTTP/1.1\r\nHost: other.test\r\n", 400, "Host header differs"},
		{"Host's port differs", "GET http://" + allowed + "/ HTTP/1.1\r\nHost: allowed.test\r\n", 400, "Host header differs"},
		{"Host differs in CONNECT", "CONNECT " + allowed + " HTTP/1.1\r\nHost: other.test\r\n", 400, "Host header differs"},
		{"two Hosts", get + "Host: other.test\r\n", 400, "several Host"},
		{"no Host", "GET http://" + allowed + "/ HTTP/1.1\r\n", 400, "Host header is missing"},
		{"origin form", "GET / HTTP/1.1\r\n" + host, 403, ""},
		{"https by GET", "GET https://" + allowed + "/ HTTP/1.1\r\n" + host, 400, "CONNECT"},
		{"ftp", "GET ftp://" + allowed + "/ HTTP/1.1\r\n" + host, 400, "CONNECT"},
		{"userinfo", "GET http://u:p@" + allowed + "/ HTTP/1.1\r\n" + host, 400, "user names"},
		{"plain HTTP to 443", "GET http://allowed.test:443/ HTTP/1.1\r\nHost: allowed.test:443\r\n", 400, "TLS"},
		{"Upgrade", get + "Connection: Upgrade\r\nUpgrade: websocket\r\n", 403, "Upgrade"},
		{"h2c", get + "Upgrade: h2c\r\n", 403, "Upgrade"},
		{"TRACE", strings.Replace(get, "GET", "TRACE", 1), 403, "TRACE"},
		{"length and coding", strings.Replace(get, "GET", "POST", 1) + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", 400, "several lengths"},
		{"two lengths", strings.Replace(get, "GET", "POST", 1) + "Content-Length: 4\r\nContent-Length: 4\r\n", 400, "several lengths"},
		{"odd coding", strings.Replace(get, "GET", "POST", 1) + "Transfer-Encoding: gzip, chunked\r\n", 400, ""},
		{"space before the colon", get + "Content-Length : 4\r\n", 400, "malformed"},
		{"folded line", get + "X-A: 1\r\n Content-Length: 4\r\n", 400, "malformed"},
		{"bare CR", get + "X-A: 1\rContent-Length: 4\r\n", 400, "malformed"},
		{"body of CONNECT", "CONNECT " + allowed + " HTTP/1.1\r\n" + host + "Content-Length: 4\r\n", 400, "no body"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n", 400, ""},
		{"HTTP/0.9", "GET http://" + allowed + "/\r\n", 400, ""},
		{"nonsense", "\x16\x03\x01\x02\r\n", 400, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, body := w.raw(c.request + w.auth() + "\r\n")
			if status != c.status || !strings.Contains(body, c.text) {
				t.Errorf("= %d %q, want %d %q", status, body, c.status, c.text)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	s := httptest.NewServer(echo())
	defer s.Close()
	host := "allowed.test:" + port(s)
	w := start(t, egress.Policy{Allow: rules(t, host), AllowPrivate: []string{"allowed.test"}}, loopback("allowed.test"))
	get := "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n"
	good := w.auth()
	for name, c := range map[string]struct {
		header string
		want   int
	}{
		"good":         {good, 200},
		"lower case":   {strings.Replace(good, "Basic", "basic", 1), 200},
		"none":         {"", 407},
		"wrong":        {"Proxy-Authorization: Basic cnVuOndyb25n\r\n", 407}, // run:wrong
		"empty":        {"Proxy-Authorization: Basic cnVuOg==\r\n", 407},     // run:
		"no base64":    {"Proxy-Authorization: Basic !!\r\n", 407},
		"bearer":       {"Proxy-Authorization: Bearer " + w.token + "\r\n", 407},
		"twice":        {good + good, 407},
		"other header": {strings.Replace(good, "Proxy-Authorization", "Authorization", 1), 407},
	} {
		if status, body := w.raw(get + c.header + "\r\n"); status != c.want {
			t.Errorf("%s: %d %q, want %d", name, status, body, c.want)
		}
	}
	w.done()
	w.done()
	if status, _ := w.raw(get + good + "\r\n"); status != 407 {
		t.Errorf("after done: %d, want 407", status)
	}
	res, err := w.client(s).Get("https://allowed.test/")
	if err == nil {
		res.Body.Close()
		t.Error("CONNECT without a token came through")
	}
}

func TestEmptyPolicyLetsNothingOut(t *testing.T) {
	dialer := &redirect{}
	w := start(t, egress.Policy{}, egress.WithDialer(dialer))
	if _, _, status := w.tunnel("proxy.golang.org:443"); status != 403 || len(dialer.dialed) > 0 {
		t.Errorf("= %d, dialled %v", status, dialer.dialed)
	}
	res, err := w.client().Get("https://proxy.golang.org/")
	if res != nil {
		res.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "proxy.golang.org:443 is not on the allow-list") {
		t.Errorf("the client is told %v", err)
	}
}

func TestUnreachableHosts(t *testing.T) {
	p, _ := pipeServer(t)
	w := start(t, egress.Policy{Allow: rules(t, "gone.test:"+p, "unknown.test:"+p), AllowPrivate: []string{"gone.test"}},
		egress.WithResolver(egresstest.Names{"gone.test": addrs("127.0.0.99")}))
	for _, host := range []string{"gone.test", "unknown.test"} {
		status, body := w.raw("CONNECT " + host + ":" + p + " HTTP/1.1\r\nHost: " + host + ":" + p + "\r\n" + w.auth() + "\r\n")
		if status != http.StatusBadGateway || !strings.Contains(body, host) {
			t.Errorf("%s = %d %q", host, status, body)
		}
	}
	if d := w.last(1); d.Verdict != egress.Allowed || d.Reason == "" {
		t.Errorf("what fails for the world's reasons is no refusal: %+v", d)
	}
}

func TestSlowAndHugeHeaders(t *testing.T) {
	w := start(t, egress.Policy{}, egress.WithLimits(egress.Limits{HeaderTime: 200 * time.Millisecond}))
	c := w.dial()
	_, _ = io.WriteString(c, "GET http://a.test/ HTTP/1.1\r\nHost: a.te")
	began := time.Now()
	if status, _ := w.read(bufio.NewReader(c)); status != http.StatusRequestTimeout {
		t.Errorf("a slow header = %d", status)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a slow header was borne for %v", took)
	}
	for name, header := range map[string]string{
		"one line":   "X: " + strings.Repeat("x", 40<<10) + "\r\n",
		"many lines": strings.Repeat("X: y\r\n", 8<<10),
	} {
		if status, _ := w.raw("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n" + header + w.auth() + "\r\n"); status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s = %d", name, status)
		}
	}
}

func TestTooManyConnections(t *testing.T) {
	w, host, accepted := rawWorld(t, egress.WithLimits(egress.Limits{Connections: 2}))
	for range 2 {
		if _, _, status := w.tunnel(host); status != 200 {
			t.Fatalf("CONNECT = %d", status)
		}
	}
	c := w.dial()
	if status, body := w.read(bufio.NewReader(c)); status != 503 || !strings.Contains(body, "too many") {
		t.Errorf("the third = %d %q", status, body)
	}
	for range 2 {
		_ = (<-accepted).Close()
	}
	w.done()
	env, done := w.Open(w.address)
	defer done()
	w.token = tokenIn(t, env)
	for deadline := time.Now().Add(5 * time.Second); ; {
		c, _, status := w.connect(host)
		_ = c.Close()
		if status == 200 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("ended connections still count")
		}
	}
	(<-accepted).Close()
}
