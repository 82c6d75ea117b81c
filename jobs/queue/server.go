package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// maxSocketPath is the room in sockaddr_un (unix(7)), terminator included.
const maxSocketPath = 107

// startLimit bounds how long redis-server may take to answer; loading a large
// append-only file takes seconds.
const startLimit = 30 * time.Second

// socketPath prefers the data directory; a path too long for a socket moves
// to a private directory of the system's temporary one.
func socketPath(dir string) (path string, cleanup func(), err error) {
	path = filepath.Join(dir, "redis.sock")
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	tmp, err := os.MkdirTemp("", "greenwright-redis-")
	if err != nil {
		return "", nil, fmt.Errorf("preparing the embedded redis: %w", err)
	}
	return filepath.Join(tmp, "redis.sock"), func() { _ = os.RemoveAll(tmp) }, nil
}

// server is a redis-server process of ours.
type server struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
	err    error         // how it ended; read after exited

	mu       sync.Mutex
	stopping bool // under mu: its end is wanted
}

// startServer runs redis-server in dir. own is the lock of this process, which
// is released when the server has been stopped.
func startServer(ctx context.Context, binary, dir string, own *os.File, log *slog.Logger) (*Embedded, error) {
	theirs, err := lockForServer(ctx, dir, log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }() // the server keeps it
	if err := os.Remove(filepath.Join(dir, pidFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("preparing the embedded redis: %w", err) // a machine that crashed leaves one
	}
	socket, cleanup, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	s := &server{cmd: command(binary, dir, socket, theirs), exited: make(chan struct{})}
	if err := s.cmd.Start(); err != nil {
		cleanup()
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	done := make(chan error, 1)
	go s.wait(done)
	stop := sync.OnceValue(func() error {
		defer cleanup()
		s.stop()
		return own.Close()
	})
	if err := s.await(ctx, socket, dir); err != nil {
		return nil, errors.Join(err, stop())
	}
	log.Info("embedded redis is up", "socket", socket, "pid", s.cmd.Process.Pid)
	address := url.URL{Scheme: "unix", Path: socket}
	return &Embedded{URL: vcs.Secret(address.String()), Durable: true, done: done, stop: stop}, nil
}

// command is the server's argv. Every delivery answered with 202 must survive
// a crash of the machine: appendfsync always. Redis then syncs once per round
// of its event loop, so that clients side by side share a sync.
func command(binary, dir, socket string, lock *os.File) *exec.Cmd {
	cmd := exec.Command(binary, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", dir, //nolint:noctx // ended by Close
		"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--maxmemory-policy", "noeviction",
		"--daemonize", "no", "--pidfile", filepath.Join(dir, pidFile), "--loglevel", "warning", "--logfile", filepath.Join(dir, "redis.log"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is for us; we end it when drained
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{lock} // held for as long as the process lives, also without us
	return cmd
}

// wait tells how the server has ended.
func (s *server) wait(done chan<- error) {
	err := s.cmd.Wait()
	s.mu.Lock()
	wanted := s.stopping
	s.mu.Unlock()
	s.err = err
	close(s.exited)
	switch {
	case wanted:
		done <- nil
	case err != nil:
		done <- fmt.Errorf("the embedded redis ended: %w", err)
	default:
		done <- errors.New("the embedded redis ended by itself")
	}
}

// stopLimit is how long redis may take to write its file before it is killed.
const stopLimit = 15 * time.Second

// stop ends the server and waits for it.
func (s *server) stop() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-timer.C:
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
}

// await waits until the server answers.
func (s *server) await(ctx context.Context, socket, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.exited:
			return fmt.Errorf("the embedded redis did not start, see %s: %w", filepath.Join(dir, "redis.log"), errors.Join(errors.New("it ended"), s.err))
		case <-ctx.Done():
			return fmt.Errorf("waiting at most %s for the embedded redis, see %s: %w", startLimit, filepath.Join(dir, "redis.log"), ctx.Err())
		case <-tick.C:
			if ping(ctx, socket) {
				return nil
			}
		}
	}
}

// ping asks with the inline form of the protocol, and is content only with
// PONG: while it loads its file redis answers -LOADING.
func ping(ctx context.Context, socket string) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	buf := make([]byte, 7)
	n, err := conn.Read(buf)
	return err == nil && string(buf[:n]) == "+PONG\r\n"
}
