package config

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/price"
)

// Known is what is known of what a model costs and takes.
type Known struct {
	Tariff model.Tariff
	// From says where the price comes from, in words.
	From string
	// Window and MaxOutput are in tokens; zero is not known.
	Window, MaxOutput int
}

// PriceOf is what a model costs: as the operator set it, else as the table has
// it for the vendor's own service, else nothing for a server in one's own
// network. priced is false where none of these holds. The window is known apart
// from the price.
func (m Models) PriceOf(table price.Table, name string, at time.Time) (known Known, priced bool) {
	endpoint, id, _ := strings.Cut(name, "/")
	e, ok := m.Endpoint(endpoint)
	if !ok {
		return Known{}, name == mechanic
	}
	var row price.Entry
	if e.vendors() {
		row, priced = table.Find(e.Driver+"/"+id, at)
		known = Known{Tariff: row.Tariff(), From: "as of " + row.AsOf, Window: row.Window, MaxOutput: row.MaxOutput}
	} else if e.ownNetwork() {
		known, priced = Known{From: "a server of one's own"}, true
	}
	if e.ContextTokens > 0 {
		known.Window = e.ContextTokens
	}
	if e.MaxOutputTokens > 0 {
		known.MaxOutput = e.MaxOutputTokens
	}
	set, ok := m.Prices[name]
	if !ok {
		set, ok = e.Prices[id]
	}
	if ok {
		known.Tariff, known.From = set.Tariff(), "as configured"
	}
	return known, priced || ok
}

// vendors reports whether the endpoint is the vendor's own service, which the
// table's prices are of.
func (e Endpoint) vendors() bool {
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return false
	}
	switch e.Driver {
	case DriverAnthropic:
		return e.BaseURL == "" || u.Hostname() == "api.anthropic.com"
	case DriverOpenAI:
		return e.BaseURL == "" || u.Hostname() == "api.openai.com"
	case DriverGemini:
		return e.BaseURL == "" || u.Hostname() == "generativelanguage.googleapis.com"
	}
	return false
}

// Compatible reports whether the endpoint is somebody else's server that speaks
// a vendor's protocol, or one of one's own.
func (e Endpoint) Compatible() bool { return !e.vendors() }

// ownNetwork reports whether the server is on this machine or in a private
// network, where nobody sends a bill for tokens.
func (e Endpoint) ownNetwork() bool {
	if e.BaseURL == "" {
		return e.Driver == DriverOllama // on this machine
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	for _, suffix := range []string{".local", ".internal", ".lan", ".localhost", ".home.arpa"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return !strings.Contains(host, ".") // localhost, or a name of the own network
}
