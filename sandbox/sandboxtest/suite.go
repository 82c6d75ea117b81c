// Package sandboxtest is the conformance suite of sandbox drivers: what must
// work inside, what must be refused, and what every limit must end. A driver's
// test calls [Run]; a machine that lacks what the driver needs skips loudly.
package sandboxtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// hangGuard is far above what any case needs.
const hangGuard = 2 * time.Minute

// Run tries the driver.
func Run(t *testing.T, driver sandbox.Driver) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangGuard)
	defer cancel()
	if _, err := driver.Probe(ctx); err != nil {
		t.Fatalf("probe: %v", err)
	}
	s := &suite{driver: driver}
	t.Run("Commands", s.commands)
	t.Run("Unable", s.unable)
	t.Run("Isolation", s.isolation)
	t.Run("Limits", s.limits)
	t.Run("Lifecycle", s.lifecycle)
}

type suite struct{ driver sandbox.Driver }

type fixture struct {
	sandbox.Sandbox
	ws, scratch string
}

func (s *suite) start(t *testing.T, change func(*sandbox.Spec)) fixture {
	t.Helper()
	dir := Passable(t)
	spec := sandbox.Spec{RunID: "test", Workspace: filepath.Join(dir, "workspace"), Scratch: filepath.Join(dir, "scratch")}
	if err := os.Mkdir(spec.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&spec)
	}
	box, err := s.driver.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close(context.Background()) })
	return fixture{box, spec.Workspace, spec.Scratch}
}

func (f fixture) exec(t *testing.T, cmd sandbox.Cmd) sandbox.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangGuard)
	defer cancel()
	res, err := f.Exec(ctx, cmd)
	if err != nil {
		t.Fatalf("%q: %v", cmd.Script, err)
	}
	return res
}

func (s *suite) commands(t *testing.T) {
	box := s.start(t, func(sp *sandbox.Spec) { sp.Env = []string{"FROM_SPEC=1", "TWICE=spec"} })
	cases := []struct {
		name string
		cmd  sandbox.Cmd
		code int
		want string
	}{
		{"success", sandbox.Cmd{Script: "echo hello"}, 0, "hello\n"},
		{"exit code", sandbox.Cmd{Script: "exit 3"}, 3, ""},
		{"exit code of a signal's number", sandbox.Cmd{Script: "exit 137"}, 137, ""},
		{"signal", sandbox.Cmd{Script: "kill -TERM $$"}, 143, ""},
		{"unknown program", sandbox.Cmd{Script: "no-such-program 2>/dev/null"}, 127, ""},
		{"streams in order", sandbox.Cmd{Script: "echo a; echo b >&2; echo c"}, 0, "a\nb\nc\n"},
		{"no input", sandbox.Cmd{Script: "cat"}, 0, ""},
		{"environment", sandbox.Cmd{Script: "echo $FROM_SPEC $TWICE $HOME", Env: []string{"TWICE=cmd"}}, 0, "1 cmd /home/agent\n"},
		{"other shell", sandbox.Cmd{Shell: []string{"/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"}, Script: "false | true; echo no"}, 1, ""},
		{"directory out of the workspace", sandbox.Cmd{Script: "pwd", Dir: "../../.."}, 0, "/workspace\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res := box.exec(t, c.cmd)
			if res.Cause != sandbox.Exited || res.ExitCode != c.code || res.Output.String() != c.want {
				t.Errorf("got %s, code %d, output %q; want code %d, output %q", res.Cause, res.ExitCode, res.Output, c.code, c.want)
			}
		})
	}
	t.Run("home outlives a command", func(t *testing.T) {
		box.exec(t, sandbox.Cmd{Script: "echo kept > ~/file; echo kept > /tmp/file"})
		if got := box.exec(t, sandbox.Cmd{Script: "cat ~/file /tmp/file"}).Output.String(); got != "kept\nkept\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("workspace is shared with the host", func(t *testing.T) {
		box.exec(t, sandbox.Cmd{Script: "mkdir -p sub && echo inside > sub/file"})
		got, err := os.ReadFile(filepath.Join(box.ws, "sub", "file"))
		if err != nil || string(got) != "inside\n" {
			t.Errorf("got %q, %v", got, err)
		}
		uid, _ := box.Owner()
		if st, err := os.Stat(filepath.Join(box.ws, "sub", "file")); err != nil || ownerOf(st) != uid {
			t.Errorf("owner of a file made inside: %v, want %d (%v)", ownerOf(st), uid, err)
		}
	})
	t.Run("whole output in the artifact", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "out")
		res := box.exec(t, sandbox.Cmd{Script: "seq 1 200000", Artifact: file})
		st, err := os.Stat(file)
		if err != nil || st.Size() != res.Output.TotalBytes || res.Output.TotalLines != 200000 {
			t.Errorf("artifact %v, result %d bytes in %d lines (%v)", st, res.Output.TotalBytes, res.Output.TotalLines, err)
		}
		if !strings.HasPrefix(string(res.Output.Head), "1\n2\n") || !strings.HasSuffix(string(res.Output.Tail), "\n200000\n") || res.Output.Dropped == 0 {
			t.Errorf("head %.20q, tail of %d bytes, %d dropped", res.Output.Head, len(res.Output.Tail), res.Output.Dropped)
		}
	})
}

