// Package openai is the driver for OpenAI's two APIs, Responses and Chat
// Completions, and for the many servers that speak them (Ollama, vLLM,
// llama.cpp and others), over the official SDK.
//
// It sits under agent/model. responses*.go with items.go and chat*.go hold one protocol
// each: requests are mapped and streams collected by pure code; texttools.go
// is for models without tools, errors.go classifies, this file chooses and
// sends. What servers differ in is a [model.Capabilities].
//
// Invariants: the SDK's own retries and its reading of the environment are
// off; every call is answered by an item or message of its own; reasoning
// items go back as they came, to the model that wrote them, only right before
// what followed them; a call that was being written when the reply was cut is
// marked; calls are read from text only in the forms switched on for the
// endpoint; a stream without its end is no reply. Protocols: https://platform.openai.com/docs/api-reference
package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/greenwright/greenwright/agent/model"
)

// API is which of the two protocols is spoken.
type API string

// The closed set of APIs. Auto is Responses for OpenAI itself and Chat for
// every other base URL.
const (
	APIAuto      API = "auto"
	APIResponses API = "responses"
	APIChat      API = "chat"
)

const (
	vendorURL  = "https://api.openai.com/v1/"
	vendorHost = "api.openai.com"
)

// Config is what an operator sets.
type Config struct {
	// Model is the server's id for the model.
	Model string
	// APIKey is sent as a bearer token; servers without keys ignore it.
	APIKey model.Key
	// BaseURL replaces OpenAI's when set; it ends where "/chat/completions"
	// begins, such as http://localhost:11434/v1.
	BaseURL string
	API     API
	// Capabilities says what the server can do where that differs from what is
	// assumed of it: see [Defaults].
	Capabilities model.Capabilities
	// Window is how many tokens the model takes; a reply to more than that is
	// an overflow. Zero is not known.
	Window int
	// Effort is the reasoning effort ("low" …); empty leaves it to the server.
	Effort string
	// Patience limits how long a stream may be silent.
	Patience model.Patience
	// HTTPClient replaces [http.DefaultClient] when set.
	HTTPClient *http.Client
}

// Driver is a [model.Model].
type Driver struct {
	cfg       Config
	can       model.Capabilities
	official  bool // OpenAI itself
	chat      sdk.ChatCompletionService
	responses responses.ResponseService
}

// New makes a driver and settles [APIAuto].
func New(cfg Config) (*Driver, error) {
	if cfg.Model == "" {
		return nil, errors.New("openai: no model")
	}
	base := cfg.BaseURL
	if base == "" {
		base = vendorURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("openai: base URL %q is not absolute", base)
	}
	d := &Driver{cfg: cfg, official: u.Hostname() == vendorHost}
	switch cfg.API {
	case APIResponses, APIChat:
	case APIAuto, "":
		d.cfg.API = APIChat
		if d.official {
			d.cfg.API = APIResponses
		}
	default:
		return nil, fmt.Errorf("openai: unknown API %q", cfg.API)
	}
	if err := cfg.Capabilities.Validate(); err != nil {
		return nil, fmt.Errorf("openai: capabilities: %w", err)
	}
	d.can = cfg.Capabilities.Or(Defaults(d.official))
	opts := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithAPIKey(cfg.APIKey.Reveal()),
		option.WithMaxRetries(0), // agent/model retries
	}
	if !d.official {
		opts = append(opts, option.WithMiddleware(dropNullErrors))
	}
	if cfg.HTTPClient != nil {
		opts = append(opts, option.WithHTTPClient(cfg.HTTPClient))
	}
	d.chat, d.responses = sdk.NewChatCompletionService(opts...), responses.NewResponseService(opts...)
	return d, nil
}

// Defaults is what is assumed of an endpoint: OpenAI itself takes
// max_completion_tokens and returns encrypted reasoning, other servers take
// max_tokens. All are assumed to take tools and stream_options.
func Defaults(official bool) model.Capabilities {
	c := model.Capabilities{
		Tools:              model.Flag(true),
		StreamOptions:      model.Flag(true),
		MaxTokensField:     model.FieldMaxTokens,
		SystemRole:         model.RoleNameSystem,
		EncryptedReasoning: model.Flag(official),
		StrictAdjacency:    model.Flag(false),
	}
	if official {
		c.MaxTokensField = model.FieldMaxCompletionTokens
	}
	return c
}

// Name is "openai/" and the model.
func (d *Driver) Name() string { return "openai/" + d.cfg.Model }

// Complete sends the request by the chosen API and collects the stream.
func (d *Driver) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	ctx, dog := d.cfg.Patience.Watch(ctx)
	defer dog.Stop()
	if d.cfg.API == APIResponses {
		return d.completeResponses(ctx, dog, req)
	}
	return d.completeChat(ctx, dog, req)
}
