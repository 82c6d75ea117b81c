package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// precheck refuses what needs neither headers of the forge nor a body.
func precheck(r *http.Request, maxBody int64) (answer, bool) {
	if r.Method != http.MethodPost {
		a := refused(http.StatusMethodNotAllowed, "method not allowed", nil)
		a.allow = true
		return a, false
	}
	if t := contentType(r); t != jsonType && t != formType {
		return refused(http.StatusUnsupportedMediaType, "content type not supported", nil), false
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return refused(http.StatusUnsupportedMediaType, "content encoding not supported", nil), false
	}
	if r.ContentLength > maxBody {
		return refused(http.StatusRequestEntityTooLarge, "body too large", nil), false
	}
	return answer{}, true
}

func contentType(r *http.Request) string {
	v := r.Header.Get("Content-Type")
	if v == jsonType || v == formType {
		return v
	}
	t, _, err := mime.ParseMediaType(v)
	if err != nil {
		return ""
	}
	return t
}

const (
	// largeBody is where a body needs a slot and its buffer is not kept:
	// ordinary deliveries are 5 to 60 kB.
	largeBody = 1 << 20
	// largeSlots bounds the memory that senders without a valid signature can
	// make the process hold: slots times the cap on a body.
	largeSlots = 8
)

// bodies reads request bodies into pooled buffers.
type bodies struct {
	pool  sync.Pool
	large chan struct{}
}

// body is a request's raw bytes.
type body struct {
	buf   bytes.Buffer
	large bool // holds a slot
}

func newBodies() *bodies {
	return &bodies{
		pool:  sync.Pool{New: func() any { return new(body) }},
		large: make(chan struct{}, largeSlots),
	}
}

// read reads the whole body within the limits. When ok is false the answer
// says why and there is nothing to release.
func (p *bodies) read(w http.ResponseWriter, r *http.Request, cfg Config, now func() time.Time) (b *body, a answer, ok bool) {
	b = p.pool.Get().(*body)
	if r.ContentLength < 0 || r.ContentLength > largeBody {
		select {
		case p.large <- struct{}{}:
			b.large = true
		default:
			p.release(b)
			return nil, failed(http.StatusServiceUnavailable, "too many large bodies"), false
		}
	}
	if err := fill(&b.buf, w, r, cfg, now); err != nil {
		p.release(b)
		return nil, readAnswer(err), false
	}
	return b, answer{}, true
}

func fill(buf *bytes.Buffer, w http.ResponseWriter, r *http.Request, cfg Config, now func() time.Time) error {
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(now().Add(cfg.ReadTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("setting the read deadline: %w", err)
	}
	if r.ContentLength > 0 {
		buf.Grow(int(min(r.ContentLength, largeBody)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, cfg.MaxBody)); err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	// Else the deadline would cancel the request's context while it is stored.
	if err := rc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("clearing the read deadline: %w", err)
	}
	return nil
}

func readAnswer(err error) answer {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return refused(http.StatusRequestEntityTooLarge, "body too large", nil)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refused(http.StatusRequestTimeout, "body too slow", nil)
	}
	return refused(http.StatusBadRequest, "body not readable", err)
}

func (p *bodies) release(b *body) {
	if b.large {
		<-p.large
		b.large = false
	}
	if b.buf.Cap() > largeBody+bytes.MinRead {
		return
	}
	b.buf.Reset()
	p.pool.Put(b)
}

// payloadOf takes the JSON out of the verified raw body. Only POST forms with
// the one field that GitHub sends are understood.
func payloadOf(r *http.Request, raw []byte) ([]byte, error) {
	if contentType(r) == jsonType {
		return raw, nil
	}
	value, found := strings.CutPrefix(string(raw), "payload=")
	if !found || strings.ContainsAny(value, "&;") {
		return nil, fmt.Errorf("%w: form without the one field payload", vcs.ErrInvalid)
	}
	s, err := url.QueryUnescape(value)
	if err != nil {
		return nil, fmt.Errorf("%w: form field payload: %w", vcs.ErrInvalid, err)
	}
	return []byte(s), nil
}
