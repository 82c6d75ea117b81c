package bench_test

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"
)

// median of values; of an even number the upper one.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func medianOf[V any, T cmp.Ordered](values []V, of func(V) T) T {
	out := make([]T, 0, len(values))
	for _, v := range values {
		out = append(out, of(v))
	}
	return median(out)
}

func readFull(r io.Reader, b []byte) (int, error) { return io.ReadFull(r, b) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// verdict is a figure beside its target.
type verdict struct {
	what         string
	got, target  float64
	unit         string
	moreIsBetter bool
}

func (v verdict) met() bool {
	if v.moreIsBetter {
		return v.got >= v.target
	}
	return v.got <= v.target
}

// String says it, and a miss as one.
func (v verdict) String() string {
	word := "met"
	if !v.met() {
		word = "MISSED"
	}
	return fmt.Sprintf("%-44s %10.2f %-4s target %8.2f: %s (%.2f of it)", v.what, v.got, v.unit, v.target, word, v.got/v.target)
}

// verdicts prints each.
func verdicts(b *testing.B, all ...verdict) {
	b.Helper()
	for _, v := range all {
		b.Log(v)
	}
}
