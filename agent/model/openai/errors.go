package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/greenwright/greenwright/agent/model"
)

// classify maps the SDK's errors.
func classify(ctx context.Context, err error) error {
	if api, ok := errors.AsType[*sdk.Error](err); ok {
		var wait time.Duration
		if api.Response != nil {
			wait = model.RetryAfter(api.Response.Header, time.Now())
		}
		text := strings.TrimSpace(api.Code + " " + api.Message)
		if api.Message == "" {
			text = rawMessage(errorBody(api))
		}
		return model.FromStatus(api.StatusCode, text, wait, nil)
	}
	if event, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return classifyEvent(string(event.Event.Data))
	}
	return model.FromTransport(ctx, err)
}

// errorBody is the body of an error whose shape the SDK does not know; it
// reads the body before and puts it back.
func errorBody(api *sdk.Error) string {
	if api.Response == nil || api.Response.Body == nil {
		return api.RawJSON()
	}
	body, err := io.ReadAll(io.LimitReader(api.Response.Body, maxErrorBody))
	if err != nil || len(body) == 0 {
		return api.RawJSON()
	}
	return strings.TrimSpace(string(body))
}

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

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
