// Package openai is the driver for OpenAI's two APIs, Responses and Chat
// Completions, and for the many servers that speak them (Ollama, vLLM,
// llama.cpp and others), over the official SDK.
//
// It sits under agent/model. responses*.go and chat*.go hold one protocol
// each: requests are mapped and streams collected by pure code, this file
// chooses, sends and classifies errors.
//
// Invariants: the SDK's own retries and its reading of the environment are
// off; every call is answered by an item or message of its own; reasoning
// items go back as they came, only right before what followed them; a call
// that was being written when the reply was cut is marked; a stream without
// its end is no reply. Protocols: https://platform.openai.com/docs/api-reference
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
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
	official  bool // OpenAI itself, which knows all fields
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
	opts := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithAPIKey(cfg.APIKey.Reveal()),
		option.WithMaxRetries(0), // agent/model retries
	}
	if cfg.HTTPClient != nil {
		opts = append(opts, option.WithHTTPClient(cfg.HTTPClient))
	}
	d.chat, d.responses = sdk.NewChatCompletionService(opts...), responses.NewResponseService(opts...)
	return d, nil
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

// classify maps the SDK's errors.
func classify(ctx context.Context, err error) error {
	if api, ok := errors.AsType[*sdk.Error](err); ok {
		var wait time.Duration
		if api.Response != nil {
			wait = model.RetryAfter(api.Response.Header, time.Now())
		}
		text := strings.TrimSpace(api.Code + " " + api.Message)
		if api.Message == "" {
			text = rawMessage(api.RawJSON())
		}
		return model.FromStatus(api.StatusCode, text, wait, nil)
	}
	if event, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return classifyEvent(string(event.Event.Data))
	}
	return model.FromTransport(ctx, err)
}

// maxErrorText keeps a server's error page out of the journal.
const maxErrorText = 500

// rawMessage finds the text of an error whose shape is not OpenAI's.
func rawMessage(raw string) string {
	var body struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
		Detail  string          `json:"detail"`
	}
	if json.Unmarshal([]byte(raw), &body) == nil {
		for _, text := range []string{body.Message, strings.Trim(string(body.Error), `"`), body.Detail} {
			if text != "" {
				raw = text
				break
			}
		}
	}
	if len(raw) > maxErrorText {
		raw = strings.ToValidUTF8(raw[:maxErrorText], "")
	}
	return raw
}

// classifyEvent maps an error that came inside a stream: it has a code or a
// type but no status.
func classifyEvent(data string) error {
	var body struct {
		Error struct {
			Code    any    `json:"code"`
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	text := data
	if json.Unmarshal([]byte(data), &body) == nil && body.Error.Message != "" {
		text = body.Error.Message
	}
	return fromCode(fmt.Sprint(body.Error.Code)+" "+body.Error.Type, text)
}

// fromCode maps the codes and types of OpenAI's errors to a status.
func fromCode(code, text string) error {
	status := http.StatusInternalServerError
	for mark, s := range map[string]int{
		"rate_limit": http.StatusTooManyRequests, "insufficient_quota": http.StatusTooManyRequests,
		"context_length_exceeded": http.StatusBadRequest, "invalid": http.StatusBadRequest,
		"policy": http.StatusBadRequest, "400": http.StatusBadRequest, "429": http.StatusTooManyRequests,
	} {
		if strings.Contains(code, mark) {
			status = s
			break
		}
	}
	return model.FromStatus(status, strings.TrimSpace(code+" "+text), 0, nil)
}
