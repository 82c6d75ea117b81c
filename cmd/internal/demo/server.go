package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The files in the demonstration's directory.
const (
	configFile = "greenwright.yml"
	logFile    = "serve.log"
	dataDir    = "data"
)

// server is the process of `greenwright serve`.
type server struct {
	cmd    *exec.Cmd
	base   string
	log    *tail
	exited chan struct{} // closed once err is set
	err    error
	asked  bool // to stop
	told   bool // that it ended by itself
}

// The bounds of the server's life. A drain may take as long as serve waits for
// its jobs, 30 s, and then some.
const (
	startWait = 30 * time.Second
	stopWait  = 40 * time.Second
	pollEvery = 25 * time.Millisecond
)

// startServer starts the program on a configuration of its own and waits until
// it is healthy. A server that is returned must be stopped, also with an error.
func startServer(ctx context.Context, opts Options, dir string, f *forge) (*server, error) {
	config := filepath.Join(dir, configFile)
	if err := os.WriteFile(config, []byte(serverConfig(ctx, dir, f)), 0o600); err != nil {
		return nil, fmt.Errorf("writing the server's configuration: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the server's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	binary, err := filepath.Abs(opts.Greenwright)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", opts.Greenwright, err)
	}
	cmd := exec.Command(binary, "serve", "--config", config) //nolint:noctx // ended by stop, not by a kill
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, ownEnv(opts.Environ), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is for us; we stop it in order
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	s := &server{cmd: cmd, exited: make(chan struct{}), log: &tail{path: log.Name()}}
	go func() {
		s.err = cmd.Wait()
		close(s.exited)
	}()
	return s, s.await(ctx)
}

// serverConfig is the smallest one that does what is shown; an operator's
// looks the same.
func serverConfig(ctx context.Context, dir string, f *forge) string {
	at := func(name string) string { return filepath.Join(dir, name) }
	return fmt.Sprintf(`listen: 127.0.0.1:0
internal_listen: ""
data_dir: %q
forges:
%s
models:
  default: mechanic/auto
policy:
  auto_repair: all # also on what people propose
jobs:
  drain: 5s # who interrupts a demonstration does not want to wait
log:
  format: json
sandbox:
  env:
    # A run begins with an empty build cache: compile quickly rather than well.
    - GOFLAGS='-gcflags=all=-N -l -dwarf=false' -ldflags=-w -vet=off
%s`, at(dataDir), f.config, toolchain(ctx))
}

// toolchain goes on with the sandbox's settings: it shows it a Go that is
// installed elsewhere than in /usr, the part of the machine that it sees by
// itself.
func toolchain(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT")
	cmd.Dir = os.TempDir() // not a module that asks for another toolchain
	out, err := cmd.Output()
	root := strings.TrimSpace(string(out))
	if err != nil || root == "" || strings.HasPrefix(root, "/usr/local/go") {
		return ""
	}
	if strings.HasPrefix(root, "/usr/") {
		return fmt.Sprintf("  path: [%q]\n", filepath.Join(root, "bin"))
	}
	return fmt.Sprintf("    - GOROOT=/opt/go\n  path: [/opt/go/bin]\n  mounts:\n    - {source: %q, target: /opt/go}\n", root)
}

// ownEnv is the environment without settings that are not the demonstration's.
func ownEnv(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "GREENWRIGHT_OPENAI_API":
		case strings.HasPrefix(name, "GREENWRIGHT_"), strings.HasPrefix(name, "GIT_"):
			continue
		}
		out = append(out, kv)
	}
	return out
}

// await learns the address from the log and asks until the server is healthy.
func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	return poll(ctx, s, func() (bool, error) {
		records, err := s.log.next()
		for _, r := range records {
			if r.Message == "listening" && s.base == "" {
				s.base = "http://" + r.Address
			}
		}
		return err == nil && s.base != "" && healthy(ctx, s.base), err
	})
}

func healthy(ctx context.Context, base string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return false
	}
	client := http.Client{Timeout: time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10))
	return resp.StatusCode == http.StatusOK
}

// poll asks until done, ctx or the server's end.
func poll(ctx context.Context, s *server, done func() (bool, error)) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for greenwright serve: %w", context.Cause(ctx))
		case <-s.exited:
			s.told = true
			return s.early()
		case <-tick.C:
		}
	}
}

// early is the error of a server that ended unasked.
func (s *server) early() error {
	return fmt.Errorf("greenwright serve ended by itself: %s", s.cmd.ProcessState)
}

// stop asks the server to end and waits; it must exit with 0. Another call
// gives the same answer.
func (s *server) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	if !s.asked {
		s.asked = true
		select {
		case <-s.exited:
			if s.told {
				return nil
			}
			return s.early()
		default:
		}
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("asking greenwright serve to stop: %w", err)
		}
	}
	select {
	case <-s.exited:
	case <-ctx.Done():
		_ = s.cmd.Process.Kill()
		<-s.exited
		return fmt.Errorf("greenwright serve did not stop within %s and was killed", stopWait)
	}
	if s.err != nil {
		return fmt.Errorf("greenwright serve did not stop cleanly: %w", s.err)
	}
	return nil
}
