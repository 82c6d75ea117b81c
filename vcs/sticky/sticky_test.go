package sticky_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/sticky"
)

var errGone = errors.New("gone")

// board is a thread with at most one comment of ours.
type board struct {
	id    int64 // of the comment; 0 is none
	next  int64
	finds int
	busy  bool
	fault error
}

func (b *board) ways(t *testing.T) sticky.Ways[int64] {
	turn := func(do func() (int64, error)) (int64, error) {
		if b.busy {
			t.Error("two writers at once")
		}
		b.busy = true
		time.Sleep(time.Second) // in a bubble
		b.busy = false
		if b.fault != nil {
			return 0, b.fault
		}
		return do()
	}
	return sticky.Ways[int64]{
		Edit: func(id int64) (int64, error) {
			return turn(func() (int64, error) {
				if id != b.id {
					return 0, errGone
				}
				return id, nil
			})
		},
		Find: func() (int64, error) { b.finds++; return turn(func() (int64, error) { return b.id, nil }) },
		Create: func() (int64, error) {
			return turn(func() (int64, error) { b.next++; b.id = b.next; return b.id, nil })
		},
		ID: func(id int64) int64 { return id }, Gone: func(err error) bool { return errors.Is(err, errGone) },
	}
}

func TestPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := sticky.New(), &board{next: 7}
		put := func() (int64, error) { return sticky.Put(t.Context(), c, "k", b.ways(t)) }
		for range 3 {
			if id, err := put(); id != 8 || err != nil {
				t.Errorf("put %d, %v, want 8", id, err)
			}
		}
		if b.finds != 1 {
			t.Errorf("looked %d times", b.finds)
		}
		b.id = 0 // somebody deleted it
		if id, err := put(); id != 9 || err != nil || b.finds != 2 {
			t.Errorf("after a deletion: %d, %v, looked %d times", id, err, b.finds)
		}
		b.fault = errors.New("away")
		if _, err := put(); !errors.Is(err, b.fault) || b.finds != 2 {
			t.Errorf("an edit that fails: %v, looked %d times", err, b.finds)
		}
		b.fault = nil
		// One that was written before, by another process.
		if id, err := sticky.Put(t.Context(), sticky.New(), "k", b.ways(t)); id != 9 || err != nil {
			t.Errorf("found %d, %v", id, err)
		}
	})
}

func TestPutAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := sticky.New(), &board{}
		done := make(chan int64, 8)
		for range cap(done) {
			go func() {
				id, err := sticky.Put(t.Context(), c, "k", b.ways(t))
				if err != nil {
					t.Error(err)
				}
				done <- id
			}()
		}
		for range cap(done) {
			if id := <-done; id != 1 {
				t.Errorf("wrote %d", id)
			}
		}
		slow, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		go func() {
			id, _ := sticky.Put(t.Context(), c, "k", b.ways(t))
			done <- id
		}()
		synctest.Wait()
		if _, err := sticky.Put(slow, c, "k", b.ways(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for a turn ended in %v", err)
		}
		<-done
	})
}

func TestMarker(t *testing.T) {
	for marker, good := range map[string]bool{
		"run:1": true, "a-b_c.d:9": true, "": false, "a b": false, "a\nb": false, "-->": false, "é": false, strings.Repeat("x", 201): false,
	} {
		line, err := sticky.Line(marker)
		if (err == nil) != good || err != nil && !errors.Is(err, vcs.ErrInvalid) || good && !sticky.Begins(line+"text", line) {
			t.Errorf("%q: %q, %v", marker, line, err)
		}
	}
	line, err := sticky.Line("m")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{
		"<!-- greenwright:m -->": true, "<!-- greenwright:m -->\r\nx": true, "<!-- greenwright:m --> x": false, "<!-- greenwright:mm -->\n": false,
		" <!-- greenwright:m -->\n": false, "x\n<!-- greenwright:m -->\n": false,
	} {
		if sticky.Begins(body, line) != want {
			t.Errorf("%q: want %v", body, want)
		}
	}
}
