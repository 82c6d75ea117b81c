package webhook_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// nothing is a Sink that stores nothing.
type nothing struct{}

func (nothing) Triage(vcs.Event) (bool, string)                        { return true, "command" }
func (nothing) Accept(context.Context, webhook.Delivery) (bool, error) { return false, nil }

// discard is a ResponseWriter that keeps the status.
type discard struct {
	header http.Header
	code   int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(code int)        { d.code = code }

// BenchmarkHandler measures verify, parse and triage without network and queue.
func BenchmarkHandler(b *testing.B) {
	s := webhooktest.NewSample()
	for name, c := range map[string]struct {
		hook webhooktest.Hook
		code int
	}{
		"comment":   {s.IssueComment("created", s.Repo, s.Issue, s.Comment, s.User, ""), 202},
		"check_run": {s.CheckRunEvent("completed", s.Repo, s.Check, s.User), 202},
		"ignored":   {s.IssueComment("deleted", s.Repo, s.Issue, s.Comment, s.User, ""), 200},
	} {
		b.Run(name, func(b *testing.B) {
			h := newHandler(b, nothing{}, webhook.Config{})
			b.SetBytes(int64(len(c.hook.Body)))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := request(b, c.hook, nil)
				body := bytes.NewReader(c.hook.Body)
				r.Body = io.NopCloser(body)
				w := &discard{header: http.Header{}}
				for pb.Next() {
					body.Reset(c.hook.Body)
					h.ServeHTTP(w, r)
					if w.code != c.code {
						b.Fatalf("status %d", w.code)
					}
				}
			})
		})
	}
}

// BenchmarkServer adds HTTP over loopback, client included.
func BenchmarkServer(b *testing.B) {
	s := webhooktest.NewSample()
	hook := s.IssueComment("created", s.Repo, s.Issue, s.Comment, s.User, "")
	srv := httptest.NewServer(newHandler(b, nothing{}, webhook.Config{}))
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, err := webhooktest.Request(b.Context(), srv.URL, secret, webhooktest.DeliveryID(1), hook)
			if err != nil {
				b.Error(err)
				return
			}
			resp, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusAccepted {
				b.Errorf("status %d", resp.StatusCode)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
}
