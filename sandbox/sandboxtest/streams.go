package sandboxtest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// streams: what goes in and out of commands.
func (s *suite) streams(t *testing.T) {
	box := s.start(t, nil)
	t.Run("input", func(t *testing.T) {
		input := strings.Repeat("0123456789abcde\n", 200_000) // 3.2 MB
		res := box.exec(t, sandbox.Cmd{Script: "wc -c; echo end", Stdin: strings.NewReader(input)})
		if got := strings.Join(splitWords(res.Output.String()), " "); got != fmt.Sprintf("%d end", len(input)) {
			t.Errorf("got %q of %d bytes", got, len(input))
		}
	})
	t.Run("input that nobody reads", func(t *testing.T) {
		res := box.exec(t, sandbox.Cmd{Script: "exec 0<&-; echo done", Stdin: bytes.NewReader(make([]byte, 3<<20))})
		if !res.OK() || res.Output.String() != "done\n" || res.Duration > endWithin {
			t.Errorf("got %s %d, %q after %s", res.Cause, res.ExitCode, res.Output, res.Duration)
		}
	})
	t.Run("input comes back", func(t *testing.T) {
		input := bytes.Repeat([]byte{0, 255, 10, 200}, 100_000)
		var got bytes.Buffer
		box.exec(t, sandbox.Cmd{Argv: []string{"cat"}, Stdin: bytes.NewReader(input), OnOutput: func(p []byte) { got.Write(p) }})
		if !bytes.Equal(got.Bytes(), input) {
			t.Errorf("%d bytes went in, %d other ones came out", len(input), got.Len())
		}
	})
	t.Run("standard error apart", func(t *testing.T) {
		var out, errs bytes.Buffer
		res := box.exec(t, sandbox.Cmd{Script: "echo a; echo b >&2; echo c", OnOutput: func(p []byte) { out.Write(p) }, OnStderr: func(p []byte) { errs.Write(p) }})
		if out.String() != "a\nc\n" || errs.String() != "b\n" || res.Output.TotalBytes != 6 {
			t.Errorf("output %q, errors %q, %d bytes in all", out.String(), errs.String(), res.Output.TotalBytes)
		}
	})
	t.Run("usage", func(t *testing.T) { usage(t, box) })
	t.Run("commands beside each other", func(t *testing.T) { beside(t, box) })
	t.Run("filter", s.filter)
}

// splitWords are the fields of a text.
func splitWords(text string) []string { return strings.Fields(text) }

func usage(t *testing.T, box fixture) {
	res := box.exec(t, sandbox.Cmd{Script: `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; head -c 20000000 /dev/zero > written; a=$(head -c 60000000 /dev/zero | tr '\0' x); sleep 0.3; echo ${#a}`})
	if !res.OK() {
		t.Fatalf("%s %d: %s", res.Cause, res.ExitCode, res.Output)
	}
	if u := res.Usage; u.CPU < 50*time.Millisecond || u.CPU > 2*res.Duration+time.Second {
		t.Errorf("processor time %s in %s", u.CPU, res.Duration)
	}
	if peak := res.Usage.PeakMemory; peak < 50<<20 || peak > 1<<30 {
		t.Errorf("peak memory %d; it held 60 MB", peak)
	}
	if w := res.Usage.BytesWritten; w < 0 || w > 200<<20 {
		t.Errorf("bytes written %d of 20 MB", w)
	}
}

func beside(t *testing.T, box fixture) {
	const n = 8
	var all sync.WaitGroup
	begun := time.Now()
	for i := range n {
		all.Go(func() {
			res, err := box.Exec(t.Context(), sandbox.Cmd{Script: fmt.Sprintf("sleep 1; echo %d", i)})
			if err != nil || !res.OK() || res.Output.String() != fmt.Sprintf("%d\n", i) {
				t.Errorf("command %d: %v, %s %d, %q", i, err, res.Cause, res.ExitCode, res.Output)
			}
		})
	}
	all.Wait()
	if took := time.Since(begun); took > n*time.Second/2 {
		t.Errorf("%d commands of a second took %s: one after the other", n, took)
	}
}

// shout makes everything upper-case, and holds the last line back.
type shout struct {
	dst  io.Writer
	held []byte
}

func (s *shout) Write(p []byte) (int, error) {
	s.held = append(s.held, bytes.ToUpper(p)...)
	if i := bytes.LastIndexByte(s.held, '\n'); i >= 0 {
		if _, err := s.dst.Write(s.held[:i+1]); err != nil {
			return 0, err
		}
		s.held = bytes.Clone(s.held[i+1:])
	}
	return len(p), nil
}

func (s *shout) Close() error {
	_, err := s.dst.Write(append(s.held, '!'))
	return err
}

func (s *suite) filter(t *testing.T) {
	box := s.start(t, func(sp *sandbox.Spec) {
		sp.Filter = func(dst io.Writer) io.WriteCloser { return &shout{dst: dst} }
	})
	artifact := t.TempDir() + "/artifact"
	var shown, errs bytes.Buffer
	res := box.exec(t, sandbox.Cmd{
		Script: "echo first; printf last; echo wrong >&2", Artifact: artifact,
		OnOutput: func(p []byte) { shown.Write(p) }, OnStderr: func(p []byte) { errs.Write(p) },
	})
	if shown.String() != "FIRST\nLAST!" || errs.String() != "WRONG\n!" {
		t.Errorf("shown: %q and %q", shown.String(), errs.String())
	}
	kept := readFile(t, artifact)
	for _, text := range []string{res.Output.String(), kept} {
		if strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") || !strings.Contains(text, "LAST!") || !strings.Contains(text, "FIRST") {
			t.Errorf("kept: %q", text)
		}
	}
}
