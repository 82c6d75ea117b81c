package gitlabhook_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/gitlabhook"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

var (
	now      = time.Date(2025, 5, 6, 9, 0, 1, 0, time.UTC)
	firstKey = signingKey('a')
	otherKey = signingKey('b')
)

func signingKey(c byte) vcs.Secret {
	return vcs.Secret("whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{c}, 32)))
}

// sign is one signature of a delivery.
func sign(key vcs.Secret, at time.Time, body []byte) string {
	return webhooktest.GitLabSign(key.Reveal(), deliveryID, at, body)
}

const deliveryID = "f5e5f430-f57b-4e6e-9fac-d9128cd7232f"

// delivery is a request as GitLab sends it; token and keys may be none.
func delivery(t testing.TB, url, event, token string, body []byte, keys ...vcs.Secret) *http.Request {
	t.Helper()
	r, err := webhooktest.GitLabRequest(t.Context(), url, webhooktest.GitLabSecrets{Token: token}, webhooktest.GitLabDelivery{Key: deliveryID}, webhooktest.Hook{Name: event, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	var signatures []string
	for _, k := range keys {
		signatures = append(signatures, sign(k, now, body))
	}
	if len(signatures) > 0 {
		r.Header.Set("Webhook-Id", deliveryID)
		r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
		r.Header.Set("Webhook-Signature", strings.Join(signatures, " "))
	}
	return r
}

// memory is a Sink that keeps what it was given.
type memory struct {
	mu   sync.Mutex
	keys map[string]bool
	got  []webhook.Delivery
	err  error
}

func (m *memory) Triage(e vcs.Event) (bool, string) {
	return e.Kind != vcs.EventUnsupported, "wanted or not"
}

func (m *memory) Accept(_ context.Context, d webhook.Delivery) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return false, m.err
	}
	if m.keys[d.Event.Key()] {
		return true, nil
	}
	if m.keys == nil {
		m.keys = map[string]bool{}
	}
	m.keys[d.Event.Key()] = true
	m.got = append(m.got, d)
	return false, nil
}

// serve runs a receiver with a configuration over real HTTP.
func serve(t *testing.T, cfg gitlabhook.Config, sink *memory, opts ...webhook.Option) string {
	t.Helper()
	cfg.Now = func() time.Time { return now }
	p, err := gitlabhook.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := webhook.New(p, sink, webhook.Config{MaxBody: 1 << 20}, slog.New(slog.DiscardHandler), opts...)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// send gives the status and the answer's body.
func send(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func tokens(secret string, projects ...string) gitlabhook.Token {
	return gitlabhook.Token{Secret: vcs.Secret(secret), Projects: projects}
}

func keyFor(key vcs.Secret, projects ...string) gitlabhook.Token {
	return gitlabhook.Token{Secret: key, Projects: projects}
}

// TestWhoIsBelieved is about the project acme/tools.d/widgets.
func TestWhoIsBelieved(t *testing.T) {
	type config = gitlabhook.Config
	one := config{Tokens: []gitlabhook.Token{tokens("one")}}
	rotating := config{Tokens: []gitlabhook.Token{tokens("old"), tokens("new")}}
	pinned := config{Tokens: []gitlabhook.Token{tokens("ours", "acme/**"), tokens("theirs", "other/**"), tokens("both", "other/x"), tokens("both", "acme/tools.d/widgets")}}
	keyed := config{SigningKeys: []gitlabhook.Token{keyFor(firstKey), keyFor(otherKey, "other/**")}}
	mixed := config{Tokens: []gitlabhook.Token{tokens("one")}, SigningKeys: []gitlabhook.Token{keyFor(firstKey, "acme/**")}}
	elsewhere := config{Tokens: []gitlabhook.Token{tokens("one")}, SigningKeys: []gitlabhook.Token{keyFor(otherKey, "other/**")}}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	at := func(d time.Duration) func(*http.Request) {
		return func(r *http.Request) {
			_, body := sample(t, "note.issue")
			when := now.Add(d)
			r.Header.Set("Webhook-Timestamp", strconv.FormatInt(when.Unix(), 10))
			r.Header.Set("Webhook-Signature", sign(firstKey, when, body))
		}
	}
	cases := []struct {
		what   string
		cfg    config
		token  string
		keys   []vcs.Secret
		change func(*http.Request)
		code   int
	}{
		{"token", one, "one", nil, nil, 202},
		{"no token", one, "", nil, nil, 401},
		{"wrong token", one, "two", nil, nil, 401},
		{"beginning of the token", one, "on", nil, nil, 401},
		{"token and more", one, "one ", nil, header("X-Gitlab-Token", "onee"), 401},
		{"case of the token", one, "ONE", nil, nil, 401},
		{"endless token", one, strings.Repeat("x", 5000), nil, nil, 401},
		{"old of two", rotating, "old", nil, nil, 202},
		{"new of two", rotating, "new", nil, nil, 202},
		{"token of the project's group", pinned, "ours", nil, nil, 202},
		{"token of another group", pinned, "theirs", nil, nil, 200},
		{"token bound twice", pinned, "both", nil, nil, 202},
		{"group in capitals", config{Tokens: []gitlabhook.Token{tokens("one", "ACME/**")}}, "one", nil, nil, 202},
		{"token of a project of that name", config{Tokens: []gitlabhook.Token{tokens("one", "*/widgets")}}, "one", nil, nil, 200},
		{"signature without a key here", one, "one", []vcs.Secret{firstKey}, nil, 202},
		{"signature alone without a key here", one, "", []vcs.Secret{firstKey}, nil, 401},
		{"signed", keyed, "", []vcs.Secret{firstKey}, nil, 202},
		{"signed twice, while a key is replaced", keyed, "", []vcs.Secret{signingKey('c'), firstKey}, nil, 202},
		{"signed with another project's key", keyed, "", []vcs.Secret{otherKey}, nil, 200},
		{"signed with an unknown key", keyed, "", []vcs.Secret{signingKey('c')}, nil, 401},
		{"not signed", keyed, "one", nil, nil, 401},
		{"signed and with a token", mixed, "one", []vcs.Secret{firstKey}, nil, 202},
		{"signed and with a wrong token", mixed, "two", []vcs.Secret{firstKey}, nil, 202},
		{"token where a key is bound", mixed, "one", nil, nil, 200},
		{"token and wrong signature where a key is bound", mixed, "one", []vcs.Secret{signingKey('c')}, nil, 200},
		{"token where a key is bound elsewhere", elsewhere, "one", nil, nil, 202},
		{"token and unknown signature where no key is bound", elsewhere, "one", []vcs.Secret{signingKey('c')}, nil, 202},
		{"signed four minutes ago", keyed, "", []vcs.Secret{firstKey}, at(-4 * time.Minute), 202},
		{"signed six minutes ago", keyed, "", []vcs.Secret{firstKey}, at(-6 * time.Minute), 401},
		{"signed in the future", keyed, "", []vcs.Secret{firstKey}, at(6 * time.Minute), 401},
		{"another time than signed", keyed, "", []vcs.Secret{firstKey}, header("Webhook-Timestamp", strconv.FormatInt(now.Unix()+1, 10)), 401},
		{"another id than signed", keyed, "", []vcs.Secret{firstKey}, header("Webhook-Id", "other"), 401},
		{"no id", keyed, "", []vcs.Secret{firstKey}, header("Webhook-Id", ""), 401},
		{"time as words", keyed, "", []vcs.Secret{firstKey}, header("Webhook-Timestamp", "now"), 401},
		{"time beyond numbers", keyed, "", []vcs.Secret{firstKey}, header("Webhook-Timestamp", strings.Repeat("9", 30)), 401},
		{"signature of another scheme", keyed, "", []vcs.Secret{firstKey}, header("Webhook-Signature", "v1a,"+strings.Repeat("A", 44)), 401},
		{"signature that is no base64", keyed, "", []vcs.Secret{firstKey}, header("Webhook-Signature", "v1,???"), 401},
		{"short signature", keyed, "", []vcs.Secret{firstKey}, header("Webhook-Signature", "v1,YWJj"), 401},
		{"hundreds of signatures", keyed, "", []vcs.Secret{firstKey}, func(r *http.Request) {
			r.Header.Set("Webhook-Signature", strings.Repeat("v1,YWJj ", 500)+r.Header.Get("Webhook-Signature"))
		}, 401},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			sink := &memory{}
			_, body := sample(t, "note.issue")
			r := delivery(t, serve(t, c.cfg, sink), "Note Hook", c.token, body, c.keys...)
			if c.change != nil {
				c.change(r)
			}
			code, answer := send(t, r)
			if code != c.code || (code == http.StatusAccepted) != (len(sink.got) == 1) {
				t.Errorf("status %d with %d stored, want %d: %s", code, len(sink.got), c.code, answer)
			}
			if code == http.StatusUnauthorized && strings.TrimSpace(answer) != `{"status":"refused","reason":"unauthorized"}` {
				t.Errorf("the answer says more than that it is refused: %s", answer)
			}
		})
	}
}

// TestAnswersNeverDisableAHook: what was verified is answered with a success,
// whatever it is (rule G7).
func TestAnswersNeverDisableAHook(t *testing.T) {
	files := []string{"note.commit", "note.system", "issue.reopen", "merge_request.approved", "merge_request.update.draft", "pipeline.running", "work_item.epic", "push.deleted"}
	bodies := map[string][2]string{
		"unknown event":  {"Vulnerability Hook", `{"object_kind":"vulnerability"}`},
		"no event":       {"", `{}`},
		"odd event":      {"../x", `{}`},
		"system event":   {"System Hook", `{"event_name":"user_create","project":"none"}`},
		"own template":   {"Note Hook", `{"text":"a template of the operator's"}`},
		"truncated":      {"Note Hook", `{"object_kind":"note","obj`},
		"no JSON":        {"Note Hook", `hello`},
		"empty":          {"Note Hook", ``},
		"hostile path":   {"Note Hook", `{"object_kind":"note","project":{"id":1,"path_with_namespace":"../.."}}`},
		"names disagree": {"Issue Hook", `{"object_kind":"note","project":{"id":1,"path_with_namespace":"a/b"},"object_attributes":{}}`},
	}
	for _, f := range files {
		name, body := sample(t, f)
		bodies[f] = [2]string{name, string(body)}
	}
	sink := &memory{}
	url := serve(t, gitlabhook.Config{Tokens: []gitlabhook.Token{tokens("one")}}, sink)
	for what, b := range bodies {
		if code, answer := send(t, delivery(t, url, b[0], "one", []byte(b[1]))); code != http.StatusOK || !strings.Contains(answer, `"ignored"`) {
			t.Errorf("%s: status %d: %s", what, code, answer)
		}
		if code, _ := send(t, delivery(t, url, b[0], "two", []byte(b[1]))); code != http.StatusUnauthorized {
			t.Errorf("%s with a wrong token: status %d", what, code)
		}
	}
	if len(sink.got) != 0 {
		t.Errorf("stored %d of what is of no use", len(sink.got))
	}
}

// TestOnceForAllHooks: a project's, its group's and the system's hook, and a
// request that is sent again, tell of one fact.
func TestOnceForAllHooks(t *testing.T) {
	sink := &memory{}
	url := serve(t, gitlabhook.Config{Tokens: []gitlabhook.Token{tokens("project"), tokens("group"), tokens("system")}}, sink)
	name, body := sample(t, "merge_request.open")
	for i, c := range []struct{ event, token string }{{name, "project"}, {name, "group"}, {"System Hook", "system"}, {name, "project"}} {
		r := delivery(t, url, c.event, c.token, body)
		r.Header.Set("Idempotency-Key", "key-"+strconv.Itoa(i))
		want := http.StatusOK
		if i == 0 {
			want = http.StatusAccepted
		}
		if code, answer := send(t, r); code != want {
			t.Errorf("hook %d: status %d, want %d: %s", i, code, want, answer)
		}
	}
	if len(sink.got) != 1 || sink.got[0].ID != "key-0" {
		t.Errorf("stored %d", len(sink.got))
	}
}

func TestOwnEvents(t *testing.T) {
	sink := &memory{}
	const us = 99
	url := serve(t, gitlabhook.Config{Tokens: []gitlabhook.Token{tokens("one")}}, sink, webhook.WithSelf(func() []int64 { return []int64{us} }))
	for file, want := range map[string]int{
		"note.by_token":   200, // our own note
		"pipeline.failed": 202, // of our own push
		"note.issue":      202,
	} {
		name, body := sample(t, file)
		if code, answer := send(t, delivery(t, url, name, "one", body)); code != want {
			t.Errorf("%s: status %d, want %d: %s", file, code, want, answer)
		}
	}
	for _, d := range sink.got {
		if d.Event.Check != nil && d.Event.Actor.ID != 0 {
			t.Errorf("a pipeline is the doing of %+v", d.Event.Actor)
		}
	}
}

func TestLimitsOfBodies(t *testing.T) {
	url := serve(t, gitlabhook.Config{Tokens: []gitlabhook.Token{tokens("one")}}, &memory{})
	_, body := sample(t, "note.issue")
	large := bytes.Replace(body, []byte("/agent fix"), bytes.Repeat([]byte("x"), 900_000), 1)
	for what, c := range map[string]struct {
		token string
		body  []byte
		code  int
	}{
		"large":                   {"one", large, 202},
		"too large":               {"one", bytes.Repeat([]byte(" "), 1<<20+1), 413},
		"too large, not believed": {"two", bytes.Repeat([]byte(" "), 1<<20+1), 413},
	} {
		if code, answer := send(t, delivery(t, url, "Note Hook", c.token, c.body)); code != c.code {
			t.Errorf("%s: status %d, want %d: %s", what, code, c.code, answer)
		}
	}
}

// unread fails the test when anything reads it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestWrongTokensCostNoBody: nobody makes the receiver hold bodies who does not
// know a token.
func TestWrongTokensCostNoBody(t *testing.T) {
	p, err := gitlabhook.New(gitlabhook.Config{Tokens: []gitlabhook.Token{tokens("one")}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := webhook.New(p, &memory{}, webhook.Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", "two"} {
		r := delivery(t, "http://x/", "Note Hook", token, nil, firstKey)
		r.Body = io.NopCloser(unread{t})
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
			t.Errorf("token %q: status %d", token, w.Code)
		}
	}
}

// TestQueueAway: the loss is shown, and told to be of a moment.
func TestQueueAway(t *testing.T) {
	url := serve(t, gitlabhook.Config{Tokens: []gitlabhook.Token{tokens("one")}}, &memory{err: fmt.Errorf("redis: %w", vcs.ErrUnavailable)})
	name, body := sample(t, "note.issue")
	if code, answer := send(t, delivery(t, url, name, "one", body)); code != http.StatusServiceUnavailable || strings.Contains(answer, "redis") {
		t.Errorf("status %d: %s", code, answer)
	}
}

// TestSignatureOfTheSpecification is the example of Standard Webhooks
// (standardwebhooks.com): no code of ours made it.
func TestSignatureOfTheSpecification(t *testing.T) {
	at := time.Unix(1614265330, 0)
	p, err := gitlabhook.New(gitlabhook.Config{
		SigningKeys: []gitlabhook.Token{keyFor("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}, Now: func() time.Time { return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	h.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	h.Set("webhook-timestamp", "1614265330")
	h.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	env, err := p.Open(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Verify(env, []byte(`{"test": 2432232314}`)); err != nil {
		t.Error(err)
	}
	if _, err := p.Verify(env, []byte(`{"test": 2432232315}`)); !errors.Is(err, webhook.ErrUnauthorized) {
		t.Errorf("another body: %v", err)
	}
}

func TestDeliveryIDs(t *testing.T) {
	p := newParser(t)
	for what, c := range map[string]struct{ key, uuid, want string }{
		"both":           {"k-1", "u-1", "k-1"},
		"before 17.4":    {"", "u-1", "u-1"},
		"before 14.8":    {"", "", ""},
		"odd":            {"k\t1", "u-1", "u-1"},
		"long":           {strings.Repeat("k", 65), "", ""},
		"not for a path": {"../k", "../u", ""},
	} {
		h := http.Header{}
		h.Set("X-Gitlab-Token", "s")
		h.Set("Idempotency-Key", c.key)
		h.Set("X-Gitlab-Event-UUID", c.uuid)
		if env, err := p.Open(h); err != nil || string(env.ID) != c.want {
			t.Errorf("%s: %q, %v; want %q", what, env.ID, err, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	short := vcs.Secret("whsec_" + base64.StdEncoding.EncodeToString([]byte("short")))
	for what, cfg := range map[string]gitlabhook.Config{
		"nothing":                {},
		"an empty token":         {Tokens: []gitlabhook.Token{tokens("one"), tokens("")}},
		"a token of blanks":      {Tokens: []gitlabhook.Token{tokens("  ")}},
		"a token with a line":    {Tokens: []gitlabhook.Token{tokens("a\nb")}},
		"a token with a tail":    {Tokens: []gitlabhook.Token{tokens("a ")}},
		"an empty key":           {SigningKeys: []gitlabhook.Token{keyFor("")}},
		"a key without a prefix": {SigningKeys: []gitlabhook.Token{keyFor("YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU=")}},
		"a key of nothing":       {SigningKeys: []gitlabhook.Token{keyFor("whsec_")}},
		"a short key":            {SigningKeys: []gitlabhook.Token{keyFor(short)}},
		"a pattern that is none": {Tokens: []gitlabhook.Token{tokens("one", "acme/[")}},
		"an empty pattern":       {Tokens: []gitlabhook.Token{tokens("one", "")}},
		"an address of naught":   {Tokens: []gitlabhook.Token{tokens("one")}, BaseURL: "http://%zz"},
	} {
		if _, err := gitlabhook.New(cfg); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		} else if strings.Contains(err.Error(), "c2hvcnQ") {
			t.Errorf("%s: the fault shows the key: %v", what, err)
		}
	}
}
