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
)

// maxBody is the largest request that is read.
const maxBody = 64 << 20

// Server plays a script over HTTP on a loopback port: POST /v1/messages,
// /v1/responses and /v1/chat/completions, all from the same steps.
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
	mux.Handle("POST /v1/messages", s.handler(protocol{read: readAnthropic, write: writeAnthropic, fail: failAnthropic}))
	mux.Handle("POST /v1/responses", s.handler(protocol{read: readResponses, write: writeResponses, fail: failOpenAI}))
	mux.Handle("POST /v1/chat/completions", s.handler(protocol{read: readChat, write: writeChat, fail: failOpenAI}))
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.violate(err)
		}
	}()
	return s, nil
}

// URL is the server's address without a path: the base URL for Anthropic;
// OpenAI's ends in "/v1".
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close stops the server and waits for it.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// protocol is one wire format.
type protocol struct {
	read  func(body []byte) (Request, error)
	write func(w *events, r Reply)
	fail  func(status int, message string) any
}

func (s *Server) handler(p protocol) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			writeJSON(w, http.StatusRequestEntityTooLarge, p.fail(http.StatusRequestEntityTooLarge, "request too large"))
			return
		}
		req, err := p.read(body)
		if err == nil {
			err = Check(req.Messages)
		}
		if err != nil {
			s.violate(err)
			writeJSON(w, http.StatusBadRequest, p.fail(http.StatusBadRequest, err.Error()))
			return
		}
		req.Raw = body
		reply, ok := s.take(req)
		if !ok {
			writeJSON(w, http.StatusNotFound, p.fail(http.StatusNotFound, "the script is at its end"))
			return
		}
		s.answer(r.Context(), w, p, reply)
	})
}

// answer writes the reply or its fault.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, p protocol, reply Reply) {
	switch reply.Fault {
	case FaultStatus:
		if reply.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(reply.RetryAfter.Seconds()))))
		}
		writeJSON(w, reply.Status, p.fail(reply.Status, reply.Message))
		return
	case FaultOverflow:
		writeJSON(w, http.StatusBadRequest, p.fail(http.StatusBadRequest, "prompt is too long: it exceeds the context window"))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	e := &events{w: w, fault: reply.Fault}
	p.write(e, reply)
	switch reply.Fault {
	case FaultSilent:
		<-ctx.Done()
	case FaultCutStream:
		panic(http.ErrAbortHandler) // ends the connection without an end to the body
	}
}

// events writes a stream. Streams that are to be cut, malformed, silent or
// failing are so after a few events.
type events struct {
	w     http.ResponseWriter
	fault Fault
	sent  int
	ended bool
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
			e.raw("error", []byte(`{"type":"error","error":{"type":"overloaded_error","code":"server_error","message":"overloaded"},"code":"server_error","message":"overloaded"}`))
			return
		}
	}
	body, err := json.Marshal(data)
	if err != nil {
		panic(err) // a reply of this package that is no JSON cannot happen
	}
	e.raw(name, body)
}

func (e *events) raw(name string, data []byte) {
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", data)
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

// pieces cuts text into about three parts, as streams do.
func pieces(text string) []string {
	if len(text) < 3 {
		return []string{text}
	}
	third := len(text) / 3
	return []string{text[:third], text[third : 2*third], text[2*third:]}
}

// half is what is left of text when the output limit ends it.
func half(text string) string { return text[:len(text)/2] }

type object = map[string]any
