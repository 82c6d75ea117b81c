package box

import (
	"context"
	"fmt"
	"time"
)

// softEnd is how long a sandbox program gets to reap what was killed in it
// before it is killed itself. It usually takes some milliseconds; killing it
// first would leave zombies where pid 1 of the machine reaps nothing.
const softEnd = time.Second

// EndProgram ends a sandbox program: first what is inside, by inside, which is
// false when there is nothing to kill yet; then the program, by kill, if it
// stays. It returns when done is closed or ctx ends.
func EndProgram(ctx context.Context, name string, done <-chan struct{}, inside func() bool, kill func() error) error {
	if inside() {
		t := time.NewTimer(softEnd)
		defer t.Stop()
		select {
		case <-done:
			return nil
		case <-t.C:
		case <-ctx.Done():
		}
	}
	_ = kill()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s does not end: %w", name, ctx.Err())
	}
}
