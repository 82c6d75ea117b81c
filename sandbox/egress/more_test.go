package egress_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox/egress"
)

// conn makes a net.Conn of what tls.Client gets in a test.
type conn struct{ io.ReadWriter }

func (c conn) Close() error                       { return nil }
func (c conn) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (c conn) RemoteAddr() net.Addr               { return &net.TCPAddr{} }
func (c conn) SetDeadline(t time.Time) error      { return c.ReadWriter.(net.Conn).SetDeadline(t) }
func (c conn) SetReadDeadline(t time.Time) error  { return c.ReadWriter.(net.Conn).SetReadDeadline(t) }
func (c conn) SetWriteDeadline(t time.Time) error { return c.ReadWriter.(net.Conn).SetWriteDeadline(t) }

func TestDecisionsAreBounded(t *testing.T) {
	w := start(t, egress.Policy{})
	const tries = 70
	for range tries {
		if _, _, status := w.tunnel("no.test:443"); status != 403 {
			t.Fatalf("= %d", status)
		}
	}
	var counts []int64
	w.mu.Lock()
	for _, d := range w.decisions {
		counts = append(counts, d.Count)
	}
	w.mu.Unlock()
	if want := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64}; fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("told %v, want %v", counts, want)
	}
	tallies := w.Tallies()
	if len(tallies) != 1 || tallies[0].Connections != tries || tallies[0].Host != "no.test" || tallies[0].Verdict != egress.Refused {
		t.Errorf("tallies = %+v", tallies)
	}
}

func TestKindsOfDecisionsAreBounded(t *testing.T) {
	w := start(t, egress.Policy{})
	for i := range 1100 {
		_, _ = w.raw(fmt.Sprintf("CONNECT n%d.test:443 HTTP/1.1\r\nHost: n%d.test:443\r\n%s\r\n", i, i, w.auth()))
	}
	var sum int64
	tallies := w.Tallies()
	for _, one := range tallies {
		sum += one.Connections
	}
	if len(tallies) != 1001 || sum != 1100 {
		t.Errorf("%d kinds, %d connections", len(tallies), sum)
	}
}

// TestNetPipe: connections that cannot be closed in one direction, and have no
// buffer at all, work as well.
func TestNetPipe(t *testing.T) {
	p, accepted := pipeServer(t)
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	g := egress.New(egress.Policy{Allow: rules(t, "raw.test:"+p), AllowPrivate: []string{"raw.test"}}, loopback("raw.test"))
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	env, done := g.Open("127.0.0.1:3128")
	defer done()
	w := &world{t: t, token: tokenIn(t, env)}
	inside, outside := net.Pipe()
	l.conns <- outside
	_ = inside.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(inside, "CONNECT raw.test:%s HTTP/1.1\r\nHost: raw.test:%s\r\n%s\r\n", p, p, w.auth())
	r := bufio.NewReader(inside)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
	_ = res.Body.Close()
	up := <-accepted
	_, _ = io.WriteString(inside, "ping")
	buf := make([]byte, 4)
	if _, err := io.ReadFull(up, buf); err != nil || string(buf) != "ping" {
		t.Fatalf("%q %v", buf, err)
	}
	_, _ = io.WriteString(up, "pong")
	_ = up.Close()
	if got, err := io.ReadAll(r); string(got) != "pong" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	_ = l.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }
