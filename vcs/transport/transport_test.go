package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/transport"
)

// script answers with its steps in order; the last one repeats.
type script struct {
	mu    sync.Mutex
	steps []step
	at    []time.Time
	seen  []*http.Request
	sent  []string
	busy  int
	most  int
	took  time.Duration
}

type step struct {
	status int
	header map[string]string
	body   string
	err    error
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	s.mu.Lock()
	n := min(len(s.at), len(s.steps)-1)
	st := s.steps[n]
	s.at, s.seen, s.sent = append(s.at, time.Now()), append(s.seen, r), append(s.sent, string(body))
	s.busy++
	s.most = max(s.most, s.busy)
	s.mu.Unlock()
	if s.took > 0 {
		select {
		case <-time.After(s.took):
		case <-r.Context().Done():
			st.err = r.Context().Err()
		}
	}
	s.mu.Lock()
	s.busy--
	s.mu.Unlock()
	if st.err != nil {
		return nil, st.err
	}
	h := http.Header{}
	for k, v := range st.header {
		h.Set(k, v)
	}
	return &http.Response{
		StatusCode: st.status, Header: h, Body: io.NopCloser(strings.NewReader(st.body)),
		ContentLength: int64(len(st.body)), Request: r,
	}, nil
}

func send(t *testing.T, rt http.RoundTripper, method, body string) (status int, text string, err error) {
	t.Helper()
	var rd io.Reader
	if body != "" {
		rd = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "https://forge.example/x", rd)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestRetriesAndLimits(t *testing.T) {
	reset := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	broken := errors.New("connection reset")
	cases := []struct {
		name     string
		method   string
		steps    func() []step
		attempts int
		status   int
		atLeast  time.Duration
		err      error
		limited  bool
	}{
		{"a read after 502s", "GET", func() []step { return []step{{status: 502}, {status: 500}, {status: 200}} }, 3, 200, 500 * time.Millisecond, nil, false},
		{"a read after network errors", "GET", func() []step { return []step{{err: broken}, {status: 200}} }, 2, 200, 0, nil, false},
		{"a read that keeps failing", "GET", func() []step { return []step{{err: broken}} }, 4, 0, 0, vcs.ErrUnavailable, false},
		{"a write is not repeated after a 502", "POST", func() []step { return []step{{status: 502}} }, 1, 502, 0, nil, false},
		{"a write is not repeated after an error", "POST", func() []step { return []step{{err: broken}} }, 1, 0, 0, vcs.ErrUnavailable, false},
		{"404 is final", "GET", func() []step { return []step{{status: 404}} }, 1, 404, 0, nil, false},
		{"Retry-After", "GET", func() []step {
			return []step{{status: 429, header: map[string]string{"Retry-After": "7"}}, {status: 200}}
		}, 2, 200, 7 * time.Second, nil, false},
		{"a limited write is repeated", "POST", func() []step {
			return []step{{status: 403, header: map[string]string{"Retry-After": "7"}}, {status: 201}}
		}, 2, 201, 7 * time.Second, nil, false},
		{"secondary limit without a header", "POST", func() []step {
			return []step{{status: 403, body: `{"message":"You have exceeded a secondary rate limit."}`}, {status: 201}}
		}, 2, 201, time.Minute, nil, false},
		{"403 for a missing right", "POST", func() []step { return []step{{status: 403, body: "Resource not accessible"}} }, 1, 403, 0, nil, false},
		{"primary limit, soon", "GET", func() []step {
			return []step{{status: 403, header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset(30 * time.Second)}}, {status: 200}}
		}, 2, 200, 29 * time.Second, nil, false},
		{"primary limit, late", "GET", func() []step {
			return []step{{status: 403, header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset(time.Hour)}}}
		}, 1, 0, 0, vcs.ErrUnavailable, true},
		{"GitLab's limit, soon", "POST", func() []step {
			return []step{{status: 429, header: map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": reset(30 * time.Second)}}, {status: 201}}
		}, 2, 201, 29 * time.Second, nil, false},
		{"GitLab's limit with a date alone", "GET", func() []step {
			at := time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
			return []step{{status: 429, header: map[string]string{"RateLimit-Remaining": "0", "RateLimit-ResetTime": at}}, {status: 200}}
		}, 2, 200, 29 * time.Second, nil, false},
		{"GitLab's limit, late", "GET", func() []step {
			return []step{{status: 429, header: map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": reset(time.Hour)}}}
		}, 1, 0, 0, vcs.ErrUnavailable, true},
		{"GitLab's limit without a header", "POST", func() []step {
			return []step{{status: 429, body: `{"message":{"error":"This endpoint has been requested too many times."}}`}, {status: 201}}
		}, 2, 201, time.Minute, nil, false},
		{"403 for a missing right, the last before GitLab's limit", "POST", func() []step {
			return []step{{status: 403, header: map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": reset(30 * time.Second)}}}
		}, 1, 403, 0, nil, false},
		{"always limited", "GET", func() []step { return []step{{status: 429, header: map[string]string{"Retry-After": "1"}}} }, 3, 0, 2 * time.Second, vcs.ErrUnavailable, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: c.steps()}
				start := time.Now()
				status, _, err := send(t, transport.New(s, transport.Config{}), c.method, "payload")
				if status != c.status || !errors.Is(err, c.err) {
					t.Errorf("status %d, error %v; want %d, %v", status, err, c.status, c.err)
				}
				if len(s.at) != c.attempts {
					t.Errorf("%d attempts, want %d", len(s.at), c.attempts)
				}
				if d := time.Since(start); d < c.atLeast || d > c.atLeast+20*time.Second {
					t.Errorf("took %s, want about %s", d, c.atLeast)
				}
				var limit *vcs.RateLimitError
				if errors.As(err, &limit) != c.limited {
					t.Errorf("error %v, want a rate limit: %v", err, c.limited)
				}
				for i, b := range s.sent {
					if b != "payload" {
						t.Errorf("attempt %d sent %q", i, b)
					}
				}
			})
		})
	}
}

func TestLimitHoldsBackTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{
			{status: 200, header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": strconv.FormatInt(time.Now().Add(40*time.Second).Unix(), 10)}},
			{status: 200},
		}}
		rt := transport.New(s, transport.Config{})
		for range 2 {
			if status, _, err := send(t, rt, "GET", ""); status != 200 || err != nil {
				t.Fatal(status, err)
			}
		}
		if d := s.at[1].Sub(s.at[0]); d < 39*time.Second {
			t.Errorf("the second request came after %s", d)
		}
	})
}

func TestWritesOneAtATimeAndSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{status: 201}}, took: 100 * time.Millisecond}
		rt := transport.New(s, transport.Config{WriteSpacing: time.Second})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if status, _, err := send(t, rt, "POST", fmt.Sprint(i)); status != 201 || err != nil {
					t.Error(status, err)
				}
			})
		}
		wg.Wait()
		if s.most != 1 {
			t.Errorf("%d writes at once", s.most)
		}
		for i := 1; i < len(s.at); i++ {
			if d := s.at[i].Sub(s.at[i-1]); d < time.Second {
				t.Errorf("write %d came after %s", i, d)
			}
		}
		s.most = 0
		for range 4 {
			wg.Go(func() {
				if _, _, err := send(t, rt, "GET", ""); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if s.most != 4 {
			t.Errorf("%d reads at once, want 4", s.most)
		}
	})
}

func TestLanesDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{status: 201}}, took: 100 * time.Millisecond}
		rt := transport.New(s, transport.Config{WriteSpacing: time.Minute})
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				ctx := transport.WithLane(t.Context(), fmt.Sprint(i))
				r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://forge.example/x", nil)
				resp, err := rt.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			})
		}
		wg.Wait()
		if d := time.Since(start); d > time.Second || s.most != 3 {
			t.Errorf("three lanes took %s, %d at once", d, s.most)
		}
	})
}

func TestLimitDoesNotHoldTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{status: 403, header: map[string]string{"Retry-After": "60"}}, {status: 201}}}
		rt := transport.New(s, transport.Config{})
		post := func(token string) {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://forge.example/x", nil)
			r.Header.Set("Authorization", token)
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		}
		var wg sync.WaitGroup
		wg.Go(func() { post("limited") })
		synctest.Wait() // it waits for its minute now
		start := time.Now()
		post("other")
		if d := time.Since(start); d > time.Second {
			t.Errorf("another credential's write waited %s", d)
		}
		wg.Wait()
	})
}

func TestConditionalRequests(t *testing.T) {
	s := &script{steps: []step{
		{status: 200, header: map[string]string{"ETag": `"1"`, "X-RateLimit-Limit": "9"}, body: "first"},
		{status: 304, header: map[string]string{"X-RateLimit-Limit": "8"}},
		{status: 200, header: map[string]string{"ETag": `"2"`}, body: "second"},
	}}
	rt := transport.New(s, transport.Config{})
	for i, want := range []string{"first", "first", "second"} {
		status, body, err := send(t, rt, "GET", "")
		if status != 200 || body != want || err != nil {
			t.Errorf("request %d: %d %q %v, want %q", i, status, body, err, want)
		}
	}
	for i, want := range []string{"", `"1"`, `"1"`} {
		if got := s.seen[i].Header.Get("If-None-Match"); got != want {
			t.Errorf("request %d: If-None-Match %q, want %q", i, got, want)
		}
	}
}

func TestCacheKeepsCredentialsApart(t *testing.T) {
	s := &script{steps: []step{{status: 200, header: map[string]string{"ETag": `"1"`}, body: "private"}}}
	rt := transport.New(s, transport.Config{})
	for _, token := range []string{"a", "b"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://forge.example/x", nil)
		r.Header.Set("Authorization", token)
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if got := s.seen[1].Header.Get("If-None-Match"); got != "" {
		t.Errorf("the second credential was sent the first one's tag %q", got)
	}
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := &script{steps: []step{{status: 200, body: strings.Repeat("x", 101)}}}
		if _, body, err := send(t, transport.New(big, transport.Config{MaxBody: 100}), "GET", ""); !errors.Is(err, transport.ErrTooLarge) || len(body) != 100 {
			t.Errorf("%d bytes, %v; want an error after 100", len(body), err)
		}
		exact := &script{steps: []step{{status: 200, body: strings.Repeat("x", 100)}}}
		if _, body, err := send(t, transport.New(exact, transport.Config{MaxBody: 100}), "GET", ""); err != nil || len(body) != 100 {
			t.Errorf("%d bytes, %v; want all 100", len(body), err)
		}
		slow := &script{steps: []step{{status: 200}}, took: time.Hour}
		start := time.Now()
		_, _, err := send(t, transport.New(slow, transport.Config{AttemptTimeout: time.Second, Retries: -1}), "GET", "")
		if !errors.Is(err, vcs.ErrUnavailable) || time.Since(start) > 2*time.Second {
			t.Errorf("after %s: %v, want ErrUnavailable after a second", time.Since(start), err)
		}
	})
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{status: 429, header: map[string]string{"Retry-After": "60"}}}}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://forge.example/x", nil)
		start := time.Now()
		resp, err := transport.New(s, transport.Config{}).RoundTrip(r)
		if resp != nil {
			resp.Body.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("returned after %s, want 5s", d)
		}
	})
}
