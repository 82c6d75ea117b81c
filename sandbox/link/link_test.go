package link_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/sandbox/link"
)

func TestMessages(t *testing.T) {
	var buf bytes.Buffer
	want := link.Open{Command: &link.Request{Argv: []string{"sh", "-c", "echo 'ü'\n"}, Env: []string{"A=1"}, Dir: "/workspace", Input: 3, Split: true}}
	if err := link.WriteMessage(&buf, want); err != nil {
		t.Fatal(err)
	}
	whole := buf.Bytes()
	var got link.Open
	if err := link.ReadMessage(bytes.NewReader(whole), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for n := range len(whole) {
		if err := link.ReadMessage(bytes.NewReader(whole[:n]), &got); err == nil {
			t.Errorf("%d of %d bytes were taken for a message", n, len(whole))
		}
	}
	if err := link.ReadMessage(strings.NewReader("\xff\xff\xff\xff{}"), &got); !errors.Is(err, link.ErrTooLong) {
		t.Errorf("an absurd length: %v", err)
	}
	if err := link.WriteMessage(io.Discard, strings.Repeat("x", 9<<20)); !errors.Is(err, link.ErrTooLong) {
		t.Errorf("a message that is too long was written: %v", err)
	}
}

func TestFrames(t *testing.T) {
	var buf bytes.Buffer
	w := link.NewWriter(&buf)
	if err := w.Write(link.Stdout, make([]byte, link.MaxFrame+1)); !errors.Is(err, link.ErrTooLong) {
		t.Errorf("a frame that is too long: %v", err)
	}
	want := link.Exit{Code: 137, Signal: 9, OOM: true, PeakMemory: 1 << 40}
	if err := errors.Join(w.Write(link.Stderr, []byte("text")), w.Write(link.Stdout, nil), w.WriteExit(want)); err != nil {
		t.Fatal(err)
	}
	r := link.NewReader(&buf)
	for _, f := range []struct {
		kind link.Kind
		text string
	}{{link.Stderr, "text"}, {link.Stdout, ""}} {
		kind, p, err := r.Next()
		if err != nil || kind != f.kind || string(p) != f.text {
			t.Errorf("got %c %q, %v; want %c %q", kind, p, err, f.kind, f.text)
		}
	}
	kind, p, err := r.Next()
	got, parseErr := link.ParseExit(p)
	if err != nil || parseErr != nil || kind != link.Exited || got != want {
		t.Errorf("got %c %+v, %v, %v", kind, got, err, parseErr)
	}
	if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("o\x00\x00\x00\x01ax\x00\x00\x00\x02{}"))
	f.Add([]byte("o\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, taken := link.NewReader(bytes.NewReader(in)), 0
		for {
			kind, p, err := r.Next()
			if err != nil {
				break
			}
			taken += 5 + len(p)
			if kind == link.Exited {
				_, _ = link.ParseExit(p)
			}
		}
		if taken > len(in) {
			t.Errorf("%d bytes came out of %d", taken, len(in))
		}
		var open link.Open
		_ = link.ReadMessage(bytes.NewReader(in), &open)
	})
}

// TestStreams: streams from both ends over one connection, and what the host
// sees when the guest goes.
func TestStreams(t *testing.T) {
	a, b := net.Pipe()
	host, err := link.Host(a)
	if err != nil {
		t.Fatal(err)
	}
	guest, err := link.Guest(b)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		s, err := guest.AcceptStream()
		if err != nil {
			done <- err
			return
		}
		var open link.Open
		err = link.ReadMessage(s, &open)
		done <- errors.Join(err, link.NewWriter(s).Write(link.Stdout, []byte(open.Command.Argv[0])), s.Close())
	}()
	s, err := host.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	if err := link.WriteMessage(s, link.Open{Command: &link.Request{Argv: []string{"true"}}}); err != nil {
		t.Fatal(err)
	}
	_, p, err := link.NewReader(s).Next()
	if err != nil || string(p) != "true" {
		t.Errorf("got %q, %v", p, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	out, err := guest.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte("GET")); err != nil {
		t.Fatal(err)
	}
	in, err := host.Accept()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 3)
	if _, err := io.ReadFull(in, buf); err != nil || string(buf) != "GET" {
		t.Errorf("from the guest: %q, %v", buf, err)
	}
	if err := guest.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(buf); err == nil {
		t.Error("read from a guest that is gone")
	}
	if _, err := host.Accept(); err == nil {
		t.Error("a stream of a guest that is gone")
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
}
