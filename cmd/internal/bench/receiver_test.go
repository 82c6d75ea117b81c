package bench_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// The measuring of the receiver: rounds of every target in turn, the median
// of the rounds counts.
const (
	rounds   = 3
	warmFor  = 2 * time.Second
	loadFor  = 6 * time.Second
	maxConns = 64
)

// The targets: docs/performance.md says where they come from.
const (
	targetRate = 6000.0 // deliveries a second
	targetP99  = 15.0   // milliseconds at half load
)

// quiet is the share of the machine that others may have for the rates to
// mean something.
const quiet = 0.05

// sample is one round of one receiver.
type sample struct {
	full, half    tally
	receiver      time.Duration // CPU per delivery at full load
	redis, client time.Duration
	// The shares of the machine that went to anything else, at full load and
	// at half.
	others, othersAtHalf float64
}

// cost is the CPU time of one delivery, of all processes together.
func (s sample) cost() time.Duration { return s.receiver + s.redis + s.client }

// rig is one receiver that is measured.
type rig struct {
	name   string
	code   int // the answer that counts
	open   func(dir string) (p *process, socket string, shut func() error, err error)
	result []sample
}

// BenchmarkReceiver measures accepted deliveries: signature, triage, dedupe
// and queue, over HTTP, against a handler that only verifies and decodes.
func BenchmarkReceiver(b *testing.B) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		b.Skip("no redis-server")
	}
	rigs := rigs(b)
	disk, err := syncTime(os.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for range rounds {
		for _, r := range rigs {
			r.result = append(r.result, r.measure(b))
		}
	}
	plainRate := medianOf(rigs[len(rigs)-1].result, func(s sample) float64 { return s.full.rate() })
	for _, r := range rigs {
		b.Run(r.name, func(b *testing.B) {
			r.report(b, plainRate)
			if r.code == http.StatusAccepted {
				r.judge(b, plainRate, disk)
			}
		})
	}
}

// judge prints the targets; a parent's log is not printed, so each has its own.
func (r *rig) judge(b *testing.B, plainRate float64, disk time.Duration) {
	if others := medianOf(r.result, func(s sample) float64 { return max(s.others, s.othersAtHalf) }); others > quiet {
		b.Logf("NOT A QUIET MACHINE: %.0f %% of it went to something else; take the CPU time per delivery, not the rates and their ratio", 100*others)
	}
	b.Logf("a write and sync of 2 kB on this disk: %s at the median", disk)
	verdicts(b,
		verdict{what: r.name + ": accepted at full load", got: r.rate(), target: targetRate, unit: "/s", moreIsBetter: true},
		verdict{what: r.name + ": p99 at half load", got: millis(r.quantileAtHalf(0.99)), target: targetP99, unit: "ms"},
		verdict{what: r.name + ": rate against the plain handler", got: r.rate(), target: plainRate, unit: "/s", moreIsBetter: true})
}

func rigs(b *testing.B) []*rig {
	bin, gh := build(b), newGitHub(b)
	return []*rig{
		{name: "external", code: http.StatusAccepted, open: func(dir string) (*process, string, func() error, error) {
			redis, err := startRedis(dir)
			if err != nil {
				return nil, "", nil, err
			}
			p, err := serve(bin, dir, "receiver", "unix://"+redis.socket, gh)
			if err != nil {
				return nil, "", nil, errors.Join(err, redis.stop())
			}
			return p, redis.socket, redis.stop, nil
		}},
		{name: "embedded", code: http.StatusAccepted, open: func(dir string) (*process, string, func() error, error) {
			p, err := serve(bin, dir, "receiver", "", gh)
			return p, filepath.Join(dir, "data", "redis", "redis.sock"), func() error { return nil }, err
		}},
		{name: "plain", code: http.StatusOK, open: func(dir string) (*process, string, func() error, error) {
			p, err := startPlain(filepath.Join(dir, "plain.log"))
			return p, "", func() error { return nil }, err
		}},
	}
}

// measure is one round: a fresh receiver and Redis, warmed, loaded fully, then
// at half the rate that it took.
func (r *rig) measure(b *testing.B) sample {
	dir := dataDir(b)
	p, socket, shut, err := r.open(dir)
	if err != nil {
		b.Fatalf("%s: %v", r.name, err)
	}
	s, err := r.load(b, p, socket)
	if err != nil {
		b.Errorf("%s: %v", r.name, err)
	}
	if err := p.stop(); err != nil && r.name != "plain" {
		b.Errorf("%s: %v", r.name, err)
	}
	if err := shut(); err != nil {
		b.Errorf("%s: redis: %v", r.name, err)
	}
	_ = os.RemoveAll(dir)
	return s
}

