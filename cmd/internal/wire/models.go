package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/anthropic"
	"github.com/greenwright/greenwright/agent/model/gemini"
	"github.com/greenwright/greenwright/agent/model/limit"
	"github.com/greenwright/greenwright/agent/model/mechanic"
	"github.com/greenwright/greenwright/agent/model/ollama"
	"github.com/greenwright/greenwright/agent/model/openai"
	"github.com/greenwright/greenwright/agent/model/price"
	"github.com/greenwright/greenwright/agent/model/router"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/vcs"
)

// meter counts requests to models.
type meter interface {
	replied(driver string, r model.Response)
	failed(driver, class string)
}

// models resolves "endpoint/model". All runs of the process share one: it holds
// what is known of the services' limits and of what servers can do.
type models struct {
	cfg    config.Models
	budget bool // money is limited
	table  price.Table
	limits *limit.Limits
	meter  meter // may be nil
	log    *slog.Logger

	mu      sync.Mutex
	learned map[string]model.Capabilities // under mu: what a probe found, by name
	windows map[string]int                // under mu: likewise, in tokens
}

func newModels(cfg config.Config, m meter, log *slog.Logger) (*models, error) {
	table, err := price.Load()
	if err != nil {
		return nil, err
	}
	return &models{
		cfg: cfg.Models, budget: cfg.Limits.USD > 0, table: table, limits: limit.New(limit.Config{}), meter: m, log: log,
		learned: map[string]model.Capabilities{}, windows: map[string]int{},
	}, nil
}

// Model makes a model that retries, and that falls back to others as
// configured. A fallback that cannot be used is left out, with a warning.
func (m *models) Model(name string, tell runner.Telling) (runner.Choice, error) {
	if name == runner.Mechanic {
		return runner.Choice{Model: mechanic.New()}, nil
	}
	fallbacks := m.cfg.Fallbacks[name]
	choice, err := m.one(name, tell, len(fallbacks) > 0)
	if err != nil || len(fallbacks) == 0 {
		return choice, err
	}
	var spare []model.Model
	for i, other := range fallbacks {
		c, err := m.one(other, tell, i < len(fallbacks)-1)
		if err != nil {
			m.log.Warn("fallback cannot be used, greenwright doctor helps", "model", name, "fallback", other, "error", err)
			continue
		}
		spare = append(spare, c.Model)
		choice.Join(c)
	}
	choice.Model = router.New(router.Options{Switched: func(ctx context.Context, s router.Switch) {
		if tell.Switched != nil {
			tell.Switched(ctx, s.From, s.To, s.Cause)
		}
	}}, choice.Model, spare...)
	return choice, nil
}

// one makes a single model: driver, name, price, count, shared limits, retries,
// from the inside out.
func (m *models) one(name string, tell runner.Telling, spare bool) (runner.Choice, error) {
	endpoint, id, ok := strings.Cut(name, "/")
	if !ok || id == "" {
		return runner.Choice{}, fmt.Errorf("%w: %q: want endpoint/model, such as anthropic/claude-sonnet-5-5", vcs.ErrInvalid, name)
	}
	if err := m.cfg.Known(endpoint); err != nil {
		return runner.Choice{}, fmt.Errorf("%w: %w", vcs.ErrInvalid, err)
	}
	e, ok := m.cfg.Endpoint(endpoint)
	if !ok {
		return runner.Choice{}, fmt.Errorf("%w: the only model of %s is %s", vcs.ErrInvalid, endpoint, runner.Mechanic)
	}
	known, priced := m.cfg.PriceOf(m.table, name, time.Now())
	if !priced && m.budget {
		return runner.Choice{}, fmt.Errorf("%w: what %s costs is not known, and limits.usd is set: %s", vcs.ErrInvalid, name, config.PriceRemedy(name))
	}
	key := limit.Key(e.Key, e.Driver+" "+e.BaseURL, id)
	can := m.capabilities(name, e)
	driver, err := m.open(endpoint, id, e, can, m.limits.Transport(key, nil))
	if err != nil {
		return runner.Choice{}, err
	}
	cfg := model.RetryConfig{BeforeRetry: tell.Waiting}
	if spare { // another can be asked at once
		cfg.GiveUp = func(err error) bool { return errors.Is(err, limit.ErrOpen) }
	}
	counted := &metered{Priced: model.WithPrice(model.WithName(driver, name), known.Tariff), driver: e.Driver, meter: m.meter}
	choice := runner.Choice{
		Model: model.WithRetry(m.limits.Wrap(key, counted), cfg), Window: m.window(name, e, known), MaxOutput: known.MaxOutput,
		Tariff: known.Tariff, Price: priceWords(known), Unpriced: !priced,
		Patches:   e.Driver == config.DriverOpenAI && !e.Compatible(), // OpenAI's own are trained on it
		TextEdits: len(can.TextCalls) > 0 || can.Tools != nil && !*can.Tools,
	}
	return choice, nil
}

