package sticky

import (
	"context"
	"hash/maphash"
	"sync"
)

const (
	// stripes is how many sticky comments can be written at once.
	stripes = 64
	// maxKnown bounds the remembered ids.
	maxKnown = 1024
)

// Comments are a driver's sticky comments, each by a key of its thread and
// marker. It is safe for concurrent use.
type Comments struct {
	seed  maphash.Seed
	slots [stripes]chan struct{}

	mu    sync.Mutex
	known map[string]int64 // guarded by mu
}

// New returns one that remembers nothing yet.
func New() *Comments {
	c := &Comments{seed: maphash.MakeSeed(), known: map[string]int64{}}
	for i := range c.slots {
		c.slots[i] = make(chan struct{}, 1)
	}
	return c
}

// lock waits for the key's turn or the end of ctx: one writer at a time looks
// for a marker and then creates its comment.
func (c *Comments) lock(ctx context.Context, key string) (unlock func(), err error) {
	slot := c.slots[maphash.String(c.seed, key)%stripes]
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// recall is the id of the key's comment, or 0.
func (c *Comments) recall(key string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

// remember keeps the id of the key's comment.
func (c *Comments) remember(key string, id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[key] = id
}

// Ways are how a driver reaches one comment; T is what its SDK makes of one.
type Ways[T any] struct {
	Edit   func(id int64) (T, error)
	Find   func() (id int64, err error) // 0 is none
	Create func() (T, error)
	ID     func(T) int64
	// Gone reports whether an edit ended in the comment not being there.
	Gone func(error) bool
}

// Put edits the key's comment, or creates it. Two calls at once in one process
// make one comment; most edits of a remembered one need no search.
func Put[T any](ctx context.Context, c *Comments, key string, w Ways[T]) (T, error) {
	unlock, err := c.lock(ctx, key)
	if err != nil {
		var none T
		return none, err
	}
	defer unlock()
	got, err := put(c.recall(key), w)
	if err == nil {
		c.remember(key, w.ID(got))
	}
	return got, err
}

func put[T any](known int64, w Ways[T]) (T, error) {
	if known != 0 {
		got, err := w.Edit(known)
		if !w.Gone(err) {
			return got, err
		}
		// Somebody deleted it: look again, then write a new one.
	}
	id, err := w.Find()
	switch {
	case err != nil:
		var none T
		return none, err
	case id != 0:
		return w.Edit(id)
	}
	return w.Create()
}
