package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// killWait is how long a killed git may hold its pipes.
	killWait = 5 * time.Second
	// slowBytes and slowSeconds end a transfer that has stalled.
	slowBytes   = "1000"
	slowSeconds = "60"
)

// passedEnv is what a git process may see of our environment: how to find
// programs, certificates and the proxy.
var passedEnv = [...]string{"PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "TMPDIR",
	"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "all_proxy"}

// runFetch has a git process fetch into the mirror. System and user
// configuration are off, hooks point nowhere, only the remote's own scheme is
// allowed, and the credential travels in the environment (rule O10).
func (m *Mirror) runFetch(ctx context.Context, p peer, wants []want, depth int) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"--no-auto-maintenance", "--update-shallow", "--depth=" + strconv.Itoa(depth), "--", p.gitURL()}
	for _, w := range wants {
		args = append(args, "+"+w.name+":"+fetchedRef(w.name))
	}
	global, err := m.store.gitConfig(p)
	if err != nil {
		return err
	}
	cmd := m.store.gitCommand(ctx, m.dir, args...)
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL="+p.scheme(), "GIT_CONFIG_GLOBAL="+global)
	cmd.Env = append(cmd.Env, configEnv(append(p.gitEnv(),
		[2]string{"fetch.unpackLimit", "1"},
		[2]string{"credential.helper", ""},
		[2]string{"http.lowSpeedLimit", slowBytes},
		[2]string{"http.lowSpeedTime", slowSeconds}))...)
	return m.store.runGit(ctx, cmd, m.store.cfg.MaxPackBytes)
}

// gitCommand prepares a git process that works on a trusted directory only.
func (s *Store) gitCommand(ctx context.Context, gitDir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Dir = gitDir
	cmd.Env = []string{"GIT_DIR=" + gitDir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "HOME=/nonexistent", "LC_ALL=C"}
	for _, name := range passedEnv {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killWait
	return cmd
}

// baseConfig goes into every git process.
var baseConfig = [...][2]string{
	{"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"}, {"gc.auto", "0"}, {"maintenance.auto", "false"},
	{"pack.threads", "0"}, {"protocol.version", "2"},
}

// configEnv spells configuration as environment, which git reads last.
func configEnv(pairs [][2]string) []string {
	pairs = append(pairs[:len(pairs):len(pairs)], baseConfig[:]...)
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(pairs))}
	for i, kv := range pairs {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return env
}

// gitConfig names the global configuration of a fetch: none, except for a
// repository on this machine that another account owns, which the operator
// named and git-upload-pack would refuse. It holds no secret.
func (s *Store) gitConfig(p peer) (string, error) {
	fp, ok := p.(*filePeer)
	if !ok || strings.ContainsAny(fp.path, "\"\\\n") {
		return os.DevNull, nil
	}
	path := filepath.Join(s.cfg.Dir, "safe-directory.gitconfig")
	text := "[safe]\n\tdirectory = *\n"
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return path, nil
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing git configuration: %w", err)
	}
	return path, nil
}

// runGit runs the process with a cap on the size of any file it writes and
// reports the start of what it says when it fails.
func (s *Store) runGit(ctx context.Context, cmd *exec.Cmd, maxFile int64) error {
	var said cappedText
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting git: %w", err)
	}
	if err := limitFileSize(cmd.Process.Pid, maxFile); err != nil {
		s.log.Debug("limiting git", "error", err)
	}
	err := cmd.Wait()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", cmd.Args[1], ctx.Err())
	}
	text := strings.TrimSpace(said.String())
	var exit *exec.ExitError
	if errors.As(err, &exit) && strings.Contains(text, "File too large") || strings.Contains(text, "signal 25") {
		return fmt.Errorf("git %s: %w: pack is over %d bytes", cmd.Args[1], ErrTooLarge, maxFile)
	}
	return fmt.Errorf("git %s: %w: %s", cmd.Args[1], err, text)
}
