package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/price"
	"github.com/greenwright/greenwright/cmd/internal/config"
)

// load writes a file and loads it, with no variable of the machine's.
func load(t *testing.T, file string, env map[string]string) (config.Config, error) {
	t.Helper()
	for _, name := range []string{"GREENWRIGHT_MODEL", "GREENWRIGHT_OPENAI_API", "GREENWRIGHT_MODEL_PROBE", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY", "GEMINI_API_KEY", "GEMINI_BASE_URL", "OLLAMA_BASE_URL", "OLLAMA_API_KEY"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range env {
		t.Setenv(k, v)
	}
	path := filepath.Join(t.TempDir(), "greenwright.yml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(path)
}

const whole = `
models:
  default: anthropic/claude-opus-5-5
  roles: {plan: anthropic/claude-opus-5-5, edit: anthropic/claude-sonnet-5-5, summarise: local/qwen3, review: openai/gpt-6.2-sol}
  fallbacks:
    anthropic/claude-opus-5-5: [openai/gpt-6.2-astra, gate-way/big]
  probe: false
  ollama: {base_url: "http://gpu:11434", context_tokens: 65536}
  endpoints:
    local:
      driver: openai
      base_url: http://10.0.0.7:8000/v1
      api: chat
      context_tokens: 40000
      max_output_tokens: 8000
      capabilities: {parallel_tool_calls: true}
    gate-way:
      driver: anthropic
      base_url: https://gw.example.com
      prices: {big: {input: 1, output: 2, long_above: 1000, long: {input: 3, output: 4}}}
  prices:
    openai/gpt-6.2-sol: {input: 7, cache_read: 0.7, cache_write: 8, output: 70}
limits: {usd: 5}
`

func TestModelsLoad(t *testing.T) {
	file := strings.Replace(whole, "{parallel_tool_calls: true}", "{parallel_calls: true}", 1)
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte("  from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file = strings.Replace(file, "api: chat", "api: chat\n      key_file: "+keyFile, 1)
	c, err := load(t, file, map[string]string{"ANTHROPIC_API_KEY": "from-env", "GREENWRIGHT_MODEL_KEY_GATE_WAY": "gateway-key"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"anthropic/claude-opus-5-5", "anthropic/claude-sonnet-5-5", "local/qwen3", "openai/gpt-6.2-sol", "openai/gpt-6.2-astra", "gate-way/big"}
	if diff := cmp.Diff(want, c.Models.Configured()); diff != "" {
		t.Error(diff)
	}
	local, _ := c.Models.Endpoint("local")
	gateway, _ := c.Models.Endpoint("gate-way")
	if local.Key != "from-a-file" || gateway.Key != "gateway-key" || c.Models.Anthropic.Key != "from-env" || c.Models.Probe {
		t.Errorf("keys or the probe are not as set: %q %q %q", local.Key.Reveal(), gateway.Key.Reveal(), c.Models.Anthropic.Key.Reveal())
	}
	if !model.Is(local.Capabilities.ParallelCalls) || local.ContextTokens != 40000 {
		t.Errorf("endpoint is %+v", local)
	}
	if keys := c.Models.Keys(); len(keys) != 6 {
		t.Errorf("%d keys are known to redaction, want 6", len(keys))
	}
}

// TestPriceOf: the operator's price goes first, then the table's for the
// vendor's own service, then nothing for one's own network; else it is unknown.
func TestPriceOf(t *testing.T) {
	c, err := load(t, strings.Replace(whole, "{parallel_tool_calls: true}", "{}", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := price.Load()
	if err != nil {
		t.Fatal(err)
	}
	c.Models.Endpoints["router"] = &config.Endpoint{Driver: "openai", BaseURL: "https://router.example.com/v1"}
	cases := []struct {
		name          string
		input, output int64
		window        int
		priced        bool
	}{
		{"anthropic/claude-opus-5-5", 4e6, 20e6, 1_000_000, true},
		{"openai/gpt-6.2-sol", 7e6, 70e6, 1_050_000, true}, // overridden, but its window is known
		{"openai/unheard-of", 0, 0, 0, false},
		{"local/qwen3", 0, 0, 40_000, true},
		{"ollama/qwen3", 0, 0, 65_536, true},
		{"gate-way/big", 1e6, 2e6, 0, true},
		{"gate-way/claude-opus-5-5", 0, 0, 0, false}, // not the vendor's own service
		{"router/x", 0, 0, 0, false},
		{"mechanic/auto", 0, 0, 0, true},
	}
	for _, w := range cases {
		got, priced := c.Models.PriceOf(table, w.name, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
		if priced != w.priced || got.Tariff.Input != w.input || got.Tariff.Output != w.output || got.Window != w.window {
			t.Errorf("%s: %+v, %v", w.name, got, priced)
		}
	}
	big, _ := c.Models.PriceOf(table, "gate-way/big", time.Now())
	if big.Tariff.Cost(model.Usage{Input: 1_001}) != 3_003 {
		t.Errorf("a long request costs %d", big.Tariff.Cost(model.Usage{Input: 1_001}))
	}
}

// TestEveryFaultAtOnce: each with what to do, the nearest name where there is one.
func TestEveryFaultAtOnce(t *testing.T) {
	cases := map[string]struct {
		file string
		want []string
	}{
		"names": {`
models:
  default: antropic/x
  roles: {plan: nothing, review: mechanic/auto}
  fallbacks: {anthropic/a: [anthropic/a, opnai/b, openai/c, openai/c]}
`, []string{`models.default: "antropic/x": there is no driver or endpoint "antropic" (did you mean "anthropic"?)`, `models.roles.plan: "nothing": want endpoint/model`,
			"models.roles.review: mechanic/auto is no language model", "anthropic/a: anthropic/a is there already", `did you mean "openai"?`, "anthropic/a: openai/c is there already"}},
		"endpoints": {`
models:
  endpoints:
    Bad_Name: {driver: openai, base_url: "http://x"}
    ollama: {driver: ollama}
    empty:
    a: {driver: olama, base_url: "ftp://x", api: chat}
    b: {driver: openai, base_url: "http://user:word@x/v1", api: grpc, context_tokens: -1, capabilities: {system_role: boss}, prices: {x: {input: -1}}}
    c: {driver: openai, base_url: "http://x", prices: {x: {input: 1, long_above: 5}}}
`, []string{"Bad_Name: want a name of small letters", "endpoints.ollama: is a driver's own name", "endpoints.empty: is empty", `did you mean "ollama"?`, `a.base_url: "ftp://x"`, "a.api: is for the driver openai only",
			"b.base_url: holds a password", `b.api: "grpc"`, "b.context_tokens: must not be negative", `b.capabilities: system_role is "boss"`, "b.prices: x: -1 is no price", "c.prices: x: long_above (tokens) and long (prices) go together"}},
		"unknown key": {`
models:
  endpoints:
    a: {driver: openai, base_ulr: "http://x"}
`, []string{`unknown key "base_ulr" (did you mean "base_url"?)`}},
		"a key in the file": {`
models:
  endpoints:
    a: {driver: openai, key: sk-1}
`, []string{`unknown key "key"`}},
		"a budget that cannot be held": {`
models:
  default: anthropic/claude-opus-5-5
  roles: {review: openai/secret-model}
  fallbacks: {anthropic/claude-opus-5-5: [gemini/gemini-x]}
limits: {usd: 3}
`, []string{"limits.usd: is set, but what openai/secret-model costs is not known: set models.prices", "what gemini/gemini-x costs"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.file, nil)
			if err == nil {
				t.Fatal("taken")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("lacks %q:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "word") && strings.Contains(err.Error(), "user:word") {
				t.Error("tells the password")
			}
		})
	}
}

// TestWithoutABudgetNothingIsRefused: usage is then reported without its cost.
func TestWithoutABudgetNothingIsRefused(t *testing.T) {
	if _, err := load(t, "models: {default: openai/secret-model}", nil); err != nil {
		t.Error(err)
	}
}

// TestRolesBesideTheMechanic are no use for serve; run may be told another model.
func TestRolesBesideTheMechanic(t *testing.T) {
	c, err := load(t, "models: {roles: {plan: openai/gpt-5}}\nforges: {github: {token_file: /dev/null}}", map[string]string{"GREENWRIGHT_GITHUB_TOKEN": "t"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ValidateServe(); err == nil || !strings.Contains(err.Error(), "beside which no other model works") {
		t.Errorf("serve: %v", err)
	}
}

// TestOldKeysStillWork is the form of before.
func TestOldKeysStillWork(t *testing.T) {
	c, err := load(t, `
models:
  default: openai/x
  anthropic: {base_url: "https://gw.example.com"}
  openai: {base_url: "http://localhost:8000/v1", api: responses}
  prices: {openai/x: {input: 3, cache_read: 0.3, cache_write: 3.75, output: 15}}
`, map[string]string{"OPENAI_API_KEY": "k", "GREENWRIGHT_OPENAI_API": "chat"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Models.OpenAI.API != "chat" || c.Models.OpenAI.Key != "k" || c.Models.Prices["openai/x"].Output != 15 {
		t.Errorf("%+v", c.Models.OpenAI)
	}
}
