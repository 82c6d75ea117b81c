package unsafehost_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/unsafehost"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// passable is a directory that every account may pass.
func passable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "unsafehost-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, change func(*sandbox.Spec)) (sandbox.Sandbox, sandbox.Spec) {
	t.Helper()
	dir := passable(t)
	spec := sandbox.Spec{RunID: "test", Workspace: filepath.Join(dir, "workspace"), Scratch: filepath.Join(dir, "scratch")}
	if err := os.Mkdir(spec.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&spec)
	}
	b, err := unsafehost.New(filepath.Join(dir, "state")).Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b, spec
}

func exec(t *testing.T, b sandbox.Sandbox, cmd sandbox.Cmd) sandbox.Result {
	t.Helper()
	res, err := b.Exec(t.Context(), cmd)
	if err != nil {
		t.Fatalf("%q: %v", cmd.Script, err)
	}
	return res
}

func TestExec(t *testing.T) {
	t.Setenv("UNSAFEHOST_TEST_TOKEN", "secret")
	b, spec := start(t, func(s *sandbox.Spec) { s.Env = []string{"TWICE=spec"} })
	for _, c := range []struct {
		name string
		cmd  sandbox.Cmd
		code int
		want string
	}{
		{"output", sandbox.Cmd{Script: "echo a; echo b >&2; echo c"}, 0, "a\nb\nc\n"},
		{"exit code", sandbox.Cmd{Script: "exit 3"}, 3, ""},
		{"exit code of a signal's number", sandbox.Cmd{Script: "exit 137"}, 137, ""},
		{"signal", sandbox.Cmd{Script: "kill -TERM $$"}, 143, ""},
		{"argv", sandbox.Cmd{Argv: []string{"printf", "%s", "$x"}}, 0, "$x"},
		{"input", sandbox.Cmd{Script: "cat", Stdin: strings.NewReader("in")}, 0, "in"},
		{"input that nobody reads", sandbox.Cmd{Script: "true", Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}, 0, ""},
		{"no input", sandbox.Cmd{Script: "cat"}, 0, ""},
		{"environment", sandbox.Cmd{Script: "echo $TWICE $CI $UNSAFEHOST_TEST_TOKEN", Env: []string{"TWICE=cmd"}}, 0, "cmd 1\n"},
		{"home", sandbox.Cmd{Script: "echo $HOME $TMPDIR"}, 0, filepath.Join(spec.Scratch, "home") + " " + filepath.Join(spec.Scratch, "tmp") + "\n"},
		{"a home of its own", sandbox.Cmd{Script: "echo $HOME", Env: []string{"HOME=/x"}}, 0, "/x\n"},
		{"directory out of the workspace", sandbox.Cmd{Script: "pwd", Dir: "../../.."}, 0, spec.Workspace + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := exec(t, b, c.cmd)
			if res.Cause != sandbox.Exited || res.ExitCode != c.code || res.Output.String() != c.want {
				t.Errorf("got %s, code %d, output %q", res.Cause, res.ExitCode, res.Output)
			}
		})
	}
	for name, cmd := range map[string]sandbox.Cmd{
		"no directory": {Script: "echo ran", Dir: "nowhere"},
		"no program":   {Argv: []string{"no-such-program"}},
		"a NUL":        {Script: "echo ran\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			if res := exec(t, b, cmd); res.Cause != sandbox.Exited || res.ExitCode < 126 || res.Output.TotalBytes == 0 || res.Output.String() == "ran\n" {
				t.Errorf("got %s, code %d, output %q", res.Cause, res.ExitCode, res.Output)
			}
		})
	}
	if res := exec(t, b, sandbox.Cmd{Script: "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; id -u; echo x > file"}); res.Usage.CPU <= 0 {
		t.Errorf("usage %+v", res.Usage)
	}
	uid, _ := b.Owner()
	if os.Geteuid() == 0 && uid == 0 {
		t.Error("commands run as root")
	}
}

// shout is a filter that can be told from its input.
type shout struct{ dst io.Writer }

func (s shout) Write(p []byte) (int, error) { return s.dst.Write(bytes.ToUpper(p)) }
func (s shout) Close() error                { _, err := s.dst.Write([]byte("END\n")); return err }

// TestFilter: what keeps and shows output sees it filtered.
func TestFilter(t *testing.T) {
	b, _ := start(t, func(s *sandbox.Spec) { s.Filter = func(dst io.Writer) io.WriteCloser { return shout{dst} } })
	file := filepath.Join(t.TempDir(), "out")
	var shown, errs string
	res := exec(t, b, sandbox.Cmd{
		Script: "echo secret; echo secret-too >&2", Artifact: file,
		OnOutput: func(p []byte) { shown += string(p) }, OnStderr: func(p []byte) { errs += string(p) },
	})
	kept, err := os.ReadFile(file)
	if all := res.Output.String() + shown + errs + string(kept); err != nil || strings.Contains(all, "secret") || shown != "SECRET\nEND\n" || errs != "SECRET-TOO\nEND\n" {
		t.Errorf("kept %q, shown %q and %q, file %q, %v", res.Output, shown, errs, kept, err)
	}
}

