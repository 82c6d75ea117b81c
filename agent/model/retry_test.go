package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
)

// failing fails with its errors in turn, then answers.
type failing struct {
	errs  []error
	asked int
}

func (f *failing) Name() string { return "test/failing" }

func (f *failing) Complete(context.Context, model.Request) (model.Response, error) {
	f.asked++
	if f.asked <= len(f.errs) {
		return model.Response{}, f.errs[f.asked-1]
	}
	return model.Response{StopReason: model.StopEnd}, nil
}

func retryable(after time.Duration) error {
	return &model.Error{Class: model.ClassRetryable, RetryAfter: after}
}

func TestWithRetry(t *testing.T) {
	cases := []struct {
		name   string
		errs   []error
		asked  int
		want   error
		delays []time.Duration
	}{
		{"first try", nil, 1, nil, nil},
		{"doubles", []error{retryable(0), retryable(0), retryable(0)}, 4, nil, []time.Duration{550 * time.Millisecond, 1100 * time.Millisecond, 2200 * time.Millisecond}},
		{"server's delay is a floor", []error{retryable(30 * time.Second)}, 2, nil, []time.Duration{30*time.Second + 550*time.Millisecond}},
		{"long delay is handed back", []error{retryable(61 * time.Second)}, 1, model.ErrRetryable, nil},
		{"fatal", []error{&model.Error{Class: model.ClassFatal}}, 1, model.ErrFatal, nil},
		{"overflow", []error{&model.Error{Class: model.ClassOverflow}}, 1, model.ErrOverflow, nil},
		{"wrapped", []error{fmt.Errorf("x: %w", retryable(0))}, 2, nil, []time.Duration{550 * time.Millisecond}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := &failing{errs: c.errs}
			var delays []time.Duration
			m := model.WithRetry(f, model.RetryConfig{
				Random: func() float64 { return 0.5 },
				Wait:   func(_ context.Context, d time.Duration) error { delays = append(delays, d); return nil },
			})
			_, err := m.Complete(context.Background(), model.Request{})
			if !errors.Is(err, c.want) || f.asked != c.asked {
				t.Errorf("error %v, asked %d times", err, f.asked)
			}
			if diff := cmp.Diff(c.delays, delays); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRetryGivesUp(t *testing.T) {
	now := time.Unix(0, 0)
	errs := make([]error, 100)
	for i := range errs {
		errs[i] = retryable(0)
	}
	f := &failing{errs: errs}
	wait := func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }
	m := model.WithRetry(f, model.RetryConfig{Now: func() time.Time { return now }, Wait: wait})
	if _, err := m.Complete(context.Background(), model.Request{}); !errors.Is(err, model.ErrRetryable) || f.asked != model.DefaultTries {
		t.Errorf("error %v after %d tries", err, f.asked)
	}
	f = &failing{errs: errs}
	m = model.WithRetry(f, model.RetryConfig{Now: func() time.Time { return now }, Wait: wait, Tries: 1000, Total: time.Minute})
	start := now
	_, err := m.Complete(context.Background(), model.Request{})
	if took := now.Sub(start); !errors.Is(err, model.ErrRetryable) || took > time.Minute || took < 10*time.Second {
		t.Errorf("error %v after %v", err, took)
	}
}

func TestFromStatus(t *testing.T) {
	cases := []struct {
		status int
		text   string
		want   error
	}{
		{429, "slow", model.ErrRetryable},
		{429, "prompt is too long", model.ErrRetryable}, // a 429 is never overflow
		{429, "You exceeded your current quota", model.ErrFatal},
		{400, "Your credit balance is too low", model.ErrFatal},
		{400, "prompt is too long: 210000 tokens > 200000 maximum", model.ErrOverflow},
		{400, "This model's maximum context length is 8192 tokens", model.ErrOverflow},
		{400, "the request exceeds the available context size", model.ErrOverflow},
		{413, "", model.ErrOverflow},
		{404, "no such model", model.ErrFatal},
		{408, "", model.ErrRetryable},
		{503, "", model.ErrRetryable},
		{529, "", model.ErrRetryable},
	}
	for _, c := range cases {
		if err := model.FromStatus(c.status, c.text, 0, nil); !errors.Is(err, c.want) {
			t.Errorf("%d %q: %v, want %v", c.status, c.text, err, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", 0},
		{"Retry-After", "-3", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "1e300", 0},
	}
	for _, c := range cases {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := model.RetryAfter(h, now); got != c.want {
			t.Errorf("%s: %s = %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestBrokenArgumentsSurviveStorage(t *testing.T) {
	for _, args := range []string{`{"a":1}`, `{"a":`, "", "no json \xff"} {
		in := model.ToolCall{ID: "x", Name: "t", Arguments: json.RawMessage(args), Cut: true}
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		var out model.ToolCall
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		want := args
		if args == "no json \xff" {
			want = "no json \ufffd"
		}
		if string(out.Arguments) != want || !out.Cut {
			t.Errorf("%q came back as %q", args, out.Arguments)
		}
	}
}

func TestKeyNeverPrints(t *testing.T) {
	k := model.Key("sk-secret")
	data, err := json.Marshal(map[string]any{"k": k})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %q %s", k, k, k, k, k), string(data), k.LogValue().String()} {
		if cmp.Equal(s, "") || containsSecret(s) {
			t.Errorf("printed %q", s)
		}
	}
	if k.Reveal() != "sk-secret" {
		t.Error("Reveal does not reveal")
	}
}

func containsSecret(s string) bool {
	for i := 0; i+6 <= len(s); i++ {
		if s[i:i+6] == "secret" {
			return true
		}
	}
	return false
}

func TestPrice(t *testing.T) {
	p := model.Price{Input: 3_000_000, CacheRead: 300_000, CacheWrite: 3_750_000, Output: 15_000_000}
	if got := p.Cost(model.Usage{Input: 1000, CacheRead: 10_000, CacheWrite: 100, Output: 10}); got != 3000+3000+375+150 {
		t.Errorf("cost %d", got)
	}
	if got := p.Cost(model.Usage{CacheRead: 1}); got != 1 {
		t.Errorf("a part of a micro dollar counts as %d", got)
	}
}
