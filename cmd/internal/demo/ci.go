package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// ci stands for the forge's own CI: it runs the formatting check on fresh
// clones, outside of Greenwright and its sandbox. The check executes nothing
// of the repository.
type ci struct {
	dir     string
	environ []string
}

// ran is one run of the check.
type ran struct {
	branch, commit string
	exitCode       int
	output         string
}

// ciTimeout bounds a clone and the check together.
const ciTimeout = time.Minute

// run clones a branch over HTTP and runs the check in the clone.
func (c ci) run(ctx context.Context, url, branch string) (ran, error) {
	ctx, cancel := context.WithTimeout(ctx, ciTimeout)
	defer cancel()
	r := ran{branch: branch}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return r, fmt.Errorf("making the CI's directory: %w", err)
	}
	dir, err := os.MkdirTemp(c.dir, "clone-")
	if err != nil {
		return r, fmt.Errorf("making the CI's directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := gitOutput(ctx, c.environ, "", "clone", "--quiet", "--depth", "1", "--branch", branch, "--", url, dir); err != nil {
		return r, err
	}
	if r.commit, err = gitOutput(ctx, c.environ, dir, "rev-parse", "HEAD"); err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", "gofmt -l .; "+formatRun)
	cmd.Dir, cmd.Env = dir, gitEnv(c.environ)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, fmt.Errorf("running the CI's check: %w", err)
	}
	r.exitCode, r.output = cmd.ProcessState.ExitCode(), string(out)
	return r, nil
}

// runCI runs the check and shows it.
func (s *stage) runCI(ctx context.Context, o *outcome, branch string) (ran, error) {
	r, err := s.ci.run(ctx, o.repo.CloneURL(), branch)
	if err != nil {
		return r, err
	}
	s.out.say("ci", "%s on %s: %s", formatJob, branch, s.out.exit(r.exitCode))
	return r, nil
}

// ciAgain runs the check on what came of a scene, as a CI would, and reports it.
func (s *stage) ciAgain(ctx context.Context, o *outcome) error {
	pull := s.pullOf(o)
	if pull == nil {
		return nil
	}
	var err error
	if o.outside, err = s.runCI(ctx, o, pull.Head.Name); err != nil {
		return err
	}
	if o.outside.commit == o.before {
		return nil // nothing was pushed: the CI has said so already
	}
	return s.report(o.repo, o.outside, owner)
}

// report publishes a run as a check of the forge's CI; login is who pushed.
func (s *stage) report(repo repository, r ran, login string) error {
	if _, err := repo.FinishCheck(s.forge.result(r, login)); err != nil {
		return fmt.Errorf("reporting a check: %w", err)
	}
	return nil
}

// conclusion is how the forge's CI calls it.
func (r ran) conclusion() vcs.Conclusion {
	if r.exitCode != 0 {
		return vcs.ConclusionFailure
	}
	return vcs.ConclusionSuccess
}

// gitEnv keeps git to itself: no configuration of the machine, no questions.
func gitEnv(environ []string) []string {
	return append(ownEnv(environ), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// gitOutput runs git in dir and gives its trimmed output.
func gitOutput(ctx context.Context, environ []string, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, gitEnv(environ)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}
