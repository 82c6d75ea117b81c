package actions_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/actions"
	"github.com/greenwright/greenwright/jobs/journal"
)

// book takes records until it is full.
type book struct {
	room int
	got  []any
	live []bool // whether the context was live
}

func (b *book) Append(ctx context.Context, t journal.Type, data any) error {
	if len(b.got) == b.room {
		return jobs.ErrLeaseLost
	}
	b.got, b.live = append(b.got, t, data), append(b.live, ctx.Err() == nil)
	b.room++ // a record is two entries
	return nil
}

var intended = journal.ActionIntended{Key: "push:x", Kind: "push", Target: "x"}

func TestAnActionIsRecordedBeforeAndAfter(t *testing.T) {
	trouble := errors.New("trouble")
	for name, c := range map[string]struct {
		done actions.Done
		err  error
		want journal.ActionFinished
	}{
		"done":   {actions.Done{Result: "abc", URL: "https://example.com"}, nil, journal.ActionFinished{Key: "push:x", Result: "abc", URL: "https://example.com"}},
		"failed": {actions.Done{}, trouble, journal.ActionFinished{Key: "push:x", Error: "trouble"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &book{room: 100}
			ctx, cancel := context.WithCancel(context.Background())
			got, err := actions.New(b).Do(ctx, intended, func(context.Context) (actions.Done, error) {
				if len(b.got) != 2 {
					t.Errorf("it is performed after %d records, want the intention before", len(b.got)/2)
				}
				cancel() // what has been done is recorded all the same
				return c.done, c.err
			})
			if !errors.Is(err, c.err) || got != c.done {
				t.Errorf("Do = %+v, %v", got, err)
			}
			if diff := cmp.Diff([]any{journal.TypeIntended, intended, journal.TypeDone, c.want}, b.got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if !b.live[1] {
				t.Error("the end was recorded with a context that had ended")
			}
		})
	}
}

func TestNothingIsDoneWithoutARecord(t *testing.T) {
	_, err := actions.New(&book{}).Do(context.Background(), intended, func(context.Context) (actions.Done, error) {
		t.Error("performed without a record")
		return actions.Done{}, nil
	})
	if !errors.Is(err, jobs.ErrLeaseLost) {
		t.Errorf("error is %v, want the journal's", err)
	}
}

func TestAnEndThatCannotBeRecordedIsAnError(t *testing.T) {
	b := &book{room: 100}
	trouble := errors.New("trouble")
	done, err := actions.New(b).Do(context.Background(), intended, func(context.Context) (actions.Done, error) {
		b.room = len(b.got)
		return actions.Done{Result: "abc"}, trouble
	})
	if !errors.Is(err, jobs.ErrLeaseLost) || !errors.Is(err, trouble) || done.Result != "abc" {
		t.Errorf("Do = %+v, %v; want both errors and what was done", done, err)
	}
}

// What the journal calls done is not done again, and is told as it was.
func TestWhatIsDoneIsNotDoneAgain(t *testing.T) {
	b := &book{room: 100}
	log := actions.New(b, actions.WithPast(map[string]journal.ActionFinished{"push:x": {Key: "push:x", Result: "abc", URL: "https://example.com"}}))
	done, err := log.Do(context.Background(), intended, func(context.Context) (actions.Done, error) {
		t.Error("performed again")
		return actions.Done{}, nil
	})
	if want := (actions.Done{Result: "abc", URL: "https://example.com"}); err != nil || done != want || len(b.got) != 0 {
		t.Errorf("Do = %+v, %v with %d records, want %+v and none", done, err, len(b.got)/2, want)
	}
}

// A worker that has lost its lease between the record and the effect has none.
func TestNothingIsDoneWithoutALease(t *testing.T) {
	b := &book{room: 100}
	log := actions.New(b, actions.WithFence(func(context.Context) error {
		if len(b.got) != 2 {
			t.Errorf("the lease is looked at after %d records, want the intention before", len(b.got)/2)
		}
		return jobs.ErrLeaseLost
	}))
	_, err := log.Do(context.Background(), intended, func(context.Context) (actions.Done, error) {
		t.Error("performed without a lease")
		return actions.Done{}, nil
	})
	if !errors.Is(err, jobs.ErrLeaseLost) {
		t.Errorf("error is %v, want jobs.ErrLeaseLost", err)
	}
}
