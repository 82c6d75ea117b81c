package github

import (
	"context"
	"hash/maphash"
)

// stripes is how many sticky comments can be written at once.
const stripes = 64

// locks let one writer at a time look for a marker and then create its comment.
type locks struct {
	seed  maphash.Seed
	slots [stripes]chan struct{}
}

func newLocks() locks {
	l := locks{seed: maphash.MakeSeed()}
	for i := range l.slots {
		l.slots[i] = make(chan struct{}, 1)
	}
	return l
}

// lock waits for the key's turn or the end of ctx.
func (l *locks) lock(ctx context.Context, key string) (unlock func(), err error) {
	slot := l.slots[maphash.String(l.seed, key)%stripes]
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
