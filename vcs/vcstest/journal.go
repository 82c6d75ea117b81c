package vcstest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// journal is what a simulated forge tells of its requests, and the failures
// that were ordered. It has a lock of its own, which is taken last.
type journal struct {
	lock     sync.Mutex
	faults   []string
	requests []Request
	failures []*Failure
}

// Fail adds a failure; the first added that matches is used.
func (j *journal) Fail(f Failure) {
	if f.Times == 0 {
		f.Times = 1
	}
	j.lock.Lock()
	defer j.lock.Unlock()
	j.failures = append(j.failures, &f)
}

// failure takes the one for a request, nil for none.
func (j *journal) failure(r *http.Request) *Failure {
	j.lock.Lock()
	defer j.lock.Unlock()
	for _, f := range j.failures {
		if f.Times != 0 && (f.Method == "" || f.Method == r.Method) && strings.Contains(r.URL.Path, f.Path) {
			f.Times--
			return f
		}
	}
	return nil
}

// Faults are the requests that the real forge would not have understood or
// allowed, oldest first.
func (j *journal) Faults() []string {
	j.lock.Lock()
	defer j.lock.Unlock()
	return slices.Clone(j.faults)
}

// ClearFaults forgets them, after a test that provoked some.
func (j *journal) ClearFaults() {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.faults = nil
}

// Requests are all API and git requests so far.
func (j *journal) Requests() []Request {
	j.lock.Lock()
	defer j.lock.Unlock()
	return slices.Clone(j.requests)
}

func (j *journal) fault(format string, args ...any) {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// note keeps an answered request.
func (j *journal) note(r Request) {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.requests = append(j.requests, r)
}
