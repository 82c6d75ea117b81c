package limit_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/limit"
)

// service answers by a function and counts.
type service struct {
	mu     sync.Mutex
	asked  []time.Time
	answer func(n int) error
}

func (s *service) Name() string { return "test/service" }

func (s *service) Complete(context.Context, model.Request) (model.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, time.Now())
	n := len(s.asked)
	s.mu.Unlock()
	if s.answer == nil {
		return model.Response{}, nil
	}
	return model.Response{}, s.answer(n)
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func down(int) error { return model.FromStatus(http.StatusServiceUnavailable, "down", 0, nil) }

func ask(t *testing.T, m model.Model) error {
	t.Helper()
	_, err := m.Complete(t.Context(), model.Request{})
	return err
}

func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// TestTenRunsDoNotHammer: ten runs that retry against a service that is down
// send what one would, and are told when to come back.
func TestTenRunsDoNotHammer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(4 * time.Minute)
		s := &service{answer: func(n int) error {
			if time.Now().Before(back) {
				return down(n)
			}
			return nil
		}}
		limits := limit.New(limit.Config{})
		var wg sync.WaitGroup
		errs := make(chan error, 10)
		for range 10 {
			m := model.WithRetry(limits.Wrap("k", s), model.RetryConfig{Tries: 30})
			wg.Go(func() {
				_, err := m.Complete(context.Background(), model.Request{})
				errs <- err
			})
		}
		wg.Wait()
		close(errs)
		good := 0
		for err := range errs {
			if err == nil {
				good++
			} else if !errors.Is(err, limit.ErrOpen) || retryAfter(err) <= time.Minute {
				t.Errorf("a run ended with %v, want one that says to come back later than a run waits", err)
			}
		}
		sent := s.count()
		t.Logf("%d requests by ten runs of 30 tries each, %d runs went on", sent, good)
		if sent > 10+limit.DefaultFailures+10 {
			t.Errorf("%d requests were sent to a service that is down", sent)
		}
	})
}

func TestBreakerLetsOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: down}
		m := limit.New(limit.Config{}).Wrap("k", s)
		for range limit.DefaultFailures {
			if err := ask(t, m); errors.Is(err, limit.ErrOpen) {
				t.Fatal("open before its failures")
			}
		}
		if err := ask(t, m); !errors.Is(err, limit.ErrOpen) || !errors.Is(err, model.ErrRetryable) || retryAfter(err) != limit.DefaultOpen {
			t.Fatalf("after %d failures: %v", limit.DefaultFailures, err)
		}
		time.Sleep(limit.DefaultOpen)
		hold := make(chan struct{})
		s.answer = func(int) error { <-hold; return nil }
		var wg sync.WaitGroup
		var first error
		wg.Go(func() { _, first = m.Complete(context.Background(), model.Request{}) })
		synctest.Wait()
		if err := ask(t, m); !errors.Is(err, limit.ErrOpen) {
			t.Errorf("a second request while one tries: %v", err)
		}
		close(hold)
		wg.Wait()
		if first != nil {
			t.Fatal(first)
		}
		if err := ask(t, m); err != nil {
			t.Errorf("after a reply: %v", err)
		}
	})
}

// TestProbeDoubles: while the one that tries fails, it is tried more seldom.
func TestProbeDoubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := limit.New(limit.Config{}).Wrap("k", &service{answer: down})
		for range limit.DefaultFailures {
			_ = ask(t, m)
		}
		for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
			err := ask(t, m)
			if got := retryAfter(err); got != want {
				t.Fatalf("closed for %s, want %s", got, want)
			}
			time.Sleep(want)
			_ = ask(t, m)
		}
	})
}

// TestWhatOpensNothing: refusals, bad requests and 429s are answers.
func TestWhatOpensNothing(t *testing.T) {
	for name, e := range map[string]error{
		"bad request": model.FromStatus(400, "no", 0, nil),
		"key":         model.FromStatus(401, "no", 0, nil),
		"refused":     &model.Error{Class: model.ClassRefused},
		"overflow":    &model.Error{Class: model.ClassOverflow},
		"429":         model.FromStatus(429, "slow", 0, nil),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := limit.New(limit.Config{}).Wrap("k", &service{answer: func(int) error { return e }})
				for range 3 * limit.DefaultFailures {
					if err := ask(t, m); errors.Is(err, limit.ErrOpen) {
						t.Fatal("opened")
					}
				}
			})
		})
	}
}

func TestCanceledSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := limit.New(limit.Config{}).Wrap("k", &service{answer: down})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 3 * limit.DefaultFailures {
			if _, err := m.Complete(ctx, model.Request{}); errors.Is(err, limit.ErrOpen) {
				t.Fatal("opened by requests that were canceled")
			}
		}
	})
}

