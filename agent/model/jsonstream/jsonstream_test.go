package jsonstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/greenwright/greenwright/agent/model/jsonstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that answers with a content type and a body.
func serve(t *testing.T, kind string, status int, body string) (url string, client *http.Client) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", kind)
		w.Header().Set("X-Seen", r.Method+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("X-Key")+" "+string(sent))
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	client = &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return s.URL, client
}

func TestValues(t *testing.T) {
	const lines, events = "application/x-ndjson", "text/event-stream; charset=utf-8"
	cases := []struct {
		name, kind, body string
		want             []string
	}{
		{"a line each", lines, "{\"a\":1}\n\n  \n{\"b\":2}\r\n{\"c\":3}", []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}},
		{"an event each", events, "data: {\"a\":1}\n\n: ping\n\nevent: x\nid: 4\ndata:{\"b\":2}\r\n\r\n", []string{`{"a":1}`, `{"b":2}`}},
		{"data in several lines", events, "data: {\"a\":\ndata: 1}\n\n", []string{"{\"a\":\n1}"}},
		{"an event that does not end", events, "data: {\"a\":1}\n\ndata: {\"b\":2}\n", []string{`{"a":1}`}},
		{"a long event that does not end", events, "data: " + strings.Repeat("x", 9<<20) + "\n", nil},
		{"nothing", events, "", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			url, client := serve(t, c.kind, http.StatusOK, c.body)
			s, err := jsonstream.Post(context.Background(), client, url, http.Header{}, struct{}{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var got []string
			for s.Next() {
				got = append(got, string(s.Data()))
			}
			if diff := cmp.Diff(c.want, got); diff != "" || s.Err() != nil {
				t.Error(diff, s.Err())
			}
		})
	}
}

func TestValuesAreBounded(t *testing.T) {
	huge := strings.Repeat("x", 17<<20)
	half := "data: " + huge[:9<<20] + "\n"
	for name, c := range map[string][2]string{
		"a line":                      {"application/json", huge},
		"an event":                    {"text/event-stream", "data: " + huge + "\n\n"},
		"an event of several lines":   {"text/event-stream", half + half + "\n"},
		"an event that never ends":    {"text/event-stream", half + half + half},
		"a line behind one that fits": {"application/json", "{}\n" + huge},
	} {
		t.Run(name, func(t *testing.T) {
			url, client := serve(t, c[0], http.StatusOK, c[1])
			s, err := jsonstream.Post(context.Background(), client, url, http.Header{}, struct{}{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for s.Next() {
				if len(s.Data()) > 1<<10 {
					t.Errorf("a value of %d bytes", len(s.Data()))
				}
			}
			if !errors.Is(s.Err(), jsonstream.ErrTooLarge) {
				t.Errorf("error %v", s.Err())
			}
		})
	}
}

func TestLargeEventsThatFitAreNoError(t *testing.T) {
	url, client := serve(t, "text/event-stream", http.StatusOK, "data: "+strings.Repeat("x", 9<<20)+"\n\n")
	s, err := jsonstream.Post(context.Background(), client, url, http.Header{}, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Next() || len(s.Data()) != 9<<20 || s.Next() || s.Err() != nil {
		t.Errorf("%d bytes, %v", len(s.Data()), s.Err())
	}
}

func TestStatus(t *testing.T) {
	url, client := serve(t, "text/html", http.StatusTeapot, " "+strings.Repeat("x", 100<<10))
	_, err := jsonstream.Post(context.Background(), client, url, http.Header{"X-Key": {"k"}}, map[string]int{"a": 1})
	e, ok := errors.AsType[*jsonstream.StatusError](err)
	if !ok || e.Status != http.StatusTeapot || len(e.Body) > 64<<10 || len(e.Body) < 60<<10 {
		t.Fatalf("%v", err)
	}
	if got := e.Header.Get("X-Seen"); got != `POST application/json k {"a":1}` {
		t.Errorf("sent %q", got)
	}
}

func TestFailures(t *testing.T) {
	url, client := serve(t, "text/html", http.StatusOK, "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := jsonstream.Post(ctx, client, url, http.Header{}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		url  string
		body any
	}{{"http://127.0.0.1:1", 1}, {"::", 1}, {url, make(chan int)}} {
		if _, err := jsonstream.Post(context.Background(), client, c.url, http.Header{}, c.body); err == nil {
			t.Errorf("%v is no error", c)
		}
	}
}
