package e2e_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// front takes the forge's hooks and brings each to whichever worker takes it,
// as a load balancer and somebody who delivers again would.
type front struct {
	path string // of the hook
	url  string
	work sync.WaitGroup

	mu    sync.Mutex
	addrs []string // under mu
}

func newFront(t *testing.T, on vcs.ForgeName) *front {
	t.Helper()
	f := &front{path: "/webhooks/" + string(on)}
	ctx, stop := context.WithCancel(context.Background())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		header := r.Header.Clone()
		f.work.Go(func() { f.bring(ctx, header, body) })
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(func() {
		stop()
		s.Close()
		f.work.Wait()
	})
	f.url = s.URL
	return f
}

// to sets who is there.
func (f *front) to(addrs []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addrs = addrs
}

// bring tries one after the other until one has taken it.
func (f *front) bring(ctx context.Context, header http.Header, body []byte) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for n := 0; ctx.Err() == nil; n++ {
		f.mu.Lock()
		addr := ""
		if len(f.addrs) > 0 {
			addr = f.addrs[n%len(f.addrs)]
		}
		f.mu.Unlock()
		if addr != "" && deliver(ctx, client, "http://"+addr+f.path, header, body) {
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
}

func deliver(ctx context.Context, client *http.Client, target string, header http.Header, body []byte) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return false
	}
	r.Header = header
	res, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode < http.StatusMultipleChoices
}
