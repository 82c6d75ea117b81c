package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
)

func TestClassOf(t *testing.T) {
	plain := errors.New("plain")
	cases := []struct {
		name string
		err  error
		want jobs.Class
	}{
		{"nil", nil, ""},
		{"plain", plain, jobs.Permanent},
		{"stopped", fmt.Errorf("working: %w", jobs.ErrStopped), jobs.CanceledClass},
		{"shutdown", fmt.Errorf("working: %w", jobs.ErrShutdown), jobs.InterruptClass},
		{"redis is away", fmt.Errorf("reading: %w", jobs.ErrUnavailable), jobs.Retryable},
		{"deadline", fmt.Errorf("asking: %w", context.DeadlineExceeded), jobs.Retryable},
		{"lease lost", fmt.Errorf("writing: %w", jobs.ErrLeaseLost), jobs.Retryable},
		{"canceled", context.Canceled, jobs.Permanent},
		{"a class beats a sentinel", jobs.Classify(jobs.Permanent, jobs.ErrUnavailable), jobs.Permanent},
		{"the outermost class", jobs.Classify(jobs.RefusedClass, fmt.Errorf("x: %w", jobs.Classify(jobs.Retryable, plain))), jobs.RefusedClass},
		{"a class within", fmt.Errorf("x: %w", jobs.Classify(jobs.Retryable, plain)), jobs.Retryable},
		{"joined", errors.Join(plain, jobs.ErrStopped), jobs.CanceledClass},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := jobs.ClassOf(c.err); got != c.want {
				t.Errorf("ClassOf(%v) = %q, want %q", c.err, got, c.want)
			}
		})
	}
}

func TestClassifyKeepsTheError(t *testing.T) {
	if jobs.Classify(jobs.Retryable, nil) != nil {
		t.Error("a classified nil is an error")
	}
	cause := errors.New("cause")
	err := fmt.Errorf("doing: %w", &jobs.ClassError{Class: jobs.Retryable, RetryAt: time.Unix(9, 0), Err: cause})
	if !errors.Is(err, cause) || err.Error() != "doing: cause" {
		t.Errorf("error is %q, wraps its cause: %v", err, errors.Is(err, cause))
	}
	var ce *jobs.ClassError
	if !errors.As(err, &ce) || !ce.RetryAt.Equal(time.Unix(9, 0)) {
		t.Errorf("the time to try again is lost: %+v", ce)
	}
}
