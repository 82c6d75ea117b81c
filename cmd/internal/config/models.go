package config

import (
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/price"
)

// mechanic is the model that needs no server and no key.
const mechanic = "mechanic/auto"

// The drivers of language models; each is an endpoint of that name, too.
const (
	DriverAnthropic = "anthropic"
	DriverOpenAI    = "openai"
	DriverGemini    = "gemini"
	DriverOllama    = "ollama"
)

// drivers are those of language models.
func drivers() []string {
	return []string{DriverAnthropic, DriverGemini, DriverOllama, DriverOpenAI}
}

// Models says which models may work, and where they are.
type Models struct {
	// Default is "endpoint/model"; mechanic/auto works without any key.
	Default string `yaml:"default" env:"GREENWRIGHT_MODEL"`
	// Roles are other models for a part of the work.
	Roles Roles `yaml:"roles"`
	// Fallbacks are asked in order when the model that is the key cannot answer.
	Fallbacks map[string][]string `yaml:"fallbacks"`
	// Probe lets serve ask compatible servers, once at its start, what they can
	// do, where the configuration does not say.
	Probe bool `yaml:"probe" env:"GREENWRIGHT_MODEL_PROBE"`

	Anthropic Anthropic `yaml:"anthropic"`
	OpenAI    OpenAI    `yaml:"openai"`
	Gemini    Gemini    `yaml:"gemini"`
	Ollama    Ollama    `yaml:"ollama"`
	// Endpoints are further servers, by a name of the operator's.
	Endpoints map[string]*Endpoint `yaml:"endpoints" env:"-"`

	// Prices by "endpoint/model"; they take the place of those built in.
	Prices map[string]Price `yaml:"prices"`
}

// Roles are "endpoint/model" for a part of the work; an empty one is Default,
// except that nobody reviews without Review.
type Roles struct {
	Plan      string `yaml:"plan"`      // until something is changed
	Edit      string `yaml:"edit"`      // all other steps
	Summarise string `yaml:"summarise"` // a transcript that grew too long
	Review    string `yaml:"review"`    // a second look at a finished change
}

// Anthropic is the Messages API, of Anthropic or of a gateway.
type Anthropic struct {
	BaseURL string    `yaml:"base_url" env:"ANTHROPIC_BASE_URL"`
	KeyFile string    `yaml:"key_file"`
	Key     model.Key `yaml:"-" env:"ANTHROPIC_API_KEY"`
}

// OpenAI is OpenAI, or any server that speaks one of its protocols.
type OpenAI struct {
	BaseURL string `yaml:"base_url" env:"OPENAI_BASE_URL"`
	// API is auto, responses or chat.
	API     string    `yaml:"api" env:"GREENWRIGHT_OPENAI_API"`
	KeyFile string    `yaml:"key_file"`
	Key     model.Key `yaml:"-" env:"OPENAI_API_KEY"`
}

// Gemini is the Gemini API.
type Gemini struct {
	BaseURL string    `yaml:"base_url" env:"GEMINI_BASE_URL"`
	KeyFile string    `yaml:"key_file"`
	Key     model.Key `yaml:"-" env:"GEMINI_API_KEY"`
}

// Ollama is an Ollama server by its own API; without a base URL the one on this
// machine.
type Ollama struct {
	BaseURL string    `yaml:"base_url" env:"OLLAMA_BASE_URL"`
	KeyFile string    `yaml:"key_file"`
	Key     model.Key `yaml:"-" env:"OLLAMA_API_KEY"`
	// ContextTokens is the window that is asked for.
	ContextTokens int `yaml:"context_tokens"`
}

// Endpoint is a server that models are asked at.
type Endpoint struct {
	// Driver is how it is spoken to: anthropic, openai, gemini or ollama.
	Driver  string `yaml:"driver"`
	BaseURL string `yaml:"base_url"`
	// API is auto, responses or chat, for the driver openai.
	API     string    `yaml:"api"`
	KeyFile string    `yaml:"key_file"`
	Key     model.Key `yaml:"-"`
	// ContextTokens and MaxOutputTokens are what its models take; 0 is what is
	// known of them.
	ContextTokens   int `yaml:"context_tokens"`
	MaxOutputTokens int `yaml:"max_output_tokens"`
	// Capabilities say what the server can do, for the drivers openai and
	// ollama (text_calls only).
	Capabilities model.Capabilities `yaml:"capabilities"`
	// Prices by the model's id.
	Prices map[string]Price `yaml:"prices"`
}

// Price is what a million tokens cost, in US dollars.
type Price struct {
	price.Dollars `yaml:",inline"`
	// LongAbove is the input in tokens above which Long holds for the whole
	// request.
	LongAbove int64         `yaml:"long_above"`
	Long      price.Dollars `yaml:"long"`
}

// Tariff is the price as it is counted with.
func (p Price) Tariff() model.Tariff {
	return model.Tariff{Price: p.Price(), LongAbove: p.LongAbove, Long: p.Long.Price()}
}

// Endpoint is the one of a name: a driver's own, or one of Endpoints.
func (m Models) Endpoint(name string) (Endpoint, bool) {
	switch name {
	case DriverAnthropic:
		return Endpoint{Driver: name, BaseURL: m.Anthropic.BaseURL, KeyFile: m.Anthropic.KeyFile, Key: m.Anthropic.Key}, true
	case DriverOpenAI:
		return Endpoint{Driver: name, BaseURL: m.OpenAI.BaseURL, API: m.OpenAI.API, KeyFile: m.OpenAI.KeyFile, Key: m.OpenAI.Key}, true
	case DriverGemini:
		return Endpoint{Driver: name, BaseURL: m.Gemini.BaseURL, KeyFile: m.Gemini.KeyFile, Key: m.Gemini.Key}, true
	case DriverOllama:
		return Endpoint{Driver: name, BaseURL: m.Ollama.BaseURL, KeyFile: m.Ollama.KeyFile, Key: m.Ollama.Key, ContextTokens: m.Ollama.ContextTokens}, true
	}
	if e := m.Endpoints[name]; e != nil {
		return *e, true
	}
	return Endpoint{}, false
}

// Names are what stands ahead of the slash in a model's name.
func (m Models) Names() []string {
	names := append(drivers(), "mechanic")
	for name := range m.Endpoints {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Keys are all credentials.
func (m Models) Keys() []model.Key {
	keys := []model.Key{m.Anthropic.Key, m.OpenAI.Key, m.Gemini.Key, m.Ollama.Key}
	for _, e := range m.Endpoints {
		if e != nil {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// Configured are the language models that the configuration names, each once:
// those that work, then what they fall back to.
func (m Models) Configured() []string {
	var out []string
	add := func(names ...string) {
		for _, n := range names {
			if n != "" && n != mechanic && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	add(m.Default, m.Roles.Plan, m.Roles.Edit, m.Roles.Summarise, m.Roles.Review)
	for _, n := range slices.Clone(out) {
		add(m.Fallbacks[n]...)
	}
	return out
}

// KeyVar is the variable that holds the key of one of Endpoints.
func KeyVar(endpoint string) string {
	return "GREENWRIGHT_MODEL_KEY_" + strings.ToUpper(strings.ReplaceAll(endpoint, "-", "_"))
}
