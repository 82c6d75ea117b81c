package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/sandbox"
)

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
		{"argument list", sandbox.Cmd{Argv: []string{"printf", "%s|", "a b", "$HOME", "*"}}, 0, "a b|$HOME|*|"},
		{"program in memory", sandbox.Cmd{Script: "exec /proc/self/exe -c 'echo again'"}, 0, "again\n"},
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
