package runner

import (
	"sync"
	"time"

	"github.com/greenwright/greenwright/jobs/progress"
)

// board holds the status that is shown; calls of the agent change it from
// other goroutines.
type board struct {
	watch func(progress.Status)
	begun time.Time
	now   func() time.Time

	mu     sync.Mutex
	status progress.Status // under mu
}

// change alters the status and shows it.
func (b *board) change(f func(*progress.Status)) {
	b.mu.Lock()
	f(&b.status)
	b.status.Elapsed = b.now().Sub(b.begun)
	s := b.status
	b.mu.Unlock()
	b.watch(s)
}

func (b *board) read() progress.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status
}