func TestLimits(t *testing.T) {
	b, spec := start(t, func(s *sandbox.Spec) { s.Limits = sandbox.Limits{OutputBytes: 1 << 20} })
	for _, c := range []struct {
		name string
		cmd  sandbox.Cmd
		want sandbox.Cause
	}{
		{"wall clock", sandbox.Cmd{Script: "echo before; while :; do echo; sleep 0.1; done", Timeout: 400 * time.Millisecond}, sandbox.TimedOut},
		{"idle", sandbox.Cmd{Script: "echo before; sleep 60", Idle: 300 * time.Millisecond}, sandbox.IdleTimeout},
		{"output", sandbox.Cmd{Script: "echo before; yes"}, sandbox.OutputLimit},
		{"ignored signals", sandbox.Cmd{Script: "trap '' TERM INT HUP; echo before; while :; do sleep 1; done", Timeout: 300 * time.Millisecond}, sandbox.TimedOut},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := exec(t, b, c.cmd)
			if res.Cause != c.want || res.ExitCode != -1 || !strings.HasPrefix(res.Output.String(), "before\n") || res.Duration > 10*time.Second {
				t.Errorf("got %s, code %d, %.30q after %s", res.Cause, res.ExitCode, res.Output, res.Duration)
			}
		})
	}
	t.Run("the group ends with its command", func(t *testing.T) {
		res := exec(t, b, sandbox.Cmd{Script: "(while :; do date +%N > alive; sleep 0.05; done) >/dev/null 2>&1 & sleep 0.2"})
		before, _ := os.ReadFile(filepath.Join(spec.Workspace, "alive"))
		time.Sleep(200 * time.Millisecond)
		after, _ := os.ReadFile(filepath.Join(spec.Workspace, "alive"))
		if len(before) == 0 || !bytes.Equal(before, after) || !res.OK() {
			t.Errorf("%q, then %q (%+v)", before, after, res)
		}
	})
	t.Run("a held pipe does not hold the call", func(t *testing.T) {
		if res := exec(t, b, sandbox.Cmd{Script: "setsid sleep 5 & echo done"}); res.Duration > 4*time.Second || res.Output.String() != "done\n" {
			t.Errorf("took %s, output %q", res.Duration, res.Output)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if res, err := b.Exec(ctx, sandbox.Cmd{Script: "echo before; sleep 60"}); err != nil || res.Cause != sandbox.Canceled || res.Output.String() != "before\n" {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

func TestDiskLimit(t *testing.T) {
	b, _ := start(t, func(s *sandbox.Spec) { s.Limits.WorkspaceBytes = 4 << 20 })
	res := exec(t, b, sandbox.Cmd{Script: "echo before; head -c 8000000 /dev/zero > big; sleep 60"})
	if res.Cause != sandbox.DiskLimit || res.Output.String() != "before\n" {
		t.Errorf("got %+v", res)
	}
}

func TestSpawn(t *testing.T) {
	b, _ := start(t, func(s *sandbox.Spec) { s.Limits.Idle = 100 * time.Millisecond })
	p, err := b.Spawn(t.Context(), sandbox.Cmd{Script: "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; done"})
	if err != nil {
		t.Fatal(err)
	}
	for p.Result().Output.TotalBytes == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond) // the idle of the spec is not its own
	if res := exec(t, b, sandbox.Cmd{Script: "echo beside"}); res.Output.String() != "beside\n" || p.Result().Cause != "" {
		t.Errorf("beside %+v: %+v", p.Result(), res)
	}
	if res, err := p.Stop(t.Context()); err != nil || res.Cause != sandbox.Exited || res.ExitCode != 5 || !strings.HasSuffix(res.Output.String(), "bye\n") {
		t.Errorf("stopped: %+v, %v", res, err)
	}
}

func TestClose(t *testing.T) {
	b, spec := start(t, nil)
	var ends sync.WaitGroup
	up := make(chan struct{})
	ends.Go(func() {
		res, err := b.Exec(context.WithoutCancel(t.Context()), sandbox.Cmd{Script: "mkdir -p ~/a; chmod 0 ~/a; echo up; sleep 60", OnOutput: func([]byte) { close(up) }})
		if err != nil || res.Cause != sandbox.Canceled {
			t.Errorf("got %+v, %v", res, err)
		}
	})
	<-up
	for range 3 {
		ends.Go(func() {
			if err := b.Close(context.Background()); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	ends.Wait()
	if _, err := os.Stat(spec.Scratch); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("scratch is still there: %v", err)
	}
	if _, err := os.Stat(spec.Workspace); err != nil {
		t.Errorf("the workspace is gone: %v", err)
	}
	if _, err := b.Exec(t.Context(), sandbox.Cmd{Script: "true"}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("exec after close: %v", err)
	}
	if p, err := b.Spawn(t.Context(), sandbox.Cmd{Script: "true"}); !errors.Is(err, sandbox.ErrClosed) || p != nil {
		t.Errorf("spawn after close: %v, %v", p, err)
	}
}

func TestRefusals(t *testing.T) {
	dir := passable(t)
	d := unsafehost.New(filepath.Join(dir, "state"))
	good := sandbox.Spec{Workspace: filepath.Join(dir, "w"), Scratch: filepath.Join(dir, "s"), Root: filepath.Join(dir, "image")}
	if _, err := d.Start(t.Context(), good); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("an image: %v", err)
	}
	good.Root = ""
	if _, err := d.Start(t.Context(), good); err == nil || errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("no workspace: %v", err)
	}
	if _, err := os.Stat(good.Scratch); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a start that failed leaves %s: %v", good.Scratch, err)
	}
	if _, err := d.Start(t.Context(), sandbox.Spec{Workspace: "relative", Scratch: good.Scratch}); err == nil {
		t.Error("a relative workspace")
	}
	report, err := d.Probe(t.Context())
	if err != nil || d.Name() != "none" || len(report.Findings) == 0 || report.Findings[0].Held || d.Sweep(t.Context()) != nil {
		t.Errorf("probe: %+v, %v", report, err)
	}
	for _, l := range report.Limits {
		if l.Hard {
			t.Errorf("%s is said to be hard", l.Limit)
		}
	}
}
