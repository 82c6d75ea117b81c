package e2e_test

import (
	"net"
	"sync"
	"testing"
)

// link is a connection to Redis over TCP that can be cut: bytes stop, and
// nobody is told. What was on its way arrives when it is mended.
type link struct {
	addr string
	to   string // path of the server's socket

	mu    sync.Mutex
	whole chan struct{} // closed while bytes pass; under mu
	conns []net.Conn    // under mu
	ended bool          // under mu
}

func newLink(t *testing.T, socket string) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{addr: l.Addr().String(), to: socket, whole: make(chan struct{})}
	close(k.whole)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { k.carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		k.end()
		work.Wait()
	})
	return k
}

func (k *link) url() string { return "redis://" + k.addr }

// carry passes bytes both ways.
func (k *link) carry(c net.Conn) {
	defer func() { _ = c.Close() }()
	k.wait()
	s, err := net.Dial("unix", k.to)
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	k.mu.Lock()
	ended := k.ended
	k.conns = append(k.conns, c, s)
	k.mu.Unlock()
	if ended {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { k.pass(c, s) })
	both.Go(func() { k.pass(s, c) })
	both.Wait()
}

func (k *link) pass(from, to net.Conn) {
	defer func() { // the other way ends too
		_ = from.Close()
		_ = to.Close()
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		k.wait()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait returns when the link is whole.
func (k *link) wait() {
	k.mu.Lock()
	whole := k.whole
	k.mu.Unlock()
	<-whole
}

func (k *link) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.whole:
		k.whole = make(chan struct{})
	default: // cut already
	}
}

func (k *link) mend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.whole:
	default:
		close(k.whole)
	}
}

func (k *link) end() {
	k.mend()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	for _, c := range k.conns {
		_ = c.Close()
	}
}