// unable: what cannot be run is a command's failure, with a word why, and not
// the sandbox's.
func (s *suite) unable(t *testing.T) {
	box := s.start(t, nil)
	for name, cmd := range map[string]sandbox.Cmd{
		"directory that is not there": {Script: "echo ran", Dir: "nowhere"},
		"script with a NUL":           {Script: "echo ran\x00"},
		"script that is too long":     {Script: "echo ran #" + strings.Repeat("x", 200_000)},
		"variable that is too long":   {Script: "echo ran", Env: []string{"A=" + strings.Repeat("x", 200_000)}},
	} {
		t.Run(name, func(t *testing.T) {
			res := box.exec(t, cmd)
			if out := res.Output.String(); res.Cause != sandbox.Exited || res.ExitCode == 0 || out == "" || out == "ran\n" {
				t.Errorf("got %s, code %d, output %.80q", res.Cause, res.ExitCode, out)
			}
		})
	}
}

// leak leaves a file open in this process as a supervisor might have: not to be
// closed in children, and under numbers that no driver's own files take.
func leak(t *testing.T, file string) {
	t.Helper()
	for range 64 {
		fd, err := syscall.Open(file, syscall.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Close(fd) })
	}
}

// isolation: each script prints something only when it got what it must not get.
func (s *suite) isolation(t *testing.T) {
	secret := filepath.Join(Passable(t), "host-secret")
	if err := os.WriteFile(secret, []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	leak(t, secret)
	t.Setenv("GREENWRIGHT_TEST_TOKEN", "token-of-the-worker")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	box := s.start(t, nil)
	scripts := map[string]string{
		"host file":              "cat " + secret,
		"host root":              "ls /root /home | grep -v -e agent -e : | grep .",
		"shadow":                 "cat /etc/shadow; test -e /etc/hostname && echo hostname",
		"worker's environment":   "env | grep GREENWRIGHT_TEST; tr '\\0' '\\n' < /proc/1/environ | grep .",
		"driver's arguments":     "tr '\\0' '\\n' < /proc/1/cmdline | sed '/^--$/q' | grep -e " + box.ws + " -e " + box.scratch,
		"inherited descriptors":  "for n in 3 4 5 6 7 8 9; do readlink /proc/$$/fd/$n; done; true",
		"worker's descriptors":   "for n in /proc/$$/fd/*; do readlink $n; done | grep host-secret",
		"write to the system":    "touch /usr/x /bin/x /etc/x /x && echo written",
		"capabilities":           "grep -q 'CapEff:.*0000000000000000' /proc/self/status || echo caps; grep -q 'CapBnd:.*0000000000000000' /proc/self/status || echo bounding",
		"new privileges":         "grep -q 'NoNewPrivs:.*1' /proc/self/status || echo privileges",
		"new user namespace":     "unshare -Ur true && echo namespace",
		"mount":                  "mount -t tmpfs none /mnt && echo mounted",
		"host processes":         "test $(ls -d /proc/[0-9]* | wc -l) -lt 12 || echo visible",
		"network interfaces":     "test $(grep -c : /proc/net/dev) = 1 || cat /proc/net/dev",
		"the host's loopback":    "bash -c 'echo > /dev/tcp/127.0.0.1/" + port + "' 2>/dev/null && echo connected",
		"core pattern":           "echo x > /proc/sys/kernel/core_pattern && echo written",
		"devices":                "ls /dev | grep -v -x -e null -e zero -e full -e random -e urandom -e tty -e ptmx -e pts -e shm -e fd -e std.. -e stderr -e stdout -e core -e console",
		"set-uid":                "su -c true && echo su; sudo -n true && echo sudo",
		"keyring":                "keyctl show && echo keys",
		"host's temporary files": "ls /tmp | grep -v -x file",
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			if out := box.exec(t, sandbox.Cmd{Script: "{ " + script + "; } 2>/dev/null"}).Output.String(); out != "" {
				t.Errorf("got out: %q", out)
			}
		})
	}
	t.Run("link out of the workspace", func(t *testing.T) {
		box.exec(t, sandbox.Cmd{Script: "ln -s " + secret + " link"})
		if out := box.exec(t, sandbox.Cmd{Script: "cat link"}); out.ExitCode == 0 {
			t.Errorf("read %q through a link", out.Output)
		}
	})
}

