package webhook

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/greenwright/greenwright/vcs"
)

// retryAfterSeconds is what a forge or a redelivery script is told to wait
// when the queue is away: a failover of Redis takes a few seconds.
const retryAfterSeconds = 10

// answer is the whole result of a request.
type answer struct {
	code            int
	outcome, reason string
	allow           bool
	err             error // for the log only
}

func ignored(reason string) answer {
	return answer{code: http.StatusOK, outcome: OutcomeIgnored, reason: reason}
}

func refused(code int, reason string, err error) answer {
	return answer{code: code, outcome: OutcomeRefused, reason: reason, err: err}
}

func failed(code int, reason string) answer {
	return answer{code: code, outcome: OutcomeFailed, reason: reason}
}

func (a answer) because(err error) answer {
	a.err = err
	return a
}

// fromError classifies a parser's error.
func fromError(err error, reason string) answer {
	switch {
	case errors.Is(err, ErrUnauthorized):
		return refused(http.StatusUnauthorized, "unauthorized", err)
	case errors.Is(err, vcs.ErrInvalid):
		return refused(http.StatusBadRequest, reason, err)
	}
	return failed(http.StatusInternalServerError, "internal error").because(err)
}

// unread is the answer to a verified payload that Peek or Parse refuses.
func unread(err error) answer {
	if errors.Is(err, ErrUnusable) {
		return ignored("malformed payload").because(err)
	}
	return refused(http.StatusBadRequest, "malformed payload", err)
}

// outside is the answer to a request that speaks of a repository that its
// secret is not believed for. The secret is a right one, and a hook of a group
// speaks of all its projects: a refusal would get it switched off (rule G7).
func outside() answer { return ignored("outside the secret's repositories").because(errOutside) }

var errOutside = errors.New("the secret is not believed for this repository")

// write sends the answer. The reason comes from this process, never from the
// request, and is quoted all the same.
func (a answer) write(w http.ResponseWriter) {
	hd := w.Header()
	hd.Set("Content-Type", "application/json")
	hd.Set("X-Content-Type-Options", "nosniff")
	if a.allow {
		hd.Set("Allow", http.MethodPost)
	}
	if a.code == http.StatusServiceUnavailable {
		hd.Set("Retry-After", strconv.Itoa(retryAfterSeconds))
	}
	body := make([]byte, 0, 96)
	body = append(body, `{"status":"`...)
	body = append(body, a.outcome...)
	body = append(body, `","reason":`...)
	body = strconv.AppendQuoteToASCII(body, a.reason)
	body = append(body, "}\n"...)
	hd.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.code)
	_, _ = w.Write(body) // the client has gone; nothing is left to do
}
