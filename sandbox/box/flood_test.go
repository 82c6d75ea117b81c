package box_test

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/link"
)

// TestFlood: output at full speed costs bounded memory, and ends at the limit.
func TestFlood(t *testing.T) {
	b := start(t, func() box.Config {
		cfg := config(t, &launcher{lives: []life{honest()}})
		cfg.Spec.Limits.OutputBytes = 64 << 20
		return cfg
	}())
	stop, peak := watchHeap()
	file := filepath.Join(t.TempDir(), "out")
	began := time.Now()
	res := exec(t, b, sandbox.Cmd{Argv: []string{"yes", "2000000000"}, Artifact: file})
	stop()
	if res.Cause != sandbox.OutputLimit || res.Output.TotalBytes != 64<<20 {
		t.Errorf("got %s after %d bytes", res.Cause, res.Output.TotalBytes)
	}
	if st, err := os.Stat(file); err != nil || st.Size() != 64<<20 {
		t.Errorf("artifact %v, %v", st, err)
	}
	t.Logf("64 MiB in %s, heap at most %d MiB more", time.Since(began), peak()>>20)
	if peak() > 64<<20 {
		t.Errorf("the heap grew by %d MiB", peak()>>20)
	}
}

// watchHeap looks at the heap until stop; peak is how much it grew.
func watchHeap() (stop func(), peak func() int64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	base, most := int64(m.HeapAlloc), int64(0)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				runtime.ReadMemStats(&m)
				most = max(most, int64(m.HeapAlloc)-base)
			}
		}
	}()
	return func() { close(quit); <-done }, func() int64 { return most }
}

// yamuxHeader is the head of a yamux frame (its spec.md).
func yamuxHeader(kind byte, flags uint16, id, length uint32) []byte {
	h := []byte{0, kind}
	h = binary.BigEndian.AppendUint16(h, flags)
	h = binary.BigEndian.AppendUint32(h, id)
	return binary.BigEndian.AppendUint32(h, length)
}

const (
	muxData, muxWindow, muxPing, muxGoAway = 0, 1, 2, 3
	muxSYN, muxACK, muxFIN, muxRST         = 1, 2, 4, 8
)

// raw is a guest that greets as it should and then says raw bytes, again and
// again if asked, without reading.
func raw(bytes []byte, again bool) life {
	return func(conn net.Conn) {
		s, err := link.Guest(conn)
		if err != nil || greet(s) != nil {
			return
		}
		time.Sleep(50 * time.Millisecond) // the host is to have its answer
		for {
			if _, err := conn.Write(bytes); err != nil {
				break
			}
			if !again {
				<-s.CloseChan()
				break
			}
		}
		_ = s.Close()
	}
}

// TestBrokenMux: nobody can hang, fill or stop the host below the frames.
func TestBrokenMux(t *testing.T) {
	pings := make([]byte, 0, 12*4096)
	for i := range uint32(4096) {
		pings = append(pings, yamuxHeader(muxPing, muxSYN, 0, i)...)
	}
	for name, guest := range map[string]life{
		"garbage":            raw([]byte("GET / HTTP/1.0\r\n\r\n"), false),
		"pings for ever":     raw(pings, true),
		"the host's numbers": raw(yamuxHeader(muxWindow, muxSYN, 5, 0), false),
		"goes away":          raw(yamuxHeader(muxGoAway, 0, 0, 0), false),
		"4 GB for no stream": raw(yamuxHeader(muxData, 0, 999, 1<<32-1), false),
	} {
		t.Run(name, func(t *testing.T) {
			l := &launcher{lives: []life{guest, honest()}}
			cfg := config(t, l)
			cfg.Spec.Gateway = &gateway{}
			b := start(t, cfg)
			goroutines := runtime.NumGoroutine()
			time.Sleep(300 * time.Millisecond)
			if more := runtime.NumGoroutine() - goroutines; more > 1000 {
				t.Errorf("%d goroutines more", more)
			}
			res := exec(t, b, sandbox.Cmd{Argv: []string{"echo"}, Timeout: time.Second})
			if name == "4 GB for no stream" { // the guest is just silent
				if res.Cause != sandbox.TimedOut {
					t.Errorf("got %+v", res)
				}
			} else if !res.OK() && res.Cause != sandbox.Lost {
				t.Errorf("got %+v", res)
			}
			if res := exec(t, b, argv("echo")); !res.OK() {
				t.Errorf("then %+v", res)
			}
		})
	}
}
