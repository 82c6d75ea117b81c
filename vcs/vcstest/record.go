package vcstest

import (
	"net/http"
	"time"
)

// Request is one request that the server answered.
type Request struct {
	Method string
	Path   string // with the query
	// Credential is app, none, or the token's account and grants.
	Credential string
	Status     int
	At         time.Time
}

// Failure makes the next matching requests fail.
type Failure struct {
	// Method and Path select; empty selects all. Path is a part of the URL's.
	Method, Path string
	// Times is how many requests; 0 is one, negative all.
	Times int
	// Status, Header and Body are the answer. Status 0 lets the request
	// through after Delay.
	Status int
	Header map[string]string
	Body   string
	Delay  time.Duration
	// Drop closes the connection without an answer.
	Drop bool
}

// FailSecondaryLimit answers the next n requests as GitHub's secondary limit does.
func (g *GitHub) FailSecondaryLimit(path string, n int, retryAfter string) {
	f := Failure{Path: path, Times: n, Status: http.StatusForbidden,
		Body: `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`}
	if retryAfter != "" {
		f.Header = map[string]string{"Retry-After": retryAfter}
	}
	g.Fail(f)
}

// recorder keeps the status that was written.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Flush passes git's progress on.
func (r *recorder) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// inject answers with the failure; false means that the request goes on.
func inject(w http.ResponseWriter, r *http.Request, f *Failure) bool {
	if f == nil {
		return false
	}
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
		}
	}
	if f.Drop {
		panic(http.ErrAbortHandler) // net/http's way to close the connection
	}
	if f.Status == 0 {
		return false
	}
	for k, v := range f.Header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body)) // the client may have gone
	return true
}
