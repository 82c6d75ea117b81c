package store_test

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// BenchmarkAppend writes records of 2 kB as a run does, one after the other,
// to a redis-server over its socket: as the embedded one is set, as a server
// of its own usually is, and without a file.
func BenchmarkAppend(b *testing.B) {
	for name, args := range map[string][]string{
		"always":   {"--appendonly", "yes", "--appendfsync", "always"},
		"everysec": {"--appendonly", "yes", "--appendfsync", "everysec"},
		"memory":   nil,
	} {
		b.Run(name, func(b *testing.B) {
			s := open(b, realRedis(b, args...), nil)
			j := must(s.Acquire(ctx, "job", "worker", time.Hour))(b).Journal("run")
			line := bytes.Repeat([]byte("x"), 2048)
			check(b, j.Append(ctx, 1, line)) // loads the script
			var took []time.Duration
			seq := uint64(1)
			for b.Loop() {
				seq++
				begun := time.Now()
				check(b, j.Append(ctx, seq, line))
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/median")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs/p99")
		})
	}
}
