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
}

// outbox delivers hooks in order, from one goroutine.
type outbox struct {
	secret string
	client *http.Client
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

func newOutbox(secret string, urls []string) *outbox {
	ctx, stop := context.WithCancel(context.Background())
	o := &outbox{
		secret: secret, urls: slices.Clone(urls), client: &http.Client{Timeout: hookTimeout},
		done: make(chan struct{}), stop: stop, wake: make(chan struct{}, 1), idle: make(chan struct{}),
	}
	close(o.idle)
	go o.run(ctx)
	return o
}

// emit queues a hook for every URL. It never blocks.
func (g *GitHub) emit(h webhooktest.Hook) { g.out.add(h) }

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
			o.finish(o.deliver(ctx, d))
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
	r, err := webhooktest.Request(ctx, d.URL, o.secret, d.ID, webhooktest.Hook{Name: d.Event, Body: d.Body})
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

// close sends what is queued, until ctx ends, and stops.
func (o *outbox) close(ctx context.Context) error {
	err := o.flush(ctx)
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.stop()
	<-o.done
	return err
}

func (o *outbox) flush(ctx context.Context) error {
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
func (g *GitHub) AddHook(url string) {
	g.out.mu.Lock()
	defer g.out.mu.Unlock()
	g.out.urls = append(g.out.urls, url)
}

// Flush waits until everything emitted so far was answered.
func (g *GitHub) Flush(ctx context.Context) error { return g.out.flush(ctx) }

// Deliveries are the webhooks that were answered so far, oldest first.
func (g *GitHub) Deliveries() []Delivery {
	g.out.mu.Lock()
	defer g.out.mu.Unlock()
	return slices.Clone(g.out.sent)
}

// Redeliver sends a delivery again n times with the same id and body, as the
// button does.
func (g *GitHub) Redeliver(d Delivery, n int) {
	g.out.mu.Lock()
	defer g.out.mu.Unlock()
	for range n {
		g.out.push(Delivery{ID: d.ID, URL: d.URL, Event: d.Event, Body: d.Body})
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
