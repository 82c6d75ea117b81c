package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stage is where a demonstration is played.
type stage struct {
	opts  Options
	out   *printer
	model modelChoice

	dir    string
	forge  *forge
	server *server
	ci     ci
}

// needed are the programs without which nothing can be shown.
var needed = []string{"git", "go", "gofmt", "bwrap", "redis-server"}

// open makes the directory, the forge and the server.
func (s *stage) open(ctx context.Context) error {
	if err := preflight(s.opts.Greenwright); err != nil {
		return err
	}
	s.out.heading("Greenwright, the whole way: the " + s.opts.Forge.Words().Forge + " is simulated, everything else is real")
	var err error
	if s.dir, err = makeDir(); err != nil {
		return err
	}
	if err := s.openHub(); err != nil {
		return err
	}
	s.ci = ci{dir: filepath.Join(s.dir, "ci"), environ: s.opts.Environ}
	s.out.say(string(s.forge.name), "simulated, with real git over HTTP: %s", s.forge.WebURL())
	return s.openServer(ctx)
}

func preflight(binary string) error {
	var missing []string
	for _, name := range needed {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("this machine lacks %s: `make setup` installs it, or says how", strings.Join(missing, ", "))
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("looking for greenwright (`make build` makes it): %w", err)
	}
	return nil
}

// passable is the mode of what a run's own account must pass through.
const passable = 0o711

// makeDir makes the directory. Where the worker is root, commands run under an
// account of their own, which must be able to get there.
func makeDir() (string, error) {
	dir, err := os.MkdirTemp("", "greenwright-demo-")
	if err != nil {
		return "", fmt.Errorf("making the demonstration's directory: %w", err)
	}
	if err := os.Chmod(dir, passable); err != nil {
		return dir, fmt.Errorf("opening the demonstration's directory: %w", err)
	}
	for parent := filepath.Dir(dir); os.Geteuid() == 0; parent = filepath.Dir(parent) {
		st, err := os.Stat(parent)
		if err != nil {
			return dir, fmt.Errorf("looking at the temporary directory: %w", err)
		}
		if st.Mode().Perm()&0o001 == 0 {
			return dir, fmt.Errorf("%s is closed to other accounts, and the sandbox uses one: set TMPDIR to a directory that is open, such as /tmp", parent)
		}
		if parent == filepath.Dir(parent) {
			break
		}
	}
	return dir, nil
}

// openHub starts the simulated forge; its webhooks go out once the server is
// known.
func (s *stage) openHub() error {
	f, err := openForge(s.opts.Forge, s.dir, rand.Text())
	s.forge = f
	if err != nil {
		return err
	}
	for _, login := range []string{maintainer, contributor} {
		f.CreateUser(login)
	}
	return nil
}

func (s *stage) openServer(ctx context.Context) error {
	begun := time.Now()
	server, err := startServer(ctx, s.opts, s.dir, s.forge)
	s.server = server
	if err != nil {
		return err
	}
	s.forge.AddHook(server.base + "/webhooks/" + string(s.forge.name))
	s.out.say("greenwright", "serve is up after %s: own redis-server, the sandbox that starts here", round(time.Since(begun)))
	s.out.say("greenwright", "model: mechanic, which needs no key")
	return nil
}

// play shows the scenes, then says what came of them.
func (s *stage) play(ctx context.Context) error {
	var shown []*outcome
	for _, scene := range []func(context.Context) (*outcome, error){s.askedOnIssue, s.redCheck, s.realBug} {
		o, err := scene(ctx)
		if err != nil {
			return err
		}
		if o != nil {
			shown = append(shown, o)
		}
	}
	if err := s.curtain(ctx); err != nil {
		return err
	}
	for _, o := range shown {
		if err := s.gather(ctx, o); err != nil {
			return err
		}
	}
	s.ending(shown)
	if err := s.judge(shown); err != nil {
		return err
	}
	s.summary(shown)
	return nil
}

// curtain stops the server while everybody looks.
func (s *stage) curtain(ctx context.Context) error {
	if err := s.forge.Flush(ctx); err != nil {
		return fmt.Errorf("waiting for the last webhooks: %w", err)
	}
	begun := time.Now()
	if err := s.server.stop(ctx); err != nil {
		return err
	}
	s.out.section("The end")
	s.out.say("greenwright", "serve is told to stop (SIGTERM): exit 0 after %s", round(time.Since(begun)))
	return nil
}

// stop ends what still runs.
func (s *stage) stop(ctx context.Context) error {
	var errs []error
	if s.server != nil {
		errs = append(errs, s.server.stop(ctx))
	}
	if s.forge != nil {
		errs = append(errs, s.forge.Close())
	}
	return errors.Join(errs...)
}

func (s *stage) serverLog() string { return filepath.Join(s.dir, logFile) }

// round makes durations short to read.
func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
