package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/greenwright/greenwright/jobs"
)

// Sink takes the lines of one run, in order. Append returns when the line is
// as durable as the sink makes it; lines come one at a time.
type Sink interface {
	Append(ctx context.Context, seq uint64, line []byte) error
}

// Writer appends records to a run's journal and keeps them, so that the run
// can report from them. It is safe for concurrent use.
type Writer struct {
	run    jobs.RunID
	sink   Sink
	now    func() time.Time
	redact func([]byte) []byte

	mu      sync.Mutex
	records []Record // under mu
	broken  error    // under mu: the first error, which ends all writing
}

// NewWriter begins an empty journal. What redact takes out of a record's JSON,
// if it is set, is nowhere in the journal.
func NewWriter(run jobs.RunID, sink Sink, now func() time.Time, redact func([]byte) []byte) *Writer {
	if redact == nil {
		redact = func(p []byte) []byte { return p }
	}
	return &Writer{run: run, sink: sink, now: now, redact: redact}
}

// ContinueWriter goes on with a journal of which these are the records, as
// Parse has checked them.
func ContinueWriter(run jobs.RunID, records []Record, sink Sink, now func() time.Time, redact func([]byte) []byte) *Writer {
	w := NewWriter(run, sink, now, redact)
	w.records = append(w.records, records...)
	return w
}

// withheld stands for a record of which nothing could be kept.
const withheld = `{"withheld":"the record held a secret and could not be kept without it"}`

// clean is a record's JSON without secrets.
func (w *Writer) clean(data []byte) []byte {
	out := w.redact(data)
	if !json.Valid(out) {
		return []byte(withheld)
	}
	return out
}

// Append writes one record. After an error nothing more is written: the chain
// must have no gap.
func (w *Writer) Append(ctx context.Context, t Type, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding a %s record: %w", t, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return fmt.Errorf("encoding a %s record: %w", t, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.broken
	}
	r := Record{Schema: Schema, Run: w.run, Seq: uint64(len(w.records)) + 1, Time: w.now().UTC(), Type: t, Data: w.clean(compact.Bytes())}
	if n := len(w.records); n > 0 {
		r.Prev = w.records[n-1].Hash
	}
	if r.Hash, err = r.hash(); err != nil {
		return err
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding a %s record: %w", t, err)
	}
	if err := w.append(ctx, r.Seq, line); err != nil {
		w.broken = fmt.Errorf("writing the journal: %w", err)
		return w.broken
	}
	w.records = append(w.records, r)
	return nil
}

// append hands a line to the sink. What a sink has lost of the end it gets
// again first. It is called under mu.
func (w *Writer) append(ctx context.Context, seq uint64, line []byte) error {
	err := w.sink.Append(ctx, seq, line)
	gap, lost := errors.AsType[*jobs.GapError](err)
	if !lost || gap.Have >= uint64(len(w.records)) {
		return err
	}
	missing, err := Lines(w.records[gap.Have:])
	if err != nil {
		return err
	}
	for i, m := range missing {
		if err := w.sink.Append(ctx, gap.Have+uint64(i)+1, m); err != nil {
			return err
		}
	}
	return w.sink.Append(ctx, seq, line)
}

// Records is what has been written so far.
func (w *Writer) Records() []Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Record(nil), w.records...)
}

// Lines encodes records as the lines of a journal.
func Lines(records []Record) ([][]byte, error) {
	out := make([][]byte, 0, len(records))
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encoding a record: %w", err)
		}
		out = append(out, line)
	}
	return out, nil
}