// open makes the driver.
func (m *models) open(endpoint, id string, e config.Endpoint, can model.Capabilities, transport http.RoundTripper) (model.Model, error) {
	client := &http.Client{Transport: transport}
	if err := keyed(endpoint, e); err != nil {
		return nil, err
	}
	switch e.Driver {
	case config.DriverAnthropic:
		return opened(anthropic.New(anthropic.Config{Model: id, APIKey: e.Key, BaseURL: e.BaseURL, Window: e.ContextTokens, HTTPClient: client}))
	case config.DriverOpenAI:
		return opened(openai.New(openai.Config{Model: id, APIKey: e.Key, BaseURL: e.BaseURL, API: openai.API(e.API), Capabilities: can, Window: e.ContextTokens, HTTPClient: client}))
	case config.DriverGemini:
		return opened(gemini.New(gemini.Config{Model: id, APIKey: e.Key, BaseURL: e.BaseURL, Window: e.ContextTokens, HTTPClient: client}))
	case config.DriverOllama:
		return opened(ollama.New(ollama.Config{Model: id, APIKey: e.Key, BaseURL: e.BaseURL, Window: e.ContextTokens, TextCalls: can.TextCalls, HTTPClient: client}))
	}
	return nil, fmt.Errorf("%w: there is no model driver %q", vcs.ErrInvalid, e.Driver)
}

// opened keeps a nil driver from becoming a model.
func opened[M model.Model](m M, err error) (model.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// keyed names the key that a vendor's own service needs; servers of others may
// do without.
func keyed(endpoint string, e config.Endpoint) error {
	if e.Key != "" || e.Compatible() {
		return nil
	}
	switch endpoint {
	case config.DriverOpenAI:
		return errors.New("neither OPENAI_API_KEY nor OPENAI_BASE_URL is set")
	case config.DriverAnthropic, config.DriverGemini:
		return fmt.Errorf("%s_API_KEY is not set", strings.ToUpper(endpoint))
	}
	return fmt.Errorf("%s is not set, and models.endpoints.%s.key_file neither", config.KeyVar(endpoint), endpoint)
}

// capabilities are the operator's, filled up with what a probe found.
func (m *models) capabilities(name string, e config.Endpoint) model.Capabilities {
	m.mu.Lock()
	defer m.mu.Unlock()
	return e.Capabilities.Or(m.learned[name])
}

// window is the operator's, else what is known, else what a probe was told;
// Ollama takes what it is asked for.
func (m *models) window(name string, e config.Endpoint, known config.Known) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case known.Window > 0:
		return known.Window
	case m.windows[name] > 0:
		return m.windows[name]
	case e.Driver == config.DriverOllama:
		return ollama.DefaultWindow
	}
	return 0
}

// priceWords is a price for people; empty for what costs nothing.
func priceWords(k config.Known) string {
	if k.Tariff == (model.Tariff{}) {
		return ""
	}
	const micro = 1e6
	out := fmt.Sprintf("$%g in, $%g from cache, $%g out for a million tokens", float64(k.Tariff.Input)/micro, float64(k.Tariff.CacheRead)/micro, float64(k.Tariff.Output)/micro)
	if k.Tariff.LongAbove > 0 {
		out += fmt.Sprintf(" (above %d in: $%g, $%g)", k.Tariff.LongAbove, float64(k.Tariff.Long.Input)/micro, float64(k.Tariff.Long.Output)/micro)
	}
	return out + ", " + k.From
}

// metered counts what a model is asked.
type metered struct {
	*model.Priced
	driver string
	meter  meter
}

// Complete implements model.Model.
func (c *metered) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	res, err := c.Priced.Complete(ctx, req)
	switch e, ok := errors.AsType[*model.Error](err); {
	case c.meter == nil:
	case err == nil:
		c.meter.replied(c.driver, res)
	case ok:
		c.meter.failed(c.driver, string(e.Class))
	default:
		c.meter.failed(c.driver, "canceled")
	}
	return res, err
}
