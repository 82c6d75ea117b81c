// Package price is what models cost and how much they take, as dated data.
//
// It sits under agent/model. prices.json has a line for each price: the model
// as "driver/id", what a million tokens cost in US dollars, the window and the
// longest reply where they are known, the day on which its sources said so, and
// the sources. A price that is announced has a line of its own with the day
// from which it holds.
//
// Invariants: no price is guessed: a model is found by its exact id, or by the
// id and a date behind it, never by a prefix, since gpt-6 and gpt-6.1 cost
// different things; each entry names a source. Operators set other prices in
// models.prices.
//
// To add a model: a line in prices.json with what the vendor's page says.
package price

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

//go:embed prices.json
var data []byte

// Dollars is what a million tokens cost in US dollars.
type Dollars struct {
	Input      float64 `json:"input" yaml:"input"`
	CacheRead  float64 `json:"cache_read" yaml:"cache_read"`
	CacheWrite float64 `json:"cache_write" yaml:"cache_write"`
	Output     float64 `json:"output" yaml:"output"`
}

// micro is how many millionths are one.
const micro = 1e6

// Price is d as it is counted with.
func (d Dollars) Price() model.Price {
	n := func(v float64) int64 { return int64(math.Round(v * micro)) }
	return model.Price{Input: n(d.Input), CacheRead: n(d.CacheRead), CacheWrite: n(d.CacheWrite), Output: n(d.Output)}
}

// dearest is more than any model costs: a price above it is a mistake in the
// unit, such as dollars for a token.
const dearest = 10_000

// Validate names a number that can be no price.
func (d Dollars) Validate() error {
	for _, v := range []float64{d.Input, d.CacheRead, d.CacheWrite, d.Output} {
		if math.IsNaN(v) || v < 0 || v > dearest {
			return fmt.Errorf("%v is no price: want US dollars for a million tokens, between 0 and %d", v, dearest)
		}
	}
	return nil
}

// Entry is one line of the table.
type Entry struct {
	// Model is "driver/id".
	Model string `json:"model"`
	// From is the day (UTC) from which the price holds; empty is always.
	From string `json:"from,omitempty"`
	Dollars
	// LongAbove is the input in tokens above which Long holds for the whole
	// request; zero if the price is the same for all.
	LongAbove int64   `json:"long_above,omitempty"`
	Long      Dollars `json:"long"`
	// Window is how many tokens fit, with the reply; zero is not known.
	Window int `json:"window,omitempty"`
	// MaxOutput is the longest reply in tokens; zero is not known.
	MaxOutput int `json:"max_output,omitempty"`
	// AsOf is the last day on which the sources are known to have said so.
	AsOf    string   `json:"as_of"`
	Sources []string `json:"sources"`
}

// Tariff is the entry's price as it is counted with.
func (e Entry) Tariff() model.Tariff {
	return model.Tariff{Price: e.Price(), LongAbove: e.LongAbove, Long: e.Long.Price()}
}

// validate holds the table to its invariants.
func (e Entry) validate() error {
	var errs []error
	for field, day := range map[string]string{"as_of": e.AsOf, "from": e.From} {
		if _, err := time.Parse(time.DateOnly, day); err != nil && (day != "" || field == "as_of") {
			errs = append(errs, fmt.Errorf("%s is %q, want a day such as 2026-11-30", field, day))
		}
	}
	if driver, id, ok := strings.Cut(e.Model, "/"); !ok || driver == "" || id == "" {
		errs = append(errs, errors.New("the model is not driver/id"))
	}
	if len(e.Sources) == 0 {
		errs = append(errs, errors.New("no source"))
	}
	if (e.LongAbove > 0) != (e.Long != Dollars{}) {
		errs = append(errs, errors.New("long_above and long go together"))
	}
	if e.Input <= 0 || e.Output <= 0 {
		errs = append(errs, errors.New("a hosted model is not free"))
	}
	return errors.Join(append(errs, e.Validate(), e.Long.Validate())...)
}

// Table is all that is known. It is read-only.
type Table struct{ entries []Entry }

// Load reads the table that is built in; its error is a mistake in the data.
func Load() (Table, error) {
	var t Table
	if err := json.Unmarshal(data, &t.entries); err != nil {
		return Table{}, fmt.Errorf("reading prices.json: %w", err)
	}
	var errs []error
	for _, e := range t.entries {
		if err := e.validate(); err != nil {
			errs = append(errs, fmt.Errorf("prices.json: %s: %w", e.Model, err))
		}
	}
	return t, errors.Join(errs...)
}

// Entries are all lines.
func (t Table) Entries() []Entry { return append([]Entry(nil), t.entries...) }

// dated is the date that vendors put behind a model's id, for one snapshot.
var dated = regexp.MustCompile(`-(?:20\d{6}|20\d\d-\d\d-\d\d)$`)

// Find is what holds for "driver/id" at a time. An id with a date behind it has
// the price of the id, if it has no line of its own.
func (t Table) Find(name string, at time.Time) (Entry, bool) {
	if e, ok := t.exact(name, at); ok {
		return e, true
	}
	if short := dated.ReplaceAllString(name, ""); short != name {
		return t.exact(short, at)
	}
	return Entry{}, false
}

// exact is the latest of a model's prices that has begun.
func (t Table) exact(name string, at time.Time) (found Entry, ok bool) {
	today := at.UTC().Format(time.DateOnly)
	for _, e := range t.entries {
		if e.Model == name && e.From <= today && (!ok || e.From >= found.From) {
			found, ok = e, true
		}
	}
	return found, ok
}
