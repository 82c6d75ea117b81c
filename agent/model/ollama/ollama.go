// Package ollama is the driver for Ollama's own API, /api/chat.
//
// It sits under agent/model. request.go maps a request and reply.go collects
// the stream (both pure), this file sends and classifies errors. Ollama also
// speaks OpenAI's protocol, but there it ignores the window that is asked for
// and silently drops what does not fit; here the window is part of every
// request, and a request of which something was dropped is an overflow.
//
// Invariants: num_ctx is always sent; a stream without its last line is no
// reply; a prompt that the server counts as far smaller than it is, or as just
// as large as the window, is an error with the numbers, never a reply.
// Protocol: https://github.com/ollama/ollama/blob/main/docs/api.md
package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/jsonstream"
)

const (
	// DefaultURL is where Ollama listens when nothing else is said.
	DefaultURL = "http://127.0.0.1:11434"
	// DefaultWindow is the window that is asked for, in tokens: Ollama's own
	// default of 4,096 holds no task, and more than this does not fit the
	// memory of many machines.
	DefaultWindow = 32_768
)

// Config is what an operator sets.
type Config struct {
	// Model is the name under which it was pulled, such as "qwen3-coder:30b".
	Model string
	// BaseURL replaces [DefaultURL] when set.
	BaseURL string
	// APIKey is sent as a bearer token when set: Ollama itself wants none, its
	// cloud and proxies ahead of it do.
	APIKey model.Key
	// Window is num_ctx in tokens; zero is [DefaultWindow].
	Window int
	// Think is "true", "false", or a level ("low", "medium", "high") for the
	// models that have them; empty leaves it to the model.
	Think string
	// KeepAlive is how long the model stays in memory after a reply; zero
	// leaves it to the server.
	KeepAlive time.Duration
	// TextCalls are the forms in which calls are looked for in the text.
	TextCalls []model.CallFormat
	// Patience limits how long a stream may be silent. A large model loads for
	// minutes before the first line.
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
		return nil, errors.New("ollama: no model")
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultURL
	}
	if u, err := url.Parse(cfg.BaseURL); err != nil || u.Host == "" {
		return nil, fmt.Errorf("ollama: base URL %q is not absolute", cfg.BaseURL)
	}
	switch cfg.Think {
	case "", "true", "false", "low", "medium", "high":
	default:
		return nil, fmt.Errorf("ollama: think is %q, want true, false, low, medium or high", cfg.Think)
	}
	if err := (model.Capabilities{TextCalls: cfg.TextCalls}).Validate(); err != nil {
		return nil, fmt.Errorf("ollama: %w", err)
	}
	if cfg.Window <= 0 {
		cfg.Window = DefaultWindow
	}
	d := &Driver{cfg: cfg, url: strings.TrimRight(cfg.BaseURL, "/") + "/api/chat", header: http.Header{}}
	if cfg.APIKey != "" {
		d.header.Set("Authorization", "Bearer "+cfg.APIKey.Reveal())
	}
	return d, nil
}

// Name is "ollama/" and the model.
func (d *Driver) Name() string { return "ollama/" + d.cfg.Model }

// Complete sends the request and collects the stream.
func (d *Driver) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	ctx, dog := d.cfg.Patience.Watch(ctx)
	defer dog.Stop()
	stream, err := jsonstream.Post(ctx, d.cfg.HTTPClient, d.url, d.header, d.request(req))
	if err != nil {
		return model.Response{}, classify(ctx, err)
	}
	defer stream.Close()
	var c collector
	for !c.done && !c.guard.Stopped() && stream.Next() {
		dog.Feed()
		if err := c.add(stream.Data()); err != nil {
			return model.Response{}, model.FromTransport(ctx, err)
		}
	}
	if err := stream.Err(); errors.Is(err, jsonstream.ErrTooLarge) {
		c.guard.TooLarge()
	} else if err != nil && !c.done && !c.guard.Stopped() {
		return model.Response{}, classify(ctx, err)
	}
	if !c.done && !c.guard.Stopped() {
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	}
	return d.finish(&c, req)
}

// finish turns what was collected into the reply, unless the server left out a
// part of the request.
func (d *Driver) finish(c *collector, req model.Request) (model.Response, error) {
	if err := silentCut(c.usage.Input, model.EstimateRequest(req), d.cfg.Window); err != nil {
		return model.Response{}, err
	}
	r := c.response(d.Name())
	model.LimitUnsaid(&r, req)
	d.findCalls(&r, req)
	model.CutLast(&r)
	c.guard.Apply(&r, req)
	return model.Seal(r, req, d.Name(), d.cfg.Window)
}

// smallest is the least estimate, in tokens, that says something: Ollama's
// smallest window is 2,048, below that nothing is dropped.
const smallest = 2_048

// silentCut is an overflow if the server took in less than it was sent: what it
// counted is the window or one less, or far less than our estimate. A count of
// zero was not told: the prompt was in the server's cache.
func silentCut(counted int64, estimate, window int) error {
	if counted <= 0 {
		return nil
	}
	full := counted >= int64(window)-1
	half := estimate > smallest && counted*2 < int64(estimate)
	over := estimate > window && counted*4 < int64(estimate)*3
	if !full && !half && !over {
		return nil
	}
	limit := window
	if !full {
		limit = int(min(counted+1, int64(window)))
	}
	return &model.Error{Class: model.ClassOverflow, Status: http.StatusOK, Limit: limit, Asked: max(estimate, int(counted)),
		Message: fmt.Sprintf("the server dropped a part of the request: it counted %d tokens of about %d, with a window of %d", counted, estimate, window)}
}

// classify maps an answer that is no success, or none.
func classify(ctx context.Context, err error) error {
	answer, ok := errors.AsType[*jsonstream.StatusError](err)
	if !ok {
		return model.FromTransport(ctx, err)
	}
	return model.FromStatus(answer.Status, errorText(answer.Body), model.RetryAfter(answer.Header, time.Now()), nil)
}

// maxErrorText keeps a proxy's page out of the journal.
const maxErrorText = 500

func errorText(body []byte) string {
	var told struct {
		Error string `json:"error"`
	}
	text := string(body)
	if json.Unmarshal(body, &told) == nil && told.Error != "" {
		text = told.Error
	}
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "")
	}
	return text
}
