package router_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/anthropic"
	"github.com/greenwright/greenwright/agent/model/limit"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/model/openai"
	"github.com/greenwright/greenwright/agent/model/router"
)

// fake answers with err, or with its name.
type fake struct {
	name  string
	err   error
	asked int
}

func (f *fake) Name() string { return f.name }

func (f *fake) Complete(context.Context, model.Request) (model.Response, error) {
	f.asked++
	return model.Response{}, f.err
}

func status(code int, text string) error { return model.FromStatus(code, text, 0, nil) }

func TestWhenItMovesOn(t *testing.T) {
	cases := map[string]struct {
		err  error
		want bool
	}{
		"500":               {status(500, "oops"), true},
		"429":               {status(429, "slow down"), true},
		"no answer":         {&model.Error{Class: model.ClassRetryable, Err: errors.New("reset")}, true},
		"open breaker":      {&model.Error{Class: model.ClassRetryable, Err: limit.ErrOpen}, true},
		"after its retries": {fmt.Errorf("asking x, try 8: %w", status(529, "overloaded")), true},
		"key":               {status(401, "invalid x-api-key"), true},
		"forbidden":         {status(403, "no"), true},
		"quota, 429":        {status(429, "You exceeded your current quota"), true},
		"quota, 400":        {status(400, "Your credit balance is too low"), true},
		"billing, 402":      {status(402, "pay"), true},
		"bad request":       {status(400, "messages.0: invalid"), false},
		"unknown model":     {status(404, "no such model"), false},
		"overflow":          {status(400, "prompt is too long: 210000 tokens > 200000 maximum"), false},
		"refusal":           {&model.Error{Class: model.ClassRefused}, false},
		"not of a model":    {errors.New("x"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := &fake{name: "a/1", err: c.err}, &fake{name: "b/2"}
			res, err := router.New(router.Options{}, a, b).Complete(t.Context(), model.Request{})
			if c.want && (err != nil || res.Model != "b/2") {
				t.Errorf("got %q, %v, want the fallback's reply", res.Model, err)
			}
			if !c.want && (b.asked > 0 || !errors.Is(err, c.err)) {
				t.Errorf("the fallback was asked %d times, error %v", b.asked, err)
			}
		})
	}
}

// TestThereAndBack: two requests go to the fallback, and after the cool-down the
// primary answers again; each change is told once.
func TestThereAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &fake{name: "a/1", err: status(503, "down")}, &fake{name: "b/2"}
		var told []string
		r := router.New(router.Options{Switched: func(_ context.Context, s router.Switch) {
			told = append(told, fmt.Sprintf("%s→%s %v", s.From, s.To, s.Cause != nil))
		}}, a, b)
		var who []string
		ask := func() {
			t.Helper()
			res, err := r.Complete(t.Context(), model.Request{})
			if err != nil {
				t.Fatal(err)
			}
			who = append(who, res.Model)
		}
		ask()
		ask()
		a.err = nil
		ask()
		time.Sleep(router.DefaultCoolDown)
		ask()
		if diff := cmp.Diff([]string{"b/2", "b/2", "b/2", "a/1"}, who); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"a/1→b/2 true", "b/2→a/1 false"}, told); diff != "" {
			t.Error(diff)
		}
		if a.asked != 2 {
			t.Errorf("the primary was asked %d times, want 2", a.asked)
		}
		if r.Name() != "a/1" {
			t.Errorf("name is %q", r.Name())
		}
	})
}

// TestAllDown: the error says when to come back at the earliest, and the next
// request tries all again.
func TestAllDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &fake{name: "a/1", err: model.FromStatus(429, "slow", 10*time.Minute, nil)}
		b := &fake{name: "b/2", err: model.FromStatus(503, "down", 3*time.Minute, nil)}
		c := &fake{name: "c/3", err: status(401, "key")}
		r := router.New(router.Options{}, a, b, c)
		_, err := r.Complete(t.Context(), model.Request{})
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.RetryAfter != 3*time.Minute || !errors.Is(err, model.ErrRetryable) {
			t.Errorf("error %v, want the one that names the earliest time", err)
		}
		if _, err := r.Complete(t.Context(), model.Request{}); err == nil || b.asked != 2 {
			t.Errorf("asked %d times, %v", b.asked, err)
		}
		time.Sleep(router.DefaultCoolDown)
		_, _ = r.Complete(t.Context(), model.Request{})
		if a.asked != 2 { // it asked for ten minutes
			t.Errorf("the primary was asked %d times within the time it asked for", a.asked)
		}
	})
}

func TestCanceledStays(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := &fake{name: "b/2"}
	_, err := router.New(router.Options{}, &fake{name: "a/1", err: context.Canceled}, b).Complete(ctx, model.Request{})
	if !errors.Is(err, context.Canceled) || b.asked != 0 {
		t.Errorf("%v, fallback asked %d times", err, b.asked)
	}
}

// TestReasoningStaysWithItsModel: over real drivers and the wire, what one model
// thought is not sent to the next, and is sent again to the one that wrote it.
func TestReasoningStaysWithItsModel(t *testing.T) {
	think := func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Thinking: "a secret thought", Text: "done"}
	}
	first, err := modeltest.NewServer(think, modeltest.FailStatus(http.StatusUnauthorized, "no", 0), think)
	if err != nil {
		t.Fatal(err)
	}
	second, err := modeltest.NewServer(modeltest.Say("from the second"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = first.Close(), second.Close() })
	a, err := anthropic.New(anthropic.Config{Model: "x", APIKey: "k", BaseURL: first.URL()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := openai.New(openai.Config{Model: "x", BaseURL: second.URL() + "/v1", Capabilities: model.Capabilities{ReasoningField: model.FieldReasoningContent}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	r := router.New(router.Options{Now: func() time.Time { return now }}, model.WithName(a, "main/x"), model.WithName(b, "spare/x"))
	transcript := []model.Message{model.Text(model.RoleUser, "go")}
	for _, want := range []string{"main/x", "spare/x", "main/x"} {
		res, err := r.Complete(t.Context(), model.Request{Messages: transcript})
		if err != nil {
			t.Fatal(err)
		}
		if res.Model != want {
			t.Fatalf("%s answered, want %s", res.Model, want)
		}
		transcript = append(transcript, res.Message, model.Text(model.RoleUser, "go on"))
		if want == "spare/x" {
			now = now.Add(router.DefaultCoolDown)
		}
	}
	sent := func(s *modeltest.Server, n int) string { return string(s.Requests()[n].Raw) }
	if body := sent(second, 0); strings.Contains(body, "a secret thought") {
		t.Errorf("the second model is sent the first one's reasoning: %s", body)
	}
	if body := sent(first, 2); !strings.Contains(body, "a secret thought") {
		t.Errorf("the first model is not sent its own reasoning: %s", body)
	}
}
