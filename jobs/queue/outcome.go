package queue

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/hibiken/asynq"

	"github.com/greenwright/greenwright/jobs"
)

// settle maps an error's class to what asynq does with it.
func settle(err error, again bool) error {
	if errors.Is(err, jobs.ErrBusy) {
		return err
	}
	switch jobs.ClassOf(err) {
	case "", jobs.CanceledClass, jobs.RefusedClass:
		return nil // told in the thread; nothing to try again
	case jobs.InterruptClass:
		return err
	case jobs.Retryable:
		if again || !isFailure(err) {
			return err
		}
	case jobs.Permanent:
	}
	return giveUp(err)
}

// givenUpError is an error that asynq archives the task for.
type givenUpError struct{ cause error }

func giveUp(err error) error { return &givenUpError{cause: err} }

func (e *givenUpError) Error() string { return e.cause.Error() }

// Unwrap gives what the task is given up for.
func (e *givenUpError) Unwrap() error { return e.cause }

// Is makes it the error that asynq looks for.
func (e *givenUpError) Is(target error) bool { return target == asynq.SkipRetry }

// isFailure keeps a shutdown, and a look at a job that another worker has or
// that must wait for its turn, from counting as a try.
func isFailure(err error) bool {
	return err != nil && jobs.ClassOf(err) != jobs.InterruptClass && !waits(err)
}

// waits reports an error that says no more than that others are before it.
func waits(err error) bool {
	return errors.Is(err, jobs.ErrLeaseLost) || errors.Is(err, jobs.ErrBusy)
}

// The retry schedule: 2 s doubling to 10 min, half of it random.
const (
	firstDelay = 2 * time.Second
	lastDelay  = 10 * time.Minute
)

func retryDelay(n int, err error, _ *asynq.Task) time.Duration {
	var ce *jobs.ClassError
	if errors.As(err, &ce) && !ce.RetryAt.IsZero() {
		// asynq cuts the time to whole seconds: one more keeps it from being early
		return max(time.Until(ce.RetryAt)+time.Second, firstDelay)
	}
	if jobs.ClassOf(err) == jobs.InterruptClass {
		return delayPoll
	}
	if errors.Is(err, jobs.ErrBusy) {
		return firstDelay
	}
	d := lastDelay
	if n < 9 { // 2 s << 9 is past the cap
		d = min(firstDelay<<n, lastDelay)
	}
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter
}
