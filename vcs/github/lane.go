package github

import (
	"net/http"
	"sync"

	"github.com/greenwright/greenwright/vcs/transport"
)

// lane sends with an installation's token. It queues writes per installation,
// which is what GitHub limits (rule O8), and mints once more when GitHub no
// longer knows a token that had not expired: the App was suspended or its key
// was changed meanwhile.
type lane struct {
	name string
	mint func() http.RoundTripper

	mu   sync.Mutex
	next http.RoundTripper // guarded by mu
}

// RoundTrip repeats a request that was answered 401, once: it had no effect.
func (l *lane) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.WithContext(transport.WithLane(r.Context(), l.name))
	sender := l.current(nil)
	resp, err := sender.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	if r.Body != nil {
		if r.GetBody == nil {
			return resp, nil
		}
		body, err := r.GetBody()
		if err != nil {
			return resp, nil //nolint:nilerr // the first answer is as good
		}
		r = r.Clone(r.Context())
		r.Body = body
	}
	_ = resp.Body.Close()
	return l.current(sender).RoundTrip(r)
}

// current is the sender in use, a new one in place of worn.
func (l *lane) current(worn http.RoundTripper) http.RoundTripper {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == worn {
		l.next = l.mint()
	}
	return l.next
}