func (r *rig) load(b *testing.B, p *process, socket string) (sample, error) {
	l := &load{addr: p.addr, about: sampleSubject(), conns: maxConns}
	warm, err := l.full(b.Context(), warmFor)
	if err != nil {
		return sample{}, err
	}
	before, err := r.spent(p, socket)
	if err != nil {
		return sample{}, err
	}
	var s sample
	if s.full, err = l.full(b.Context(), loadFor); err != nil {
		return s, err
	}
	after, err := r.spent(p, socket)
	if err != nil {
		return s, err
	}
	s.share(before, after)
	if s.half, err = l.paced(b.Context(), loadFor, s.full.rate()/2); err != nil {
		return s, err
	}
	last, err := r.spent(p, socket)
	if err != nil {
		return s, err
	}
	s.othersAtHalf = elsewhere(s.half, after, last)
	return s, r.check(socket, warm, s.full, s.half)
}

// spending is the CPU time so far.
type spending struct{ machine, receiver, redis time.Duration }

func (r *rig) spent(p *process, socket string) (out spending, err error) {
	if out.machine, err = machineBusy(); err != nil {
		return out, err
	}
	if out.receiver, err = cpuOf(p.pid()); err != nil || socket == "" {
		return out, err
	}
	pid, err := redisPID(socket)
	if err != nil {
		return out, err
	}
	out.redis, err = cpuOf(pid)
	return out, err
}

// share divides the CPU time of the full load among the deliveries.
func (s *sample) share(before, after spending) {
	n := time.Duration(len(s.full.latencies))
	s.receiver, s.redis, s.client = (after.receiver-before.receiver)/n, (after.redis-before.redis)/n, s.full.client/n
	s.others = elsewhere(s.full, before, after)
}

// elsewhere is the share of the machine that went to none of the processes
// that are measured.
func elsewhere(t tally, before, after spending) float64 {
	ours := after.receiver - before.receiver + after.redis - before.redis + t.client
	rest := after.machine - before.machine - ours
	return max(0, rest.Seconds()/t.took.Seconds()/float64(runtime.NumCPU()))
}

// check holds that every delivery was answered as it should, and that the
// queue holds exactly what was answered 202.
func (r *rig) check(socket string, parts ...tally) error {
	accepted := int64(0)
	for _, t := range parts {
		accepted += int64(t.codes[r.code])
		if len(t.codes) != 1 || t.codes[r.code] == 0 {
			return fmt.Errorf("answers %v, want only %d", t.codes, r.code)
		}
	}
	if socket == "" {
		return nil
	}
	stored, err := queued(socket)
	if err == nil && stored != accepted {
		err = fmt.Errorf("%d deliveries answered 202, %d in the queue", accepted, stored)
	}
	return err
}

func (r *rig) rate() float64 {
	return medianOf(r.result, func(s sample) float64 { return s.full.rate() })
}

func (r *rig) quantileAtHalf(q float64) time.Duration {
	return medianOf(r.result, func(s sample) time.Duration { return quantile(s.half.latencies, q) })
}

func (r *rig) report(b *testing.B, plainRate float64) {
	of := func(value func(sample) float64) float64 { return medianOf(r.result, value) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(r.rate(), "deliveries/s")
	b.ReportMetric(r.rate()/plainRate, "of-plain")
	b.ReportMetric(of(func(s sample) float64 { return millis(quantile(s.full.latencies, 0.5)) }), "full-p50-ms")
	b.ReportMetric(of(func(s sample) float64 { return millis(quantile(s.full.latencies, 0.99)) }), "full-p99-ms")
	b.ReportMetric(millis(r.quantileAtHalf(0.5)), "half-p50-ms")
	b.ReportMetric(millis(r.quantileAtHalf(0.99)), "half-p99-ms")
	b.ReportMetric(of(func(s sample) float64 { return micros(s.receiver) }), "receiver-cpu-µs")
	b.ReportMetric(of(func(s sample) float64 { return micros(s.redis) }), "redis-cpu-µs")
	b.ReportMetric(of(func(s sample) float64 { return micros(s.client) }), "client-cpu-µs")
	b.ReportMetric(100*of(func(s sample) float64 { return s.others }), "others-%")
	for _, s := range r.result {
		b.Logf("%-8s %6.0f/s at full load; at half p50 %6.2f ms, p99 %6.2f ms; CPU %s a delivery; machine busy with something else: %.0f %% and %.0f %%",
			r.name, s.full.rate(), millis(quantile(s.half.latencies, 0.5)), millis(quantile(s.half.latencies, 0.99)), s.cost(), 100*s.others, 100*s.othersAtHalf)
	}
}
