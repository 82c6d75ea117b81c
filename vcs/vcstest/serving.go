package vcstest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	closeTimeout  = 5 * time.Second
	// shutdownTimeout is short: clients keep connections that they never used.
	shutdownTimeout = 200 * time.Millisecond
)

// ground makes the directory of a simulated forge's repositories, finds git and
// listens.
func ground(dir, addr string) (gitCommand, net.Listener, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return gitCommand{}, nil, fmt.Errorf("making the directory of repositories: %w", err)
	}
	git, err := newGitCommand()
	if err != nil {
		return gitCommand{}, nil, err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return gitCommand{}, nil, fmt.Errorf("listening: %w", err)
	}
	return git, ln, nil
}

// serving is a server that runs.
type serving struct {
	server *http.Server
	served chan struct{} // closed when the server has ended
}

// start serves in a goroutine, until shut; report is told of a bad end.
func (s *serving) start(ln net.Listener, h http.Handler, report func(string, ...any)) {
	s.server, s.served = &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout}, make(chan struct{})
	go func() {
		defer close(s.served)
		if err := s.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			report("serving: %v", err)
		}
	}()
}

func (s *serving) shut() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close() // the connections that did not end by themselves
	}
	<-s.served
}
