package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/sandbox/bwrap"
	"github.com/greenwright/greenwright/sandbox/cgroup"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/sandbox/redact"
	"github.com/greenwright/greenwright/sandbox/runsc"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// lab is what the benchmarks of the sandbox share: the drivers that start
// here, set up as `serve` sets them up, and a run's account for what is
// measured beside them.
type lab struct {
	b       *testing.B
	dir     string // accounts can pass through it
	state   string
	guard   *redact.Redactor
	account *account.Account
	drivers []sandbox.Driver
	made    int      // directories
	notes   []string // on the setting
}

// newLab builds the guest, as `make build` puts it beside the program, and tries the
// drivers. One that does not start here is said to be missing.
func newLab(b *testing.B) *lab {
	l := &lab{b: b, dir: dataDir(b)}
	l.state = filepath.Join(l.dir, "state")
	l.must(os.Mkdir(l.state, 0o711))
	groups, err := cgroup.Open(cgroup.Config{})
	l.must(err)
	l.guard, err = redact.New([]redact.Secret{{Name: "model key", Value: "not-a-secret-0123456789"}, {Name: "webhook secret", Value: secret}})
	l.must(err)
	l.account, err = account.Claim(account.Dir(filepath.Join(l.state, "accounts")))
	l.must(err)
	b.Cleanup(func() { _ = l.account.Release() })
	bin := sandboxtest.Guest(b)
	l.add("bwrap", func() (sandbox.Driver, error) {
		return bwrap.New(bwrap.Config{StateDir: l.state, Guest: bin, Cgroup: groups})
	})
	l.add("runsc", func() (sandbox.Driver, error) {
		return runsc.New(runsc.Config{Binary: sandboxtest.Runsc(), StateDir: l.state, Guest: bin, Cgroup: groups})
	})
	if st, err := os.Stat(bin); err == nil {
		l.note("guest %d MB, cgroup %s, run's account %d, %s", st.Size()>>20, groups.Mode(), l.account.UID, loadAverage())
	}
	return l
}

func (l *lab) add(name string, driver func() (sandbox.Driver, error)) {
	d, err := driver()
	if err == nil {
		_, err = d.Probe(l.b.Context())
	}
	switch {
	case err == nil:
		l.drivers = append(l.drivers, d)
	case strings.Contains(os.Getenv(sandboxtest.RequireVar), name):
		l.b.Fatalf("%s is required on this machine: %v", name, err)
	default:
		l.note("%s MISSING here, its rows are left out: %v", name, err)
	}
}

func (l *lab) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// setting prints what the figures were measured with and what was missing.
func (l *lab) setting() {
	l.note("at the end: %s", loadAverage())
	l.show("setting", nil, l.notes...)
}

// show prints lines and figures as a benchmark below this one: Go cuts what
// one benchmark says after nine lines, and swallows what those say that have
// others below them.
func (l *lab) show(name string, figures map[string]float64, lines ...string) {
	l.b.Run(name, func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		for unit, value := range figures {
			b.ReportMetric(value, unit)
		}
		for _, line := range lines {
			b.Log(line)
		}
	})
}

func (l *lab) must(err error) {
	l.b.Helper()
	if err != nil {
		l.b.Fatal(err)
	}
}

func (l *lab) has(name string) bool {
	return slices.ContainsFunc(l.drivers, func(d sandbox.Driver) bool { return d.Name() == name })
}

// room makes a directory of its own.
func (l *lab) room() string {
	l.made++
	dir := filepath.Join(l.dir, strconv.Itoa(l.made))
	l.must(os.Mkdir(dir, 0o711))
	return dir
}

// owned is a directory that belongs to the account.
func (l *lab) owned(dir, name string) string {
	path := filepath.Join(dir, name)
	l.must(os.Mkdir(path, 0o700))
	l.must(l.account.Give(path))
	return path
}

// spec is a Spec with directories of its own, and with the redaction that a
// run's output passes.
func (l *lab) spec() sandbox.Spec {
	dir := l.room()
	ws := filepath.Join(dir, "workspace")
	l.must(os.Mkdir(ws, 0o700))
	spec := sandbox.Spec{RunID: "bench", Workspace: ws, Scratch: filepath.Join(dir, "scratch"), Filter: l.guard.Writer}
	spec.Limits.OutputBytes = 1 << 30
	return spec
}

