package egress_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/sandbox/egress"
)

func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Host", r.Host)
		w.Header().Set("X-Seen", fmt.Sprint(r.Header))
		fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, body)
	})
}

func TestPlainRequestsArePassedOn(t *testing.T) {
	s := httptest.NewServer(echo())
	defer s.Close()
	host := "plain.test:" + port(s)
	w := start(t, egress.Policy{Allow: rules(t, host), AllowPrivate: []string{"plain.test"}}, loopback("plain.test"))

	req, _ := http.NewRequest(http.MethodPost, "http://"+host+"/a%2Fb?q=1", strings.NewReader("payload"))
	req.Header.Set("Connection", "X-Hop")
	req.Header.Set("X-Hop", "secret")
	req.Header.Set("X-End", "kept")
	res, err := w.client(s).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if got, want := string(body), "POST /a%2Fb?q=1 payload"; got != want {
		t.Errorf("answer = %q, want %q", got, want)
	}
	if got := res.Header.Get("X-Host"); got != host {
		t.Errorf("Host = %q, want %q", got, host)
	}
	seen := res.Header.Get("X-Seen")
	if !strings.Contains(seen, "kept") || strings.Contains(seen, "secret") || strings.Contains(seen, "Proxy-") || strings.Contains(seen, "Forwarded") {
		t.Errorf("the server saw %s", seen)
	}
	d := w.last(1)
	if d.Verdict != egress.Allowed || d.Host != "plain.test" || d.Method != http.MethodPost || d.Reason != "" ||
		d.BytesIn < 20 || d.BytesOut < 20 || d.Addr.Addr() != netip.MustParseAddr("127.0.0.1") || d.Duration <= 0 {
		t.Errorf("decision = %+v", d)
	}
}

func TestBodiesOfEveryKind(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/chunked":
			w.(http.Flusher).Flush()
		case "/length":
			w.Header().Set("Content-Length", fmt.Sprint(len(big)))
		case "/moved":
			http.Redirect(w, r, "http://elsewhere.test/", http.StatusFound)
			return
		case "/expect":
			_, _ = io.Copy(w, r.Body)
			return
		}
		_, _ = io.WriteString(w, big)
	}))
	defer s.Close()
	host := "plain.test:" + port(s)
	w := start(t, egress.Policy{Allow: rules(t, host), AllowPrivate: []string{"plain.test"}}, loopback("plain.test"))
	c := w.client(s)
	for _, path := range []string{"/chunked", "/length"} {
		res, err := c.Get("http://" + host + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(body) != big {
			t.Errorf("%s: %d bytes, %v; want %d", path, len(body), err, len(big))
		}
	}
	head, err := c.Head("http://" + host + "/length")
	if err != nil || head.ContentLength != int64(len(big)) {
		t.Errorf("HEAD: %v %v", head, err)
	}
	if head != nil {
		head.Body.Close()
	}
	moved, err := c.Get("http://" + host + "/moved")
	if err != nil || moved.StatusCode != http.StatusFound || moved.Header.Get("Location") != "http://elsewhere.test/" {
		t.Errorf("a redirect is the client's: %v %v", moved, err)
	}
	if moved != nil {
		moved.Body.Close()
	}
	req, _ := http.NewRequest(http.MethodPut, "http://"+host+"/expect", strings.NewReader("after 100"))
	req.Header.Set("Expect", "100-continue")
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); string(body) != "after 100" {
		t.Errorf("after Expect: %q", body)
	}
	// HTTP/1.0 has no chunks.
	status, body := w.raw("GET http://" + host + "/chunked HTTP/1.0\r\n" + w.auth() + "\r\n")
	if status != http.StatusOK || body != big {
		t.Errorf("HTTP/1.0: %d, %d bytes", status, len(body))
	}
}

func TestAnswersAreStreamed(t *testing.T) {
	next := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-next
		_, _ = io.WriteString(w, "second\n")
	}))
	defer s.Close()
	host := "plain.test:" + port(s)
	w := start(t, egress.Policy{Allow: rules(t, host), AllowPrivate: []string{"plain.test"}}, loopback("plain.test"))
	res, err := w.client(s).Get("http://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	r := bufio.NewReader(res.Body)
	first, err := r.ReadString('\n')
	close(next)
	second, _ := r.ReadString('\n')
	if first != "first\n" || second != "second\n" || err != nil {
		t.Errorf("%q %q %v", first, second, err)
	}
}

func tlsServer(t *testing.T) *httptest.Server {
	s := httptest.NewTLSServer(echo())
	t.Cleanup(s.Close)
	return s
}

// TestTLSToPort443 uses example.com, the name in httptest's certificate.
func TestTLSToPort443(t *testing.T) {
	s := tlsServer(t)
	dialer := &redirect{to: s.Listener.Addr().String()}
	resolver := &turns{answers: [][]netip.Addr{addrs("93.184.215.14"), addrs("127.0.0.1")}}
	w := start(t, egress.Policy{Allow: rules(t, "example.com")}, egress.WithDialer(dialer), egress.WithResolver(resolver))
	res, err := w.client(s).Get("https://example.com/over/tls")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(body) != "GET /over/tls " {
		t.Errorf("answer = %q", body)
	}
	w.done()
	d := w.last(1)
	if d.Verdict != egress.Allowed || d.Method != http.MethodConnect || d.Port != 443 || d.BytesIn < 500 || d.BytesOut < 200 ||
		d.Addr != netip.MustParseAddrPort("93.184.215.14:443") {
		t.Errorf("decision = %+v", d)
	}
	if len(dialer.dialed) != 1 || dialer.dialed[0] != "93.184.215.14:443" || resolver.asked[0] != "example.com." {
		t.Errorf("dialled %v after asking for %v", dialer.dialed, resolver.asked)
	}
}

func TestWildcards(t *testing.T) {
	s := tlsServer(t)
	p := port(s)
	w := start(t, egress.Policy{Allow: rules(t, "*.example.com:"+p), AllowPrivate: []string{"*.example.com", "example.com"}},
		loopback("example.com", "a.example.com", "b.a.example.com", "notexample.com"))
	for host, want := range map[string]int{
		"a.example.com": 200, "b.a.example.com": 200, "A.Example.COM.": 200,
		"example.com": 403, "notexample.com": 403, "a.example.com.evil.test": 403,
	} {
		if _, _, got := w.tunnel(host + ":" + p); got != want {
			t.Errorf("CONNECT %s = %d, want %d", host, got, want)
		}
	}
}

// TestTLSOnOtherPorts: the name is checked there too, when TLS is spoken.
func TestTLSOnOtherPorts(t *testing.T) {
	s := tlsServer(t)
	host := "example.com:" + port(s)
	w := start(t, egress.Policy{Allow: rules(t, host), AllowPrivate: []string{"example.com"}}, loopback("example.com"))
	for name, want := range map[string]bool{"example.com": true, "other.test": false} {
		c, _, status := w.tunnel(host)
		if status != http.StatusOK {
			t.Fatalf("CONNECT = %d", status)
		}
		client := tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err := client.Handshake(); (err == nil) != want {
			t.Errorf("server name %s: %v, want success %v", name, err, want)
		}
		_ = client.Close()
	}
}
