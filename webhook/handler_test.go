package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/githubhook"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

const secret = "It's a Secret to Everybody"

// memory is a Sink that keeps what it was given.
type memory struct {
	mu    sync.Mutex
	keys  map[string]bool
	got   []webhook.Delivery
	err   error
	panic bool
	block chan struct{}
}

func (m *memory) Triage(e vcs.Event) (bool, string) {
	if m.panic {
		panic("triage broke")
	}
	if e.Comment != nil && !strings.HasPrefix(e.Comment.Body, "/agent") {
		return false, "no command"
	}
	return true, "command"
}

func (m *memory) Accept(ctx context.Context, d webhook.Delivery) (bool, error) {
	if m.block != nil {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-m.block:
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return false, m.err
	}
	if m.keys == nil {
		m.keys = map[string]bool{}
	}
	if m.keys[d.Event.Key()] {
		return true, nil
	}
	m.keys[d.Event.Key()] = true
	m.got = append(m.got, d)
	return false, nil
}

// outcomes is an Observer.
type outcomes struct {
	mu  sync.Mutex
	got []string
}

func (o *outcomes) Delivery(outcome, reason string, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got = append(o.got, outcome+": "+reason)
}

func newHandler(t testing.TB, sink webhook.Sink, cfg webhook.Config, opts ...webhook.Option) *webhook.Handler {
	t.Helper()
	p, err := githubhook.New([]vcs.Secret{"an older one", secret}, githubhook.WithAppID(99))
	if err != nil {
		t.Fatal(err)
	}
	h, err := webhook.New(p, sink, cfg, slog.New(slog.DiscardHandler), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func comment(body string) webhooktest.Hook {
	s := webhooktest.NewSample()
	s.Comment.Body = body
	return s.IssueComment("created", s.Repo, s.Issue, s.Comment, s.User, "")
}

func request(t testing.TB, h webhooktest.Hook, change func(*http.Request)) *http.Request {
	t.Helper()
	r, err := webhooktest.Request(t.Context(), "/webhooks/github", secret, webhooktest.DeliveryID(1), h)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	return r
}

// unread fails the test when anything reads it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestAnswers(t *testing.T) {
	sample := webhooktest.NewSample()
	ada := comment("/agent fix")
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	cases := []struct {
		name   string
		hook   webhooktest.Hook
		change func(*http.Request)
		code   int
		body   string
	}{
		{"command", ada, nil, 202, `{"status":"accepted","reason":"command"}`},
		{"talk", comment("thanks"), nil, 200, `{"status":"ignored","reason":"no command"}`},
		{"charset", ada, header("Content-Type", "application/json; charset=utf-8"), 202, ""},
		{"get", ada, func(r *http.Request) { r.Method = http.MethodGet; r.Body = io.NopCloser(unread{t}) }, 405, ""},
		{"xml", ada, header("Content-Type", "application/xml"), 415, ""},
		{"gzip", ada, header("Content-Encoding", "gzip"), 415, ""},
		{"unsigned", ada, func(r *http.Request) { r.Header.Del("X-Hub-Signature-256"); r.Body = io.NopCloser(unread{t}) }, 401, ""},
		{"sha1 only", ada, func(r *http.Request) {
			r.Header.Del("X-Hub-Signature-256")
			r.Header.Set("X-Hub-Signature", "sha1=2fd4e1c67a2d28fced849ee1bb76e7391b93eb12")
			r.Body = io.NopCloser(unread{t})
		}, 401, ""},
		{"short signature", ada, header("X-Hub-Signature-256", "sha256=00"), 401, ""},
		{"not hex", ada, header("X-Hub-Signature-256", "sha256="+strings.Repeat("zz", 32)), 401, ""},
		{"wrong signature", ada, header("X-Hub-Signature-256", webhooktest.Sign("guess", ada.Body)), 401, `{"status":"refused","reason":"unauthorized"}`},
		{"older secret", ada, header("X-Hub-Signature-256", webhooktest.Sign("an older one", ada.Body)), 202, ""},
		{"no event", ada, func(r *http.Request) { r.Header.Del("X-GitHub-Event"); r.Body = io.NopCloser(unread{t}) }, 400, ""},
		{"odd event", ada, header("X-GitHub-Event", "../x"), 400, ""},
		{"no delivery", ada, header("X-GitHub-Delivery", ""), 400, ""},
		{"long delivery", ada, header("X-GitHub-Delivery", strings.Repeat("a", 65)), 400, ""},
		{"truncated", webhooktest.Hook{Name: "issue_comment", Body: ada.Body[:len(ada.Body)-9]}, nil, 400, ""},
		{"array", webhooktest.Hook{Name: "issue_comment", Body: []byte("[]")}, nil, 400, ""},
		{"no members", webhooktest.Hook{Name: "issue_comment", Body: []byte(`{"action":"created"}`)}, nil, 400, ""},
		{"unknown event", webhooktest.Hook{Name: "star", Body: []byte(`{"action":"created"}`)}, nil, 200, `{"status":"ignored","reason":"event not used"}`},
		{"unused action", sample.IssueComment("deleted", sample.Repo, sample.Issue, sample.Comment, sample.User, ""), nil, 200, `{"status":"ignored","reason":"action not used"}`},
		{"too long by header", ada, func(r *http.Request) { r.ContentLength = 1 << 30; r.Body = io.NopCloser(unread{t}) }, 413, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			newHandler(t, &memory{}, webhook.Config{}).ServeHTTP(w, request(t, c.hook, c.change))
			if w.Code != c.code {
				t.Errorf("status %d, want %d: %s", w.Code, c.code, w.Body)
			}
			if c.body != "" && strings.TrimSpace(w.Body.String()) != c.body {
				t.Errorf("body %s, want %s", w.Body, c.body)
			}
			if c.code == 405 && w.Header().Get("Allow") != "POST" {
				t.Errorf("Allow = %q", w.Header().Get("Allow"))
			}
		})
	}
}