func (s *suite) limits(t *testing.T) {
	box := s.start(t, func(sp *sandbox.Spec) {
		sp.Limits = sandbox.Limits{OutputBytes: 1 << 20, FileBytes: 1 << 20, OpenFiles: 64}
	})
	cases := []struct {
		name string
		cmd  sandbox.Cmd
		want sandbox.Cause
	}{
		{"wall clock", sandbox.Cmd{Script: "echo before; while :; do echo; sleep 0.1; done", Timeout: 500 * time.Millisecond}, sandbox.TimedOut},
		{"idle", sandbox.Cmd{Script: "echo before; sleep 60", Idle: 300 * time.Millisecond}, sandbox.IdleTimeout},
		{"output", sandbox.Cmd{Script: "echo before; yes"}, sandbox.OutputLimit},
		{"ignored signals", sandbox.Cmd{Script: "trap '' TERM INT HUP; echo before; while :; do sleep 1; done", Timeout: 500 * time.Millisecond}, sandbox.TimedOut},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res := box.exec(t, c.cmd)
			if res.Cause != c.want || !strings.HasPrefix(res.Output.String(), "before\n") {
				t.Errorf("ended by %s with %.40q; want %s and the output so far", res.Cause, res.Output, c.want)
			}
			if res.Duration > 10*time.Second {
				t.Errorf("took %s", res.Duration)
			}
		})
	}
	t.Run("file size", func(t *testing.T) {
		if res := box.exec(t, sandbox.Cmd{Script: "head -c 3000000 /dev/zero > big"}); res.ExitCode == 0 {
			t.Error("wrote a file over the limit")
		}
		if st, err := os.Stat(filepath.Join(box.ws, "big")); err != nil || st.Size() > 2<<20 {
			t.Errorf("file is %v (%v)", st, err)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		res, err := box.Exec(ctx, sandbox.Cmd{Script: "echo before; sleep 60"})
		if err != nil || res.Cause != sandbox.Canceled || res.Output.String() != "before\n" {
			t.Errorf("got %s, %q, %v", res.Cause, res.Output, err)
		}
	})
}

func (s *suite) lifecycle(t *testing.T) {
	t.Run("daemons end with their command", func(t *testing.T) {
		box := s.start(t, nil)
		res := box.exec(t, sandbox.Cmd{Script: "setsid sh -c 'while :; do date +%N > alive; sleep 0.05; done' >/dev/null 2>&1 & sleep 0.3; echo started"})
		if res.Duration > 10*time.Second {
			t.Errorf("waited %s for a daemon", res.Duration)
		}
		before, _ := os.ReadFile(filepath.Join(box.ws, "alive"))
		time.Sleep(300 * time.Millisecond)
		after, _ := os.ReadFile(filepath.Join(box.ws, "alive"))
		if len(before) == 0 || string(before) != string(after) {
			t.Errorf("daemon lives on: %q, then %q", before, after)
		}
	})
	t.Run("a held pipe does not hold the call", func(t *testing.T) {
		box := s.start(t, nil)
		if res := box.exec(t, sandbox.Cmd{Script: "sleep 600 & echo done"}); res.Duration > 10*time.Second || res.Output.String() != "done\n" {
			t.Errorf("took %s, output %q", res.Duration, res.Output)
		}
	})
	t.Run("close ends commands and clears", func(t *testing.T) {
		box := s.start(t, nil)
		ended := make(chan sandbox.Result, 1)
		started := make(chan struct{})
		go func() {
			res, _ := box.Exec(context.Background(), sandbox.Cmd{Script: "echo up; chmod 500 ~; sleep 600", OnOutput: func([]byte) { close(started) }})
			ended <- res
		}()
		<-started
		if err := box.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if res := <-ended; res.Cause != sandbox.Canceled {
			t.Errorf("command ended by %s", res.Cause)
		}
		if err := box.Close(t.Context()); err != nil {
			t.Errorf("second close: %v", err)
		}
		if _, err := box.Exec(t.Context(), sandbox.Cmd{Script: "true"}); err == nil {
			t.Error("exec after close succeeded")
		}
		if _, err := os.Stat(box.scratch); !os.IsNotExist(err) {
			t.Errorf("scratch is still there: %v", err)
		}
	})
	t.Run("two runs do not see each other", func(t *testing.T) {
		a, b := s.start(t, nil), s.start(t, nil)
		a.exec(t, sandbox.Cmd{Script: "echo a > ~/a; echo a > /tmp/a; sleep 0.1"})
		if out := b.exec(t, sandbox.Cmd{Script: fmt.Sprintf("ls ~ /tmp | grep -x a; cat %s/* 2>/dev/null", a.ws)}).Output.String(); out != "" {
			t.Errorf("saw %q", out)
		}
	})
}
