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

// Lock waits for the key's turn or the end of ctx: one writer at a time looks
// for a marker and then creates its comment.
func (c *Comments) Lock(ctx context.Context, key string) (unlock func(), err error) {
	slot := c.slots[maphash.String(c.seed, key)%stripes]
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Recall is the id of the key's comment, or 0.
func (c *Comments) Recall(key string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

// Remember keeps the id of the key's comment.
func (c *Comments) Remember(key string, id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[key] = id
}
