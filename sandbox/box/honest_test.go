package box_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/link"
)

func TestExec(t *testing.T) {
	b := around(t, honest())
	for _, c := range []struct {
		name string
		cmd  sandbox.Cmd
		code int
		want string
	}{
		{"output", argv("echo", "a", "b"), 0, "a b\n"},
		{"exit code", argv("exit", "3"), 3, ""},
		{"input", sandbox.Cmd{Argv: []string{"cat"}, Stdin: strings.NewReader("in")}, 0, "in"},
		{"no input", argv("cat"), 0, ""},
		{"merged", argv("split"), 0, "out\nerr\nout\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := exec(t, b, c.cmd)
			if res.Cause != sandbox.Exited || res.ExitCode != c.code || res.Output.String() != c.want || res.Signal != "" {
				t.Errorf("got %s, code %d, output %q", res.Cause, res.ExitCode, res.Output)
			}
		})
	}
	if uid, gid := b.Owner(); uid != 7 || gid != 8 {
		t.Errorf("owner %d:%d", uid, gid)
	}
}

func TestLongOutputAndInput(t *testing.T) {
	b := around(t, honest())
	whole := bytes.Repeat([]byte("0123456789abcde\n"), 200_000) // 3.2 MB
	file := filepath.Join(t.TempDir(), "out")
	var seen bytes.Buffer
	res := exec(t, b, sandbox.Cmd{
		Argv: []string{"cat"}, Stdin: bytes.NewReader(whole), Artifact: file, OnOutput: func(p []byte) { seen.Write(p) },
	})
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, whole) || !bytes.Equal(seen.Bytes(), whole) {
		t.Errorf("artifact of %d, seen %d of %d bytes, %v", len(got), seen.Len(), len(whole), err)
	}
	if res.Output.TotalBytes != int64(len(whole)) || res.Output.TotalLines != 200_000 || res.Output.Artifact != file || res.Output.Dropped == 0 {
		t.Errorf("total %d in %d lines, %d dropped, artifact %q", res.Output.TotalBytes, res.Output.TotalLines, res.Output.Dropped, res.Output.Artifact)
	}
}

func TestSplit(t *testing.T) {
	b := around(t, honest())
	var out, err string
	cmd := argv("split")
	cmd.OnOutput = func(p []byte) { out += string(p) }
	cmd.OnStderr = func(p []byte) { err += string(p) }
	res := exec(t, b, cmd)
	if out != "out\nout\n" || err != "err\n" || res.Output.String() != "out\nerr\nout\n" {
		t.Errorf("out %q, err %q, both %q", out, err, res.Output)
	}
}

// TestInputThatNobodyReads: neither a command that ignores its input nor an
// input that never ends holds the call.
func TestInputThatNobodyReads(t *testing.T) {
	b := around(t, honest())
	if res := exec(t, b, sandbox.Cmd{Argv: []string{"head"}, Stdin: bytes.NewReader(make([]byte, 4<<20))}); !res.OK() {
		t.Errorf("got %+v", res)
	}
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	if res := exec(t, b, sandbox.Cmd{Argv: []string{"echo"}, Stdin: r}); !res.OK() {
		t.Errorf("got %+v", res)
	}
}

func TestExitReport(t *testing.T) {
	exit := link.Exit{Code: 137, Signal: 9, CPU: time.Second, PeakMemory: 5, Written: 6}
	b := around(t, commands(func(c *call) { _ = c.out.WriteExit(exit) }))
	res := exec(t, b, argv("x"))
	res.Duration, res.Output = 0, sandbox.Output{}
	want := sandbox.Result{
		Cause: sandbox.Exited, ExitCode: 137, Signal: "killed",
		Usage: sandbox.Usage{CPU: time.Second, PeakMemory: 5, BytesWritten: 6},
	}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Error(diff)
	}
	b = around(t, commands(func(c *call) { _ = c.out.WriteExit(link.Exit{Code: 127, StartError: "x: not found"}) }))
	var said string
	res = exec(t, b, sandbox.Cmd{Argv: []string{"x"}, OnStderr: func(p []byte) { said += string(p) }})
	if res.Cause != sandbox.Exited || res.ExitCode != 127 || res.Output.String() != "x: not found\n" || said != "x: not found\n" {
		t.Errorf("got %+v, standard error %q", res, said)
	}
	b = around(t, commands(func(c *call) { _ = c.out.WriteExit(link.Exit{Code: 137, Signal: 9, OOM: true}) }))
	if res = exec(t, b, argv("x")); res.Cause != sandbox.OutOfMemory || res.ExitCode != -1 {
		t.Errorf("got %+v", res)
	}
}

// TestRequest: what the guest is asked for.
func TestRequest(t *testing.T) {
	got := make(chan link.Request, 1)
	b := around(t, commands(func(c *call) {
		got <- c.req
		c.exit(0)
	}))
	exec(t, b, sandbox.Cmd{Script: "echo", Shell: []string{"bash", "-c"}, Env: []string{"A=1"}, Dir: "../../x/../y", OnStderr: func([]byte) {}})
	want := link.Request{Argv: []string{"bash", "-c", "echo"}, Env: []string{"A=1"}, Dir: "/workspace/y", Split: true}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Error(diff)
	}
}
