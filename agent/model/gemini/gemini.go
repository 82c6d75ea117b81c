// Package gemini is the driver for the Gemini API's generateContent, over plain
// HTTP.
//
// It sits under agent/model. request.go maps a request, schema.go a tool's
// schema and reply.go collects the stream (all pure); errors.go classifies,
// this file sends. There is no SDK in it: Google's own pulls in its cloud
// libraries for what is one POST here, and the calls' thought signatures and
// the delay of RetryInfo have to be handled by hand in any case.
//
// Invariants: the key travels in a header, never in the URL, where proxies log
// it; the roles alternate and all results of a reply go back in one user turn,
// in the order of its calls; a thought signature goes back in the part that it
// came in, to the model that wrote it; a stream without a finish reason is no
// reply. Protocol: https://ai.google.dev/api/generate-content
package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/jsonstream"
)

// DefaultURL is Google's own service.
const DefaultURL = "https://generativelanguage.googleapis.com/v1beta"

// Config is what an operator sets.
type Config struct {
	// Model is the vendor's id, such as "gemini-2.5-pro".
	Model string
	// APIKey is sent as x-goog-api-key.
	APIKey model.Key
	// BaseURL replaces [DefaultURL] when set; it ends where "/models" begins.
	BaseURL string
	// ThinkingLevel is thinkingConfig.thinkingLevel ("low", "high" …) of the
	// models that have it; empty leaves it to the model.
	ThinkingLevel string
	// Window is how many tokens the model takes; zero is not known.
	Window int
	// Patience limits how long a stream may be silent.
	Patience model.Patience
	// HTTPClient replaces [http.DefaultClient] when set.
	HTTPClient *http.Client
}

// Driver is a [model.Model].
type Driver struct {
	cfg    Config
	url    string
	header http.Header
}

// New makes a driver.
func New(cfg Config) (*Driver, error) {
	if cfg.Model == "" {
		return nil, errors.New("gemini: no model")
	}
	base := cfg.BaseURL
	if base == "" {
		base = DefaultURL
	}
	if u, err := url.Parse(base); err != nil || u.Host == "" {
		return nil, fmt.Errorf("gemini: base URL %q is not absolute", base)
	}
	id := strings.TrimPrefix(cfg.Model, "models/")
	d := &Driver{cfg: cfg, header: http.Header{}}
	d.url = strings.TrimRight(base, "/") + "/models/" + url.PathEscape(id) + ":streamGenerateContent?alt=sse"
	if cfg.APIKey != "" {
		d.header.Set("X-Goog-Api-Key", cfg.APIKey.Reveal())
	}
	return d, nil
}

// Name is "gemini/" and the model.
func (d *Driver) Name() string { return "gemini/" + d.cfg.Model }

// Complete sends the request and collects the stream.
func (d *Driver) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	ctx, dog := d.cfg.Patience.Watch(ctx)
	defer dog.Stop()
	stream, err := jsonstream.Post(ctx, d.cfg.HTTPClient, d.url, d.header, d.request(req))
	if err != nil {
		return model.Response{}, classify(ctx, err)
	}
	defer stream.Close()
	c := collector{provider: d.Name()}
	for !c.guard.Stopped() && stream.Next() {
		dog.Feed()
		if err := c.add(stream.Data()); err != nil {
			return model.Response{}, model.FromTransport(ctx, err)
		}
	}
	if err := stream.Err(); errors.Is(err, jsonstream.ErrTooLarge) {
		c.guard.TooLarge()
	} else if err != nil && !c.guard.Stopped() {
		return model.Response{}, classify(ctx, err)
	}
	if !c.ended() && !c.guard.Stopped() {
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	}
	r := c.response()
	model.CutLast(&r)
	c.guard.Apply(&r, req)
	return model.Seal(r, req, d.Name(), d.cfg.Window)
}
