package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/jsonstream"
)

// apiError is google.rpc.Status as the API writes it.
type apiError struct {
	Error struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Status  string   `json:"status"`
		Details []detail `json:"details"`
	} `json:"error"`
}

// detail is one of google.rpc's: RetryInfo has a delay, QuotaFailure violations.
type detail struct {
	Type       string `json:"@type"`
	RetryDelay string `json:"retryDelay"`
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
}

// classify maps an answer that is no success, or none.
func classify(ctx context.Context, err error) error {
	answer, ok := errors.AsType[*jsonstream.StatusError](err)
	if !ok {
		return model.FromTransport(ctx, err)
	}
	e := fromBody(answer.Status, answer.Body)
	if e.RetryAfter == 0 {
		e.RetryAfter = model.RetryAfter(answer.Header, time.Now())
	}
	return e
}

// maxErrorText keeps a proxy's page out of the journal.
const maxErrorText = 500

// fromBody classifies by an error's body; a status of zero is the body's own.
func fromBody(status int, body []byte) *model.Error {
	var told apiError
	text := string(body)
	if read(body, &told) && told.Error.Message != "" {
		text = strings.TrimSpace(told.Error.Status + " " + told.Error.Message)
	}
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "")
	}
	if status == 0 {
		status = told.Error.Code
	}
	if status < http.StatusBadRequest {
		status = http.StatusInternalServerError
	}
	delay, daily := told.limits()
	e := model.FromStatus(status, text, delay, nil)
	if status == http.StatusTooManyRequests && delay > 0 && !daily {
		e.Class = model.ClassRetryable // the limit of a minute says "quota" too
	}
	if daily {
		e.Class = model.ClassFatal
	}
	return e
}

// read takes an error alone or, as without alt=sse, as the only one of a list.
func read(body []byte, into *apiError) bool {
	if !bytes.HasPrefix(body, []byte("[")) {
		return json.Unmarshal(body, into) == nil
	}
	var list []apiError
	if json.Unmarshal(body, &list) != nil || len(list) == 0 {
		return false
	}
	*into = list[0]
	return true
}

// limits is the delay that RetryInfo asks for, and whether a quota of a whole
// day is used up, for which waiting is no help.
func (a *apiError) limits() (delay time.Duration, daily bool) {
	for _, d := range a.Error.Details {
		if strings.HasSuffix(d.Type, "google.rpc.RetryInfo") {
			if v, err := time.ParseDuration(d.RetryDelay); err == nil && v > 0 {
				delay = v
			}
		}
		for _, v := range d.Violations {
			daily = daily || strings.Contains(v.QuotaID, "PerDay")
		}
	}
	return delay, daily
}