func (l *lab) start(d sandbox.Driver, spec sandbox.Spec) sandbox.Sandbox {
	l.b.Helper()
	box, err := d.Start(l.b.Context(), spec)
	l.must(err)
	l.b.Cleanup(func() {
		if err := box.Close(context.WithoutCancel(l.b.Context())); err != nil {
			l.b.Errorf("closing %s: %v", d.Name(), err)
		}
	})
	return box
}

// stand is one way to run commands.
type stand struct {
	name string
	run  func(argv ...string) (sandbox.Output, error)
}

// boxStand runs them in a sandbox that has been started.
func (l *lab) boxStand(name string, box sandbox.Sandbox) stand {
	return stand{name, func(argv ...string) (sandbox.Output, error) {
		res, err := box.Exec(l.b.Context(), sandbox.Cmd{Argv: argv})
		if err == nil && !res.OK() {
			err = fmt.Errorf("%s %d: %.500s", res.Cause, res.ExitCode, res.Output)
		}
		return res.Output, err
	}}
}

// hostStand runs them as processes of this machine, with words before each.
func (l *lab) hostStand(name string, attr *syscall.SysProcAttr, dir string, env []string, before ...string) stand {
	return stand{name, func(argv ...string) (sandbox.Output, error) {
		argv = slices.Concat(before, argv)
		return l.host(attr, dir, env, argv)
	}}
}

// commandLimit bounds everything that is run: the slowest build takes a minute.
const commandLimit = 5 * time.Minute

func (l *lab) host(attr *syscall.SysProcAttr, dir string, env, argv []string, files ...*os.File) (sandbox.Output, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.b.Context()), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out sink
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	cmd.SysProcAttr, cmd.Dir, cmd.Env, cmd.ExtraFiles = attr, dir, env, files
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w: %.500s", argv[0], err, out.head)
	}
	return sandbox.Output{Head: out.head, TotalBytes: out.total}, err
}

// sink counts and keeps the beginning.
type sink struct {
	head  []byte
	total int64
}

const sinkHead = 64 << 10

func (s *sink) Write(p []byte) (int, error) {
	s.head = append(s.head, p[:min(len(p), max(sinkHead-len(s.head), 0))]...)
	s.total += int64(len(p))
	return len(p), nil
}

// hostEnv is the environment of a sandbox with directories of the host.
func hostEnv(home, temp string, extra ...string) []string {
	return slices.Concat(layout.Environment(sandbox.Spec{}, sandbox.Cmd{Env: []string{"HOME=" + home, "TMPDIR=" + temp}}), extra)
}

// timings are durations under the name of what was done and where.
type timings map[string][]time.Duration

// measure does something and keeps how long it took.
func (t timings) measure(where, what string, do func() error) error {
	at := time.Now()
	err := do()
	took := time.Since(at)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", where, what, err)
	}
	t[where+", "+what] = append(t[where+", "+what], took)
	return nil
}

func (t timings) at(where, what string, q float64) time.Duration {
	return quantile(slices.Sorted(slices.Values(t[where+", "+what])), q)
}

// show prints what was done, a row for each place.
func (t timings) show(l *lab, what string, wheres ...string) {
	var rows []string
	figures := map[string]float64{}
	for _, where := range wheres {
		all := slices.Sorted(slices.Values(t[where+", "+what]))
		if len(all) == 0 {
			continue
		}
		p50, p95 := millis(quantile(all, 0.5)), millis(quantile(all, 0.95))
		rows = append(rows, fmt.Sprintf("%-26s n=%-4d p50 %9.2f ms  p95 %9.2f ms  min %9.2f ms", where, len(all), p50, p95, millis(all[0])))
		figures[strings.ReplaceAll(where, " ", "-")+"-p50-ms"] = p50
	}
	l.show(what, figures, rows...)
}

// loadAverage is what else the machine had to do, as far as its kernel says.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load not known"
	}
	return "load " + strings.Join(strings.Fields(string(text))[:3], " ")
}
