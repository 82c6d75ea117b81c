package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// session is one Serve: the exchanges that end with its listener.
type session struct {
	gateway *Gateway
	wg      sync.WaitGroup

	mu    sync.Mutex
	alive map[*exchange]bool // guarded by mu
}

// Serve answers connections until the listener is closed, then ends those that
// are open, waits for them and returns nil; another error of the listener is
// returned. It may be called again, for other listeners at the same time.
func (g *Gateway) Serve(l net.Listener) error {
	//nolint:forbidigo // the life of what is served is the listener's
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{gateway: g, alive: map[*exchange]bool{}}
	defer func() {
		cancel()
		s.end()
		s.wg.Wait()
	}()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accepting a connection of the sandbox: %w", err)
		}
		s.take(ctx, conn)
	}
}

// take answers one connection in a goroutine that the session waits for.
func (s *session) take(ctx context.Context, conn net.Conn) {
	g := s.gateway
	ctx, cancel := context.WithCancel(ctx)
	x := newExchange(g, conn, cancel)
	s.mu.Lock()
	s.alive[x] = true
	s.mu.Unlock()
	if g.open.Add(1) > int64(g.limits.Connections) {
		_ = conn.SetDeadline(time.Now().Add(crowdedTime))
		x.answer(&refusal{status: http.StatusServiceUnavailable, reason: "too many connections are open"})
		s.drop(x)
		return
	}
	s.wg.Go(func() {
		defer s.drop(x)
		x.run(ctx)
	})
}

// crowdedTime is how long a connection too many may hold up the next one: its
// short answer fits into any buffer.
const crowdedTime = 50 * time.Millisecond

func (s *session) drop(x *exchange) {
	x.end("")
	s.gateway.open.Add(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alive, x)
}

func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.alive {
		x.end("closed: the sandbox has ended")
	}
}
