package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
)

// replay is a transport that answers at once with what a server said before.
type replay struct {
	header http.Header
	body   []byte
}

func (r *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: r.header, Body: io.NopCloser(bytes.NewReader(r.body)), Request: req}, nil
}

// record is a transport that keeps the last answer for a replay.
type record struct {
	next http.RoundTripper
	last replay
}

func (r *record) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	r.last = replay{header: res.Header, body: body}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// transcript is that of n steps, about 500 tokens each.
func transcript(n int) []model.Message {
	messages := []model.Message{model.Text(model.RoleUser, "go")}
	for i := range n {
		id := fmt.Sprintf("call_%d", i)
		messages = append(messages, model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Kind: model.PartText, Text: "Looking."},
			{Kind: model.PartToolCall, Call: &model.ToolCall{ID: id, Name: "look", Arguments: json.RawMessage(`{"path":"cmd/main.go"}`)}}}},
			model.Results(model.ToolResult{CallID: id, Text: strings.Repeat("a line of a file\n", 100)}))
	}
	return messages
}

// BenchmarkComplete is what a driver costs for one request: mapping it,
// writing it, reading the reply. The network and the server are not in it.
func BenchmarkComplete(b *testing.B) {
	for _, protocol := range modeltest.Protocols() {
		for _, steps := range []int{10, 100} {
			b.Run(fmt.Sprintf("%s/%d steps", protocol, steps), func(b *testing.B) {
				benchmark(b, protocol, request(transcript(steps)...))
			})
		}
	}
}

func benchmark(b *testing.B, protocol string, req model.Request) {
	s, err := modeltest.NewServer(func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Text: "Now I will look.", Usage: model.Usage{Input: 51_000, Output: 20}, Calls: []modeltest.Call{{Name: "look", Args: `{"path":"a"}`}}}
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	rec := &record{next: transport}
	complete := func(t http.RoundTripper) {
		m, err := driver(protocol, s.URL(), &http.Client{Transport: t}, longIdle)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Complete(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
	complete(rec)
	for b.Loop() {
		complete(&rec.last)
	}
}