// TestPaceAdapts: no pause before the first 429, half the pace after it, and
// none again after replies.
func TestPaceAdapts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(n int) error {
			if n == 31 || n == 35 {
				return model.FromStatus(429, "slow down", 0, nil)
			}
			return nil
		}}
		m := limit.New(limit.Config{}).Wrap("k", s)
		begun := time.Now()
		for range 31 {
			_ = ask(t, m)
		}
		if took := time.Since(begun); took != 0 {
			t.Fatalf("requests were slowed down by %s before any 429", took)
		}
		_ = ask(t, m)
		_ = ask(t, m)
		_ = ask(t, m)
		if pace := s.asked[33].Sub(s.asked[32]); pace < 800*time.Millisecond || pace > time.Second {
			t.Errorf("a request every %s after a 429, want about one a second", pace)
		}
		before := s.asked[33].Sub(s.asked[32])
		_ = ask(t, m) // 429 again
		_ = ask(t, m)
		_ = ask(t, m)
		if pace := s.asked[36].Sub(s.asked[35]); pace < 3*before/2 {
			t.Errorf("a request every %s after another 429, every %s before", pace, before)
		}
		for range 100 {
			_ = ask(t, m)
		}
		last := len(s.asked)
		if pace := s.asked[last-1].Sub(s.asked[last-2]); pace != 0 {
			t.Errorf("still a pause of %s after a hundred replies", pace)
		}
	})
}

// TestRetryAfterHoldsAll: what one run is told holds for the others; a short
// wait is waited for, a long one is handed back.
func TestRetryAfterHoldsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := 20 * time.Second
		s := &service{answer: func(n int) error {
			if n == 1 || n == 3 {
				return model.FromStatus(429, "slow down", after, nil)
			}
			return nil
		}}
		limits := limit.New(limit.Config{})
		a, b, other := limits.Wrap("k", s), limits.Wrap("k", s), limits.Wrap("another key", &service{})
		_ = ask(t, a)
		begun := time.Now()
		if err := ask(t, b); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != after {
			t.Errorf("the other run waited %s, want %s", took, after)
		}
		time.Sleep(time.Minute)
		after = 5 * time.Minute
		_ = ask(t, a)
		begun = time.Now()
		err := ask(t, b)
		if !errors.Is(err, limit.ErrPaused) || retryAfter(err) != after || time.Since(begun) != 0 {
			t.Errorf("a wait of %s: %v after %s", after, err, time.Since(begun))
		}
		if err := ask(t, other); err != nil || time.Since(begun) != 0 {
			t.Errorf("another key waits too: %v", err)
		}
	})
}

// TestHeaders: the vendors' headers slow the next request down before a 429.
func TestHeaders(t *testing.T) {
	soon := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	cases := map[string]struct {
		headers func() map[string]string
		want    time.Duration
	}{
		"anthropic, no request left": {func() map[string]string {
			return map[string]string{"anthropic-ratelimit-requests-limit": "4", "anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": soon(time.Minute)}
		}, 15 * time.Second},
		"anthropic, few tokens left": {func() map[string]string {
			return map[string]string{"anthropic-ratelimit-input-tokens-limit": "100000", "anthropic-ratelimit-input-tokens-remaining": "5000", "anthropic-ratelimit-input-tokens-reset": soon(time.Minute)}
		}, 6 * time.Second},
		"openai, no request left": {func() map[string]string {
			return map[string]string{"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2m0s"}
		}, 2 * time.Second},
		"openai, enough left": {func() map[string]string {
			return map[string]string{"x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "149984", "x-ratelimit-reset-tokens": "6m0s"}
		}, 0},
		"a clock that is years off": {func() map[string]string {
			return map[string]string{"anthropic-ratelimit-requests-limit": "1", "anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2099-01-01T00:00:00Z"}
		}, time.Minute},
		"nonsense": {func() map[string]string {
			return map[string]string{"x-ratelimit-limit-requests": "-1", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon", "anthropic-ratelimit-requests-limit": "1e9"}
		}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limits := limit.New(limit.Config{})
				base := roundTripper(func(*http.Request) (*http.Response, error) {
					h := http.Header{}
					for k, v := range c.headers() {
						h.Set(k, v)
					}
					return &http.Response{StatusCode: http.StatusOK, Header: h, Body: http.NoBody}, nil
				})
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x", nil)
				res, err := limits.Transport("k", base).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				begun := time.Now()
				if err := ask(t, limits.Wrap("k", &service{})); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(begun); got != c.want {
					t.Errorf("waited %s, want %s", got, c.want)
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestKeyHidesTheCredential(t *testing.T) {
	a, b := limit.Key("sk-1", "openai", "x"), limit.Key("sk-2", "openai", "x")
	if a == b || a != limit.Key("sk-1", "openai", "x") || len(a) != 64 {
		t.Errorf("keys %q and %q", a, b)
	}
}
