package progress_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/vcs"
)

// edit is one PutComment.
type edit struct {
	at     time.Duration // since the forge was made
	marker string
	body   string
}

// forge remembers edits; fail is asked first.
type forge struct {
	begun time.Time
	fail  func(n int) error

	mu    sync.Mutex
	calls int    // under mu
	edits []edit // under mu
}

func newForge() *forge { return &forge{begun: time.Now(), fail: func(int) error { return nil }} }

func (f *forge) PutComment(_ context.Context, _ vcs.Thread, c vcs.StickyComment) (vcs.Comment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if err := f.fail(f.calls); err != nil {
		return vcs.Comment{}, err
	}
	f.edits = append(f.edits, edit{time.Since(f.begun), c.Marker, c.Body})
	return vcs.Comment{}, nil
}

func (f *forge) seen() []edit {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]edit(nil), f.edits...)
}

var (
	thread = vcs.Thread{Repo: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, Number: 7}
	quiet  = slog.New(slog.DiscardHandler)
)

func status(n int) progress.Status {
	return progress.Status{Job: jobs.Job{ID: "5f1c", Thread: thread}, State: jobs.Working, Steps: n + 1}
}

func TestEditsAreAtMostEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForge()
		c := progress.NewComment(context.Background(), f, thread, quiet)
		for n := range 193 { // 25 seconds of updates
			c.Update(status(n))
			time.Sleep(130 * time.Millisecond)
		}
		synctest.Wait()
		var times []time.Duration
		for _, e := range f.seen() {
			times = append(times, e.at)
		}
		if diff := cmp.Diff([]time.Duration{0, 10 * time.Second, 20 * time.Second}, times); diff != "" {
			t.Errorf("edits (-want +got):\n%s", diff)
		}
		if last := f.seen()[2]; last.marker != "progress:5f1c" || !strings.Contains(last.body, "154 steps") {
			t.Errorf("the third edit is not the latest status at its time: %+v", last)
		}
		time.Sleep(time.Minute) // the last update gets out, and then there is peace
		if got := f.seen(); len(got) != 4 || !strings.Contains(got[3].body, "193 steps") {
			t.Errorf("%d edits, want 4 with the last status", len(got))
		}
		c.Close()
	})
}

func TestCloseEndsTheEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		f := newForge()
		c := progress.NewComment(ctx, f, thread, quiet)
		cancel() // the job's own context does not end its comment
		c.Update(status(0))
		synctest.Wait()
		c.Update(status(1))
		c.Close()
		c.Close()
		c.Update(status(2))
		time.Sleep(time.Minute)
		if got := f.seen(); len(got) != 1 {
			t.Errorf("%d edits, want the one before Close", len(got))
		}
	})
}

func TestAFailedEditIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForge()
		f.fail = func(n int) error {
			if n < 3 {
				return fmt.Errorf("502: %w", vcs.ErrUnavailable)
			}
			return nil
		}
		c := progress.NewComment(context.Background(), f, thread, quiet)
		c.Update(status(0))
		time.Sleep(time.Minute)
		c.Close()
		if got := f.seen(); len(got) != 1 || got[0].at != 20*time.Second {
			t.Errorf("edits are %+v, want one after 20 s", got)
		}
	})
}

func TestAForbiddenEditIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForge()
		f.fail = func(int) error { return vcs.ErrForbidden }
		c := progress.NewComment(context.Background(), f, thread, quiet)
		c.Update(status(0))
		time.Sleep(10 * time.Minute)
		c.Close()
		if f.calls != 1 {
			t.Errorf("%d tries, want 1", f.calls)
		}
	})
}

func TestPostText(t *testing.T) {
	away := fmt.Errorf("502: %w", vcs.ErrUnavailable)
	cases := []struct {
		name  string
		fail  func(begun time.Time) func(n int) error
		calls int
		took  time.Duration
		want  error
	}{
		{"at once", func(time.Time) func(int) error { return func(int) error { return nil } }, 1, 0, nil},
		{"at the third try", func(time.Time) func(int) error {
			return func(n int) error {
				if n < 3 {
					return away
				}
				return nil
			}
		}, 3, 9 * time.Second, nil},
		{"never", func(time.Time) func(int) error { return func(int) error { return away } }, 5, 45 * time.Second, vcs.ErrUnavailable},
		{"forbidden", func(time.Time) func(int) error { return func(int) error { return vcs.ErrForbidden } }, 1, 0, vcs.ErrForbidden},
		{"rate limited", func(begun time.Time) func(int) error {
			return func(n int) error {
				if n == 1 {
					return &vcs.RateLimitError{RetryAt: begun.Add(time.Minute)}
				}
				return nil
			}
		}, 2, time.Minute, nil},
		{"rate limited for long", func(begun time.Time) func(int) error {
			return func(int) error { return &vcs.RateLimitError{RetryAt: begun.Add(time.Hour)} }
		}, 1, 0, vcs.ErrUnavailable},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				cancel() // the last word gets out all the same
				f := newForge()
				f.fail = c.fail(f.begun)
				err := progress.PostText(ctx, f, jobs.Job{ID: "5f1c", Thread: thread}, "the end")
				if !errors.Is(err, c.want) || f.calls != c.calls || time.Since(f.begun) != c.took {
					t.Errorf("after %d tries and %s: %v; want %d, %s, %v", f.calls, time.Since(f.begun), err, c.calls, c.took, c.want)
				}
				if got := f.seen(); err == nil && (len(got) != 1 || got[0].body != "the end" || got[0].marker != "progress:5f1c") {
					t.Errorf("posted %+v", got)
				}
			})
		})
	}
}
