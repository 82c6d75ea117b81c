package config

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model/price"
	"github.com/greenwright/greenwright/jobs/command"
)

func (m Models) validate(f *faults) {
	m.validateRef(f, "models.default", m.Default)
	roles := map[string]string{"plan": m.Roles.Plan, "edit": m.Roles.Edit, "summarise": m.Roles.Summarise, "review": m.Roles.Review}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		if name := roles[role]; name != "" {
			m.validateLanguage(f, "models.roles."+role, name)
		}
	}
	m.validateFallbacks(f)
	validateAPI(f, "models.openai.api", m.OpenAI.API)
	for _, name := range drivers() {
		e, _ := m.Endpoint(name)
		validateURL(f, "models."+name+".base_url", e.BaseURL)
	}
	if m.Ollama.ContextTokens < 0 {
		f.add("models.ollama.context_tokens: must not be negative")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Endpoints)) {
		m.Endpoints[name].validate(f, name)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Prices)) {
		m.validateRef(f, "models.prices", name)
		m.Prices[name].validate(f, "models.prices: "+name)
	}
}

// validateRef checks a model's name.
func (m Models) validateRef(f *faults, key, ref string) {
	endpoint, id, ok := strings.Cut(ref, "/")
	if !ok || endpoint == "" || id == "" {
		f.add("%s: %q: want endpoint/model, such as anthropic/claude-sonnet-5-5, or %s", key, ref, mechanic)
		return
	}
	if err := m.Known(endpoint); err != nil {
		f.add("%s: %q: %w", key, ref, err)
	}
}

// Known is an error, with the nearest name, unless there is such an endpoint.
func (m Models) Known(endpoint string) error {
	if slices.Contains(m.Names(), endpoint) {
		return nil
	}
	hint := ""
	if n := command.Nearest(endpoint, m.Names()); n != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", n)
	}
	return fmt.Errorf("there is no driver or endpoint %q%s: there are %s; further ones go under models.endpoints", endpoint, hint, strings.Join(m.Names(), ", "))
}

func (m Models) validateLanguage(f *faults, key, ref string) {
	if ref == mechanic {
		f.add("%s: %s is no language model: leave it out", key, mechanic)
		return
	}
	m.validateRef(f, key, ref)
}

func (m Models) validateFallbacks(f *faults) {
	for _, from := range slices.Sorted(maps.Keys(m.Fallbacks)) {
		m.validateLanguage(f, "models.fallbacks", from)
		seen := map[string]bool{from: true}
		for _, to := range m.Fallbacks[from] {
			m.validateLanguage(f, "models.fallbacks: "+from, to)
			if seen[to] {
				f.add("models.fallbacks: %s: %s is there already: name other models", from, to)
			}
			seen[to] = true
		}
	}
}

func validateAPI(f *faults, key, api string) {
	if !slices.Contains([]string{"auto", "responses", "chat"}, api) {
		f.add("%s: %q: want auto, responses or chat", key, api)
	}
}

func validateURL(f *faults, key, base string) {
	if u, err := url.Parse(base); base != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		f.add("%s: %q: want http(s)://host/path", key, base)
	} else if err == nil && u.User != nil {
		f.add("%s: holds a password: put it into key_file", key)
	}
}

// endpointName keeps a name apart from the model's id, and usable in the name
// of an environment variable.
var endpointName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func (e *Endpoint) validate(f *faults, name string) {
	key := "models.endpoints." + name
	switch {
	case !endpointName.MatchString(name):
		f.add("%s: want a name of small letters, digits and dashes", key)
	case slices.Contains(append(drivers(), "mechanic"), name):
		f.add("%s: is a driver's own name: set models.%s, or give it another name", key, name)
	}
	if e == nil {
		f.add("%s: is empty: set driver and base_url", key)
		return
	}
	if !slices.Contains(drivers(), e.Driver) {
		hint := ""
		if n := command.Nearest(e.Driver, drivers()); n != "" {
			hint = fmt.Sprintf(" (did you mean %q?)", n)
		}
		f.add("%s.driver: %q%s: want one of %s", key, e.Driver, hint, strings.Join(drivers(), ", "))
	}
	validateURL(f, key+".base_url", e.BaseURL)
	switch {
	case e.API != "" && e.Driver != DriverOpenAI:
		f.add("%s.api: is for the driver openai only: leave it out", key)
	case e.API != "":
		validateAPI(f, key+".api", e.API)
	}
	for field, v := range map[string]int{"context_tokens": e.ContextTokens, "max_output_tokens": e.MaxOutputTokens} {
		if v < 0 {
			f.add("%s.%s: must not be negative", key, field)
		}
	}
	if err := e.Capabilities.Validate(); err != nil {
		f.add("%s.capabilities: %s", key, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	for _, id := range slices.Sorted(maps.Keys(e.Prices)) {
		e.Prices[id].validate(f, key+".prices: "+id)
	}
}

func (p Price) validate(f *faults, key string) {
	for _, d := range []price.Dollars{p.Dollars, p.Long} {
		if err := d.Validate(); err != nil {
			f.add("%s: %w", key, err)
		}
	}
	if p.LongAbove < 0 || p.LongAbove == 0 && p.Long != (price.Dollars{}) || p.LongAbove > 0 && p.Long == (price.Dollars{}) {
		f.add("%s: long_above (tokens) and long (prices) go together", key)
	}
}

// validateBudget refuses a limit on money that could not be held, because it is
// not known what a model costs.
func (c Config) validateBudget(f *faults) {
	if c.Limits.USD <= 0 {
		return
	}
	table, err := price.Load()
	if err != nil {
		f.add("%w", err)
		return
	}
	for _, name := range c.Models.Configured() {
		if _, known := c.Models.PriceOf(table, name, time.Now()); !known {
			f.add("limits.usd: is set, but what %s costs is not known: %s", name, PriceRemedy(name))
		}
	}
}

// PriceRemedy says how the price of a model is set.
func PriceRemedy(name string) string {
	return fmt.Sprintf("set models.prices, such as {%s: {input: 3, cache_read: 0.3, cache_write: 3.75, output: 15}} in US dollars for a million tokens, or set limits.usd to 0 and limit tokens instead", name)
}
