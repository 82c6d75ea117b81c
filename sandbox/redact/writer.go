package redact

import (
	"cmp"
	"io"
	"slices"
	"sync"
)

const (
	// stretch is how much input is looked at in one go: it stays in the
	// processor's cache, and bounds the memory of a large Write.
	stretch = 64 << 10
	// patience: once more than this is held back, it is looked at again only
	// when an eighth has been added, or one byte at a time would cost the
	// square of what is held.
	patience = 1 << 10
)

// writer is a stream that is being redacted.
type writer struct {
	redactor *Redactor
	dst      io.Writer

	mu     sync.Mutex // guards all below
	held   []byte     // input not yet passed on
	enough int        // length of held at which it is worth looking again
	hidden int        // input up to here is part of what a marker was written for
	plain  track
	undone track
	found  []found
	out    []byte
	err    error
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for n < len(p) && w.err == nil {
		part := p[n:min(len(p), n+stretch)]
		w.held = append(w.held, part...)
		n += len(part)
		if len(w.held) >= w.enough {
			w.pass(false)
		}
	}
	if w.err != nil {
		return 0, w.err
	}
	return n, nil
}

// Close passes on what was held back.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && len(w.held) > 0 {
		w.pass(true)
	}
	return w.err
}

// pass writes as much as can be told.
func (w *writer) pass(final bool) {
	end := w.look(final)
	w.emit(end)
	w.plain.advance(end)
	w.undone.advance(end)
	w.held = append(w.held[:0], w.held[end:]...)
	w.enough = 0
	if n := len(w.held); n > patience {
		w.enough = n + n/8
	}
	if len(w.out) > 0 && w.err == nil {
		_, w.err = w.dst.Write(w.out)
	}
}

// look finds what to replace and returns up to where the input is settled.
func (w *writer) look(final bool) int {
	w.found = w.found[:0]
	hold, list := w.plain.scan(w.redactor, w.held, false, final, w.found)
	other := hold
	if w.plain.seen.escapes || w.plain.past != w.undone.past {
		other, list = w.undone.scan(w.redactor, w.held, true, final, list)
	} else {
		w.undone.copyOf(&w.plain)
	}
	w.found = list
	return w.undone.seen.unitStart(min(hold, other))
}

// emit writes the input up to end to out, with markers.
func (w *writer) emit(end int) {
	slices.SortStableFunc(w.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	w.out = w.out[:0]
	at := w.hidden
	for _, f := range w.found {
		if f.from >= end {
			break
		}
		if f.from >= at {
			w.out = append(w.out, w.held[at:f.from]...)
			w.out = append(w.out, f.marker...)
		}
		at = max(at, f.to)
	}
	if at < end {
		w.out = append(w.out, w.held[at:end]...)
	}
	w.hidden = max(at-end, 0)
}
