package transport

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxLanes bounds the remembered lanes; idle ones are dropped beyond it.
const maxLanes = 4096

type laneKey struct{}

// WithLane puts the writes made with the context into a queue of their own: a
// forge limits each installation of an app by itself. Without one, all writes
// to a host share a queue.
func WithLane(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, laneKey{}, name)
}

// queue lets one write at a time of a lane through to a host, spaced apart
// (rule O8).
type queue struct {
	next    http.RoundTripper
	spacing time.Duration

	mu    sync.Mutex
	lanes map[string]chan time.Time // guarded by mu; each holds the time of its last write
}

func (q *queue) RoundTrip(r *http.Request) (*http.Response, error) {
	if isRead(r.Method) || hasNoContent(r.URL.Path) {
		return q.next.RoundTrip(r)
	}
	turn := q.lane(r)
	var last time.Time
	select {
	case <-r.Context().Done():
		closeBody(r)
		return nil, r.Context().Err()
	case last = <-turn:
	}
	defer func() { turn <- last }()
	if err := sleep(r.Context(), time.Until(last.Add(q.spacing))); err != nil {
		closeBody(r)
		return nil, err
	}
	resp, err := q.next.RoundTrip(r)
	last = time.Now()
	return resp, err
}

// hasNoContent is true of posts that create nothing for people to see: queries
// and tokens.
func hasNoContent(path string) bool {
	return strings.HasSuffix(path, "/graphql") || strings.HasSuffix(path, "/access_tokens")
}

// lane is the queue of a request: a channel whose one element is the turn.
func (q *queue) lane(r *http.Request) chan time.Time {
	name, _ := r.Context().Value(laneKey{}).(string)
	name = r.URL.Host + " " + name
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lanes == nil {
		q.lanes = map[string]chan time.Time{}
	}
	c, ok := q.lanes[name]
	if !ok {
		q.sweep()
		c = make(chan time.Time, 1)
		c <- time.Time{}
		q.lanes[name] = c
	}
	return c
}

// sweep drops lanes whose turn is free and whose spacing is over. It is called
// with mu held.
func (q *queue) sweep() {
	if len(q.lanes) < maxLanes {
		return
	}
	for name, c := range q.lanes {
		select {
		case last := <-c:
			c <- last // for somebody who got the lane before it was dropped
			if time.Since(last) > q.spacing {
				delete(q.lanes, name)
			}
		default:
		}
	}
}
