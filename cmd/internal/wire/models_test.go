package wire_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/cmd/internal/wire"
)

func note(words ...string) modeltest.Step {
	calls := make([]modeltest.Call, len(words))
	for i, w := range words {
		calls[i] = modeltest.Call{Name: "note_word", Args: map[string]string{"word": w}}
	}
	return modeltest.Do(calls...)
}

// long answers with as many tokens as the request has.
func long(r modeltest.Request) modeltest.Reply {
	return modeltest.Reply{Text: "kestrel", Usage: model.Usage{Input: int64(len(r.Raw) * 2 / 7), Output: 3}}
}

// models are doctor's findings on models, by name.
func models(t *testing.T, change func(*config.Config)) map[string]wire.Finding {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.Sandbox.Driver = "none" // nothing is started
	change(&cfg)
	out := map[string]wire.Finding{}
	for _, f := range wire.Doctor(t.Context(), cfg, slog.New(slog.DiscardHandler)) {
		if strings.HasPrefix(f.Name, "model") {
			out[f.Name] = f
		}
	}
	return out
}

// TestDoctorShowsEachModel: a server of one's own is probed, a hosted one is
// only looked up, and what is missing is named with what to set.
func TestDoctorShowsEachModel(t *testing.T) {
	own, err := modeltest.NewServer(modeltest.Say("ready"), note("green"), note("red"), note("red"), long)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	var asked []string
	hosted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Api-Key"))
		if r.Header.Get("X-Api-Key") != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(hosted.Close)
	got := models(t, func(c *config.Config) {
		c.Models.Default = "own/m"
		c.Models.Roles.Review = "gate/claude"
		c.Models.Fallbacks = map[string][]string{"own/m": {"bad/claude", "openai/gpt-6.2-sol", "anthropic/unheard-of"}}
		c.Models.Anthropic.Key = "k"
		c.Models.Anthropic.BaseURL = hosted.URL
		c.Models.Endpoints = map[string]*config.Endpoint{
			"own":  {Driver: "openai", BaseURL: own.URL() + "/v1", ContextTokens: 30_000},
			"gate": {Driver: "anthropic", BaseURL: hosted.URL, Key: "right", Prices: map[string]config.Price{"claude": {}}},
			"bad":  {Driver: "anthropic", BaseURL: hosted.URL, Key: "wrong"},
		}
	})
	want := map[string]struct {
		severity wire.Severity
		parts    []string
	}{
		"model own/m":                {wire.OK, []string{"stream: yes", "tools: yes", "parallel: no (1 calls", "long input: yes", "window 30000 tokens", "costs nothing"}},
		"model gate/claude":          {wire.OK, []string{"reachable, and the key is taken", "window not known", "costs nothing"}},
		"model bad/claude":           {wire.Failure, []string{"refuses the key (status 401)"}},
		"model openai/gpt-6.2-sol":   {wire.Failure, []string{"neither OPENAI_API_KEY nor OPENAI_BASE_URL is set"}},
		"model anthropic/unheard-of": {wire.Failure, []string{"refuses the key"}},
	}
	var names []string
	for name, w := range want {
		f, ok := got[name]
		if !ok {
			t.Errorf("no finding %q", name)
			continue
		}
		names = append(names, name)
		if f.Severity != w.severity || f.Severity != wire.OK && f.Remedy == "" {
			t.Errorf("%s is %+v, want %s", name, f, w.severity)
		}
		for _, part := range w.parts {
			if !strings.Contains(f.Detail, part) {
				t.Errorf("%s lacks %q: %s", name, part, f.Detail)
			}
		}
	}
	if len(names) != len(got) {
		t.Errorf("findings are %v", got)
	}
	if own.Left() != 0 || len(own.Violations()) > 0 {
		t.Errorf("%d questions were not asked, %v", own.Left(), own.Violations())
	}
	for _, a := range asked {
		if !strings.HasPrefix(a, "GET /v1/models/") {
			t.Errorf("a hosted model was asked something: %s", a)
		}
	}
}

// TestDoctorWithoutAModel says what to set.
func TestDoctorWithoutAModel(t *testing.T) {
	got := models(t, func(*config.Config) {})
	want := map[string]wire.Finding{"model": {Name: "model", Severity: wire.Warning, Detail: got["model"].Detail, Remedy: "set models.default and a key (docs/models.md)"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