func TestForm(t *testing.T) {
	sink := &memory{}
	h := newHandler(t, sink, webhook.Config{})
	r, err := webhooktest.FormRequest(t.Context(), "/", secret, webhooktest.DeliveryID(1), comment("/agent fix a & b; 100% = +1"))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusAccepted {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if got := sink.got[0].Event.Comment.Body; got != "/agent fix a & b; 100% = +1" {
		t.Errorf("body %q", got)
	}
}

func TestSameFactTwice(t *testing.T) {
	sink, seen := &memory{}, &outcomes{}
	h := newHandler(t, sink, webhook.Config{}, webhook.WithObserver(seen))
	for i, want := range []int{202, 200} {
		w := httptest.NewRecorder()
		// The second hook of the organisation has a delivery id of its own.
		h.ServeHTTP(w, request(t, comment("/agent fix"), func(r *http.Request) {
			r.Header.Set("X-GitHub-Delivery", webhooktest.DeliveryID(i))
		}))
		if w.Code != want {
			t.Errorf("delivery %d: status %d, want %d", i, w.Code, want)
		}
	}
	if len(sink.got) != 1 {
		t.Errorf("stored %d deliveries, want 1", len(sink.got))
	}
	if diff := cmp.Diff([]string{"accepted: command", "duplicate: seen before"}, seen.got); diff != "" {
		t.Error(diff)
	}
}

func TestOwnEvents(t *testing.T) {
	s := webhooktest.NewSample()
	h := newHandler(t, &memory{}, webhook.Config{}, webhook.WithSelf(func() []int64 { return []int64{s.User.ID} }))
	cases := map[string]struct {
		hook webhooktest.Hook
		code int
	}{
		"own comment":                 {comment("/agent fix"), 200},
		"a check of Greenwright's PR": {s.CheckRunEvent("completed", s.Repo, s.Check, s.User), 202},
	}
	for name, c := range cases {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(t, c.hook, nil))
		if w.Code != c.code {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, c.code, w.Body)
		}
	}
}

func TestSinkFails(t *testing.T) {
	cases := map[string]struct {
		sink *memory
		code int
	}{
		"unavailable": {&memory{err: errors.Join(errors.New("redis"), vcs.ErrUnavailable)}, 503},
		"rate limit":  {&memory{err: &vcs.RateLimitError{}}, 503},
		"other":       {&memory{err: errors.New("broken")}, 500},
		"hangs":       {&memory{block: make(chan struct{})}, 503},
		"panics":      {&memory{panic: true}, 500},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, c.sink, webhook.Config{AcceptTimeout: 20 * time.Millisecond})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request(t, comment("/agent fix"), nil))
			if w.Code != c.code {
				t.Errorf("status %d, want %d", w.Code, c.code)
			}
			if hasHeader := w.Header().Get("Retry-After") != ""; hasHeader != (c.code == 503) {
				t.Errorf("Retry-After present: %v", hasHeader)
			}
			if strings.Contains(w.Body.String(), "redis") {
				t.Errorf("the answer tells the cause: %s", w.Body)
			}
		})
	}
}

func TestBodyOverCap(t *testing.T) {
	h := newHandler(t, &memory{}, webhook.Config{MaxBody: 1000})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(t, comment("/agent fix"), func(r *http.Request) { r.ContentLength = -1 }))
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want 413", w.Code)
	}
}

func TestSlowBody(t *testing.T) {
	srv := httptest.NewServer(newHandler(t, &memory{}, webhook.Config{ReadTimeout: 50 * time.Millisecond}))
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := request(t, comment("/agent fix"), nil)
	var head bytes.Buffer
	head.WriteString("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n")
	if err := r.Header.Write(&head); err != nil {
		t.Fatal(err)
	}
	head.WriteString("\r\n{") // and no more
	if _, err := conn.Write(head.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("the server held the connection: %v", err)
	}
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 408")) {
		t.Errorf("answer %.80q, want 408", answer)
	}
}

func TestManyLargeBodies(t *testing.T) {
	h := newHandler(t, &memory{}, webhook.Config{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	started := make(chan struct{}, 8)
	for range 8 {
		wg.Go(func() {
			r := request(t, comment("x"), func(r *http.Request) {
				r.ContentLength = 2 << 20
				r.Body = io.NopCloser(hanging{started, stop})
			})
			h.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	for range 8 {
		<-started
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(t, comment("x"), func(r *http.Request) { r.ContentLength = 2 << 20 }))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a ninth large body: status %d, want 503", w.Code)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, request(t, comment("/agent fix"), nil))
	if w.Code != http.StatusAccepted {
		t.Errorf("an ordinary body meanwhile: status %d, want 202", w.Code)
	}
	close(stop)
	wg.Wait()
}

// hanging says that it is read, and ends when stop closes.
type hanging struct{ started, stop chan struct{} }

func (h hanging) Read([]byte) (int, error) {
	h.started <- struct{}{}
	<-h.stop
	return 0, io.EOF
}

func TestNewRefuses(t *testing.T) {
	p, err := githubhook.New([]vcs.Secret{secret})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"no sink": func() error { _, err := webhook.New(p, nil, webhook.Config{}, slog.Default()); return err },
		"bad limit": func() error {
			_, err := webhook.New(p, &memory{}, webhook.Config{MaxBody: -1}, slog.Default())
			return err
		},
	} {
		if err := call(); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
