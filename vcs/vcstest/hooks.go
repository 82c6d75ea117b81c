package vcstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// hookTimeout is how long GitHub waits for an answer
// (docs.github.com/webhooks/using-webhooks/best-practices-for-using-webhooks).
const hookTimeout = 10 * time.Second

// Delivery is one webhook that was sent, and its answer.
type Delivery struct {
	ID     string
	URL    string
	Event  string
	Body   []byte
	Status int    // 0 when there was no answer
	Answer string // the answer's body, at most 4 kB
	Err    error
	Took   time.Duration

	hook *gitlabHook // nil for one that is not made over the API
}

// outbox delivers hooks in order, from one goroutine.
type outbox struct {
	build  func(context.Context, Delivery) (*http.Request, error)
	client *http.Client
	after  func(Delivery) // told of each answer; may be nil
	done   chan struct{}
	stop   context.CancelFunc

	mu      sync.Mutex
	urls    []string
	queue   []Delivery
	wake    chan struct{}
	pending int
	idle    chan struct{} // closed while nothing is pending
	sent    []Delivery
	n       int
	closed  bool
}

func newOutbox(urls []string, build func(context.Context, Delivery) (*http.Request, error)) *outbox {
	ctx, stop := context.WithCancel(context.Background())
	o := &outbox{
		build: build, urls: slices.Clone(urls), client: &http.Client{Timeout: hookTimeout},
		done: make(chan struct{}), stop: stop, wake: make(chan struct{}, 1), idle: make(chan struct{}),
	}
	close(o.idle)
	go o.run(ctx)
	return o
}

// emit queues a hook for every URL. It never blocks.
func (g *GitHub) emit(h webhooktest.Hook) { g.add(h) }

func (o *outbox) add(h webhooktest.Hook) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, u := range o.urls {
		o.n++
		o.push(Delivery{ID: webhooktest.DeliveryID(o.n), URL: u, Event: h.Name, Body: h.Body})
	}
}

// push is called with mu held.
func (o *outbox) push(d Delivery) {
	if o.closed {
		return
	}
	if o.pending == 0 {
		o.idle = make(chan struct{})
	}
	o.pending++
	o.queue = append(o.queue, d)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) run(ctx context.Context) {
	defer close(o.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		for d, ok := o.next(); ok && ctx.Err() == nil; d, ok = o.next() {
			d = o.deliver(ctx, d)
			if o.after != nil {
				o.after(d)
			}
			o.finish(d)
		}
	}
}

func (o *outbox) next() (Delivery, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		return Delivery{}, false
	}
	d := o.queue[0]
	o.queue = o.queue[1:]
	return d, true
}

func (o *outbox) finish(d Delivery) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, d)
	if o.pending--; o.pending == 0 {
		close(o.idle)
	}
}

// maxAnswer is how much of an answer is kept.
const maxAnswer = 4 << 10

func (o *outbox) deliver(ctx context.Context, d Delivery) Delivery {
	start := time.Now()
	defer func() { d.Took = time.Since(start) }()
	r, err := o.build(ctx, d)
	if err != nil {
		d.Err = err
		return d
	}
	resp, err := o.client.Do(r)
	if err != nil {
		d.Err = fmt.Errorf("delivering %s: %w", d.ID, err)
		return d
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	d.Status, d.Answer, d.Err = resp.StatusCode, string(b), errors.Join(err, resp.Body.Close())
	return d
}

// end sends what is queued, for a while, and stops.
func (o *outbox) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := o.Flush(ctx)
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.stop()
	<-o.done
	return err
}

// Flush waits until everything emitted so far was answered.
func (o *outbox) Flush(ctx context.Context) error {
	o.mu.Lock()
	idle := o.idle
	o.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for deliveries: %w", ctx.Err())
	}
}

// AddHook sends every later event to url as well.
func (o *outbox) AddHook(url string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.urls = append(o.urls, url)
}

// Deliveries are the webhooks that were answered so far, oldest first.
func (o *outbox) Deliveries() []Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.sent)
}

// Redeliver sends a delivery again n times with the same id and body, as the
// button does.
func (o *outbox) Redeliver(d Delivery, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for range n {
		o.push(Delivery{ID: d.ID, URL: d.URL, Event: d.Event, Body: d.Body, hook: d.hook})
	}
}

// Ping sends the event that GitHub sends when a hook is set up.
func (r *Repo) Ping() error {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	a, err := r.srv.user(r.meta.Owner)
	if err != nil {
		return err
	}
	r.srv.emit(r.srv.site(r.srv.now()).Ping(r.meta, a))
	return nil
}
