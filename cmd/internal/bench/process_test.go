package bench_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs/vcstest"
)

// startLimit bounds how long a process may take until it answers.
const startLimit = 30 * time.Second

// stopLimit bounds how long it may take to end: a drain and its winding up.
const stopLimit = 60 * time.Second

// process is a child that answers HTTP.
type process struct {
	cmd    *exec.Cmd
	addr   string
	exited chan error
	log    string
}

// binary names a program to measure instead of a fresh build, to compare two.
const binary = "GREENWRIGHT_BENCH_BINARY"

// build makes the program as `make build` does.
func build(b *testing.B) string {
	b.Helper()
	if bin := os.Getenv(binary); bin != "" {
		return bin
	}
	bin := filepath.Join(b.TempDir(), "greenwright")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "github.com/greenwright/greenwright/cmd/greenwright")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, out)
	}
	return bin
}

// start runs a command until stop, and waits until path answers 200.
func start(cmd *exec.Cmd, addr, path, log string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, addr: addr, exited: make(chan error, 1), log: log}
	go func() { p.exited <- cmd.Wait() }()
	if err := p.answers(path); err != nil {
		text, _ := os.ReadFile(log)
		return nil, errors.Join(fmt.Errorf("%s: %w\n%s", cmd.Path, err, text), p.stop())
	}
	return p, nil
}

func (p *process) answers(path string) error {
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-p.exited:
			p.exited <- err
			return fmt.Errorf("ended: %w", err)
		case <-limit.C:
			return errors.New("does not answer")
		case <-tick.C:
		}
		resp, err := http.Get("http://" + p.addr + path)
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
}

// stop asks it to end and waits.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case err := <-p.exited:
		return err
	case <-limit.C:
		return errors.Join(errors.New("had to be killed"), p.cmd.Process.Kill(), <-p.exited)
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// freeAddr is an address that nobody listens on.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// dataDir is a directory of its own that other accounts may pass through, as
// the sandbox needs it; a test's own is closed to them.
func dataDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("", "gw-bench-")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// serve starts the program against the simulated GitHub; an empty redisURL
// makes it start its own Redis.
func serve(bin, dir, role, redisURL string, gh *vcstest.GitHub) (*process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "greenwright.yml")
	text := fmt.Sprintf("listen: %s\ninternal_listen: \"\"\ndata_dir: %s\nforges:\n  github:\n    base_url: %s\n    app_id: %d\n"+
		"policy:\n  repositories: [\"acme/*\"]\n", addr, filepath.Join(dir, "data"), gh.WebURL(), gh.AppID())
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, "serve", "--config", conf, "--role", role)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GREENWRIGHT_GITHUB_WEBHOOK_SECRET=" + secret,
		"GREENWRIGHT_GITHUB_PRIVATE_KEY=" + gh.AppKeyPEM().Reveal(), "GREENWRIGHT_REDIS_URL=" + redisURL}
	return start(cmd, addr, "/healthz", filepath.Join(dir, "serve.log"))
}

func newGitHub(b *testing.B) *vcstest.GitHub {
	b.Helper()
	gh, err := vcstest.NewGitHub(vcstest.Config{Dir: b.TempDir(), WebhookSecret: secret})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := gh.Close(); err != nil {
			b.Error(err)
		}
		for _, fault := range gh.Faults() {
			b.Error("the simulated GitHub:", fault)
		}
	})
	return gh
}

// clockTick is the kernel's unit of CPU time in /proc (USER_HZ, always 100 on
// the architectures that Go and Linux share).
const clockTick = 10 * time.Millisecond

// cpuOf is the CPU time that a process has used, user and system.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	after := text[bytes.LastIndexByte(text, ')')+1:] // the name may hold anything
	fields := strings.Fields(string(after))
	const utime, stime = 11, 12 // fields 14 and 15 of proc_pid_stat(5)
	if len(fields) <= stime {
		return 0, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	system, err2 := strconv.ParseInt(fields[stime], 10, 64)
	return time.Duration(user+system) * clockTick, errors.Join(err, err2)
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory is a process's resident and proportional set, in bytes.
type memory struct{ rss, pss int64 }

func memoryOf(pid int) (memory, error) {
	var m memory
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kb); n == 1 {
			m.rss = kb << 10
		}
		if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kb); n == 1 {
			m.pss = kb << 10
		}
	}
	if m.rss == 0 {
		return m, fmt.Errorf("/proc/%d/smaps_rollup says nothing", pid)
	}
	return m, nil
}

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
