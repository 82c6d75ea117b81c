// Package anthropic is the driver for the Anthropic Messages API and servers
// that speak it, over the official SDK.
//
// It sits under agent/model. request.go and messages.go map a request
// (pure), reply.go collects the stream's events (pure), this file
// sends and classifies errors.
//
// Invariants: the SDK's own retries and its reading of the environment are
// off; every tool use is answered in the next user message, results before
// text; thinking blocks go back byte for byte, in place, to the model that
// wrote them and to no other; a call that was being written when the reply was
// cut is marked, as is one whose block never stopped; a stream without
// message_stop is no reply; what shapes the reply (effort, limit) is the same
// for all requests of a driver, so that the cached prefix stays valid. Protocol: https://docs.anthropic.com/en/api/messages-streaming
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/greenwright/greenwright/agent/model"
)

// vendor begins the driver's name.
const vendor = "anthropic"

// defaultMaxTokens is the reply's limit when the request names none: the API
// requires one, and 16,000 is within what every current model allows.
const defaultMaxTokens = 16_000

// Config is what an operator sets.
type Config struct {
	// Model is the vendor's id, such as "claude-sonnet-4-5".
	Model string
	// APIKey is sent as x-api-key.
	APIKey model.Key
	// BaseURL replaces https://api.anthropic.com/ when set.
	BaseURL string
	// Effort is the vendor's output_config.effort ("low" … "max"); empty leaves
	// it to the vendor.
	Effort string
	// Window is how many tokens the model takes; a reply to more than that is
	// an overflow. Zero is not known.
	Window int
	// Patience limits how long a stream may be silent.
	Patience model.Patience
	// HTTPClient replaces [http.DefaultClient] when set.
	HTTPClient *http.Client
}

// Driver is a [model.Model].
type Driver struct {
	cfg      Config
	messages sdk.MessageService
}

// New makes a driver; a Config without a model is an error.
func New(cfg Config) (*Driver, error) {
	if cfg.Model == "" {
		return nil, errors.New("anthropic: no model")
	}
	base := cfg.BaseURL
	if base == "" {
		base = "https://api.anthropic.com/"
	}
	opts := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithAPIKey(cfg.APIKey.Reveal()),
		option.WithMaxRetries(0), // agent/model retries
	}
	if cfg.HTTPClient != nil {
		opts = append(opts, option.WithHTTPClient(cfg.HTTPClient))
	}
	return &Driver{cfg: cfg, messages: sdk.NewMessageService(opts...)}, nil
}

// Name is "anthropic/" and the model.
func (d *Driver) Name() string { return vendor + "/" + d.cfg.Model }

// Complete sends the request and collects the stream.
func (d *Driver) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	ctx, dog := d.cfg.Patience.Watch(ctx)
	defer dog.Stop()
	body, err := d.body(req)
	if err != nil {
		return model.Response{}, &model.Error{Class: model.ClassFatal, Message: err.Error(), Err: err}
	}
	stream := d.messages.NewStreaming(ctx, sdk.MessageNewParams{}, option.WithRequestBody("application/json", body))
	defer stream.Close()
	c := collector{provider: d.Name()}
	for !c.guard.Stopped() && stream.Next() {
		dog.Feed()
		c.add(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return model.Response{}, classify(ctx, err)
	}
	if !c.stopped && !c.guard.Stopped() {
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	}
	r := c.response()
	c.guard.Apply(&r, req)
	return model.Seal(r, req, d.Name(), d.cfg.Window)
}

// classify maps the SDK's error. An error event inside a stream comes with
// status 200, so its type decides.
func classify(ctx context.Context, err error) error {
	api, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return model.FromTransport(ctx, err)
	}
	status := api.StatusCode
	if status == http.StatusOK {
		status = statusOf(api.Type())
	}
	var wait time.Duration
	if api.Response != nil {
		wait = model.RetryAfter(api.Response.Header, time.Now())
	}
	message := api.Message
	if message == "" && api.RawJSON() != "" {
		message = http.StatusText(status) // a proxy's page; without any body there is no text either
	}
	return model.FromStatus(status, message, wait, nil)
}

// statusOf is the status that an error of the type has when it comes alone:
// https://docs.anthropic.com/en/api/errors
func statusOf(kind sdk.ErrorType) int {
	switch string(kind) {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "overloaded_error":
		return 529
	}
	return http.StatusInternalServerError
}
