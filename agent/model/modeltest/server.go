package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// maxBody is the largest request that is read.
const maxBody = 64 << 20

// Server plays a script over HTTP on a loopback port: POST /v1/messages,
// /v1/responses, /v1/chat/completions, /api/chat (Ollama) and
// /v1beta/models/…:streamGenerateContent (Gemini), all from the same steps.
type Server struct {
	script
	listener net.Listener
	http     *http.Server
	done     chan struct{} // closed when the server has stopped serving
}

// NewServer starts a server; Close stops it.
func NewServer(steps ...Step) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the scripted model: %w", err)
	}
	s := &Server{script: script{steps: steps}, listener: listener, done: make(chan struct{})}
	mux := http.NewServeMux()
	for _, p := range protocols() {
		mux.Handle("POST "+p.path, s.handler(p))
	}
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.violate(err)
		}
	}()
	return s, nil
}

// URL is the server's address without a path: the base URL for Anthropic and
// Ollama; OpenAI's ends in "/v1", Gemini's in "/v1beta".
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close stops the server and waits for it.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// protocol is one wire format.
type protocol struct {
	path  string
	read  func(body []byte) (Request, error)
	write func(w *events, r Reply)
	fail  func(status int, message string, retryAfter time.Duration) any
	// overloaded is the event by which a stream fails after status 200.
	overloaded string
	overflow   string // how it says that 210,000 tokens do not fit into 200,000
	lines      bool   // one JSON value a line instead of events
	inBody     bool   // how long to wait stands in the body, not in a header
}

func protocols() []protocol {
	const openAI = `{"type":"error","error":{"type":"server_error","code":"server_error","message":"overloaded"},"code":"server_error","message":"overloaded"}`
	return []protocol{
		{path: "/v1/messages", read: readAnthropic, write: writeAnthropic, fail: failAnthropic,
			overflow:   "prompt is too long: 210000 tokens > 200000 maximum",
			overloaded: `{"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}`},
		{path: "/v1/responses", read: readResponses, write: writeResponses, fail: failOpenAI, overloaded: openAI,
			overflow: "Input tokens exceed the configured limit of 200000 tokens. Your messages resulted in 210000 tokens."},
		{path: "/v1/chat/completions", read: readChat, write: writeChat, fail: failOpenAI, overloaded: openAI,
			overflow: "This model's maximum context length is 200000 tokens. However, your messages resulted in 210000 tokens."},
		{path: "/api/chat", read: readOllama, write: writeOllama, fail: failOllama, lines: true,
			overflow:   "request (210000 tokens) exceeds the available context size (200000 tokens), try increasing it",
			overloaded: `{"error":"the runner has stopped"}`},
		{path: "/v1beta/models/{call}", read: readGemini, write: writeGemini, fail: failGemini, inBody: true,
			overflow:   "The input token count (210000) exceeds the maximum number of tokens allowed (200000).",
			overloaded: `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`},
	}
}

func (s *Server) handler(p protocol) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			writeJSON(w, http.StatusRequestEntityTooLarge, p.fail(http.StatusRequestEntityTooLarge, "request too large", 0))
			return
		}
		req, err := p.read(body)
		if err == nil {
			err = Check(req.Messages)
		}
		if err != nil {
			s.violate(err)
			writeJSON(w, http.StatusBadRequest, p.fail(http.StatusBadRequest, err.Error(), 0))
			return
		}
		req.Raw = body
		reply, ok := s.take(req)
		if !ok {
			writeJSON(w, http.StatusNotFound, p.fail(http.StatusNotFound, "the script is at its end", 0))
			return
		}
		s.answer(r.Context(), w, p, reply.dressed(req))
	})
}

// answer writes the reply or its fault.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, p protocol, reply Reply) {
	switch reply.Fault {
	case FaultStatus:
		if reply.RetryAfter > 0 && !p.inBody {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(reply.RetryAfter.Seconds()))))
		}
		writeJSON(w, reply.Status, p.fail(reply.Status, reply.Message, reply.RetryAfter))
		return
	case FaultPage:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(reply.Status)
		// A client that is gone needs no answer.
		_, _ = io.WriteString(w, reply.Message)
		return
	case FaultOverflow:
		writeJSON(w, http.StatusBadRequest, p.fail(http.StatusBadRequest, p.overflow, 0))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if p.lines {
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	w.WriteHeader(http.StatusOK)
	e := &events{w: w, fault: reply.Fault, overloaded: p.overloaded, lines: p.lines}
	if reply.Message != "" {
		e.overloaded = reply.Message
	}
	p.write(e, reply)
	switch reply.Fault {
	case FaultSilent:
		<-ctx.Done()
	case FaultCutStream, FaultCutEnd:
		panic(http.ErrAbortHandler) // ends the connection without an end to the body
	}
}

// events writes a stream. Streams that are to be cut, malformed, silent or
// failing are so after a few events.
type events struct {
	w          http.ResponseWriter
	fault      Fault
	overloaded string
	lines      bool
	sent       int
	ended      bool
}

// faultAfter is how many events come before a fault of the stream.
const faultAfter = 3

func (e *events) send(name string, data any) {
	if e.ended {
		return
	}
	if e.sent++; e.sent > faultAfter {
		switch e.fault {
		case FaultCutStream, FaultSilent:
			e.ended = true
			return
		case FaultMalformed:
			e.ended = true
			e.raw(name, []byte(`{"type": "broken`))
			return
		case FaultStreamError:
			e.ended = true
			e.raw("error", []byte(e.overloaded))
			return
		}
	}
	body, err := json.Marshal(data)
	if err != nil {
		panic(err) // a reply of this package that is no JSON cannot happen
	}
	e.raw(name, body)
}

// atEnd comes ahead of what ends a reply.
func (e *events) atEnd() {
	e.ended = e.ended || e.fault == FaultCutEnd
}

func (e *events) raw(name string, data []byte) {
	switch {
	case e.lines:
		fmt.Fprintf(e.w, "%s\n", data)
	case name != "":
		fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, data)
	default:
		fmt.Fprintf(e.w, "data: %s\n\n", data)
	}
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone needs no answer.
	_ = json.NewEncoder(w).Encode(body)
}

// maxPiece is the most that is sent in one event.
const maxPiece = 64 << 10

// pieces cuts text into about three parts, as streams do, large text into more.
// They end between characters: servers that cut inside one break it.
func pieces(text string) []string {
	if len(text) < 3 {
		return []string{text}
	}
	size := min(len(text)/3, maxPiece)
	var out []string
	for len(text) > 0 {
		n := min(size, len(text))
		if len(out) == 2 && len(text) < maxPiece {
			n = len(text)
		}
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

// half is what is left of text when the output limit ends it.
func half(text string) string { return text[:len(text)/2] }

type object = map[string]any
