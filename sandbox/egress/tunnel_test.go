package egress_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox/egress"
)

// pipeServer accepts one raw connection.
func pipeServer(t *testing.T) (port string, accepted <-chan *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ch := make(chan *net.TCPConn, 8)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			ch <- c.(*net.TCPConn)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-finished })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, ch
}

func rawWorld(t *testing.T, opts ...egress.Option) (*world, string, <-chan *net.TCPConn) {
	p, accepted := pipeServer(t)
	w := start(t, egress.Policy{Allow: rules(t, "raw.test:"+p), AllowPrivate: []string{"raw.test"}},
		append([]egress.Option{loopback("raw.test")}, opts...)...)
	return w, "raw.test:" + p, accepted
}

func TestHalfClose(t *testing.T) {
	w, host, accepted := rawWorld(t)
	c, r, _ := w.tunnel(host)
	up := <-accepted
	defer up.Close()
	_, _ = io.WriteString(up, "the host speaks first\n")
	if line, err := r.ReadString('\n'); line != "the host speaks first\n" {
		t.Fatalf("%q %v", line, err)
	}
	_, _ = io.WriteString(c, "all I have")
	_ = c.CloseWrite()
	if got, err := io.ReadAll(up); string(got) != "all I have" || err != nil {
		t.Fatalf("the host got %q, %v", got, err)
	}
	_, _ = io.WriteString(up, "the answer")
	_ = up.CloseWrite()
	if got, err := io.ReadAll(r); string(got) != "the answer" || err != nil {
		t.Fatalf("the client got %q, %v", got, err)
	}
	if d := w.last(1); d.BytesOut != 10 || d.BytesIn != 32 || d.Verdict != egress.Allowed || d.Reason != "" {
		t.Errorf("decision = %+v", d)
	}
}

func TestDoneClosesTunnels(t *testing.T) {
	w, host, accepted := rawWorld(t)
	c, r, _ := w.tunnel(host)
	up := <-accepted
	defer up.Close()
	env, other := w.Open(w.address)
	defer other()
	if tokenIn(t, env) == w.token {
		t.Fatal("two Opens have one token")
	}
	w.done()
	if _, err := r.ReadByte(); err == nil {
		t.Error("the tunnel is still open after done")
	}
	if _, err := up.Read(make([]byte, 1)); err == nil {
		t.Error("the host's side is still open after done")
	}
	_ = c.Close()
	w.mu.Lock()
	n := len(w.decisions)
	w.mu.Unlock()
	if n != 1 || !strings.Contains(w.last(1).Reason, "command has ended") {
		t.Errorf("done returned with %d decisions told", n)
	}
	if _, _, status := w.tunnel(host); status != http.StatusProxyAuthRequired {
		t.Errorf("after done: %d, want 407", status)
	}
	w.token = tokenIn(t, env)
	if _, _, status := w.tunnel(host); status != http.StatusOK {
		t.Errorf("the other token: %d, want 200", status)
	}
	(<-accepted).Close()
}

func TestServeEndsTunnels(t *testing.T) {
	w, host, accepted := rawWorld(t)
	_, r, _ := w.tunnel(host)
	up := <-accepted
	defer up.Close()
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after Serve: %v, want the end", err)
	}
	if d := w.last(1); !strings.Contains(d.Reason, "sandbox has ended") {
		t.Errorf("decision = %+v", d)
	}
}

func TestIdleTunnelsEnd(t *testing.T) {
	w, host, accepted := rawWorld(t, egress.WithLimits(egress.Limits{Idle: 50 * time.Millisecond}))
	_, r, _ := w.tunnel(host)
	up := <-accepted
	defer up.Close()
	if _, err := r.ReadByte(); err == nil {
		t.Error("an idle tunnel stayed open")
	}
	if d := w.last(1); !strings.HasPrefix(d.Reason, "idle") {
		t.Errorf("decision = %+v", d)
	}
}

func TestBytesOfTheRunEnd(t *testing.T) {
	w, host, accepted := rawWorld(t, egress.WithLimits(egress.Limits{Bytes: 1 << 20}))
	_, r, _ := w.tunnel(host)
	up := <-accepted
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		defer up.Close()
		for {
			if _, err := up.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}()
	got, _ := io.Copy(io.Discard, r)
	<-sent
	if got < 512<<10 || got > 1<<20+64<<10 {
		t.Errorf("%d bytes came through a limit of 1 MiB", got)
	}
	if _, _, status := w.tunnel(host); status != http.StatusForbidden {
		t.Errorf("after the limit: %d, want 403", status)
	}
}
