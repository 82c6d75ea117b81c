package bench_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/githubhook"
)

// TestRounds holds that what the generator patches in place are deliveries as
// the receiver knows them: signed, and each another event.
func TestRounds(t *testing.T) {
	parser, err := githubhook.New([]vcs.Secret{secret})
	if err != nil {
		t.Fatal(err)
	}
	shot, keys := newRound("localhost", sampleSubject()), map[string]bool{}
	const n = 5
	for i := range int64(n) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(shot.load(i))))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		env, err := parser.Open(r.Header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Verify(env, body); err != nil {
			t.Errorf("delivery %d: %v", i, err)
		}
		ev, err := parser.Parse(env.Name, env.ID, body)
		if err != nil {
			t.Fatal(err)
		}
		if ev.Comment == nil || ev.Comment.ID != firstComment+i || ev.Comment.Body != "/agent fix" {
			t.Errorf("delivery %d is of comment %+v", i, ev.Comment)
		}
		keys[ev.Key()] = true
	}
	if len(keys) != n {
		t.Errorf("%d deliveries have %d keys", n, len(keys))
	}
}

// TestPacedChargesForStalls holds that deliveries that wait behind a stall are
// counted from when they were due.
func TestPacedChargesForStalls(t *testing.T) {
	const stall = 300 * time.Millisecond
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if n.Add(1) == 1 {
			_ = rest(r.Context(), stall)
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer srv.Close()
	l := &load{addr: srv.Listener.Addr().String(), about: sampleSubject(), conns: 1}
	got, err := l.paced(t.Context(), stall/2, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if p50 := quantile(got.latencies, 0.5); p50 < stall/2 {
		t.Errorf("half of %d deliveries behind a stall of %s took at most %s", len(got.latencies), stall, p50)
	}
	if diff := cmp.Diff(map[int]int{http.StatusAccepted: int(n.Load())}, got.codes); diff != "" {
		t.Error(diff)
	}
}

func TestCountSendsThatMany(t *testing.T) {
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if n.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer srv.Close()
	l := &load{addr: srv.Listener.Addr().String(), about: sampleSubject(), conns: 3}
	got, err := l.count(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int]int{http.StatusOK: 50, http.StatusServiceUnavailable: 50}, got.codes); diff != "" {
		t.Error(diff)
	}
}

func TestExchangeRefusesNonsense(t *testing.T) {
	for _, answer := range []string{"", "hello\r\n\r\n", "HTTP/1.1 two\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"} {
		if _, err := exchange(io.Discard, bufio.NewReader(strings.NewReader(answer)), nil); err == nil {
			t.Errorf("%q was taken for an answer", answer)
		}
	}
}

func TestQuantileAndMedian(t *testing.T) {
	sorted := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 6, 0.95: 10, 1: 10} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := median([]int{9, 1, 5}); got != 5 {
		t.Errorf("median is %d", got)
	}
}

// TestProcReads holds that the kernel's files are understood: a busy while is
// seen in both accounts, and this process has memory.
func TestProcReads(t *testing.T) {
	before, err := machineBusy()
	if err != nil {
		t.Fatal(err)
	}
	for until := ownCPU() + 100*time.Millisecond; ownCPU() < until; {
		continue
	}
	after, err := machineBusy()
	if err != nil || after-before < 50*time.Millisecond {
		t.Errorf("the machine was busy for %s: %v", after-before, err)
	}
	if cpu, err := cpuOf(os.Getpid()); err != nil || cpu < 50*time.Millisecond {
		t.Errorf("CPU %s: %v", cpu, err)
	}
	if m, err := memoryOf(os.Getpid()); err != nil || m.rss < 1<<20 || m.pss > m.rss {
		t.Errorf("memory %+v: %v", m, err)
	}
}
