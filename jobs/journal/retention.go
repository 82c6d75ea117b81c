package journal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/jobs"
)

// Snapshots and commits of a run that another worker could go on from: their
// names in the archive.
const snapPrefix = "snap-"

// PatchName is the artifact that keeps a change which was not published.
const PatchName = "change.patch"

// SnapManifest is the artifact that holds a snapshot's manifest.
func SnapManifest(id string) string { return snapPrefix + id + ".json" }

// SnapPack is the artifact that holds what a snapshot adds.
func SnapPack(id string) string { return snapPrefix + id + ".pack" }

// resumable reports whether an artifact serves only to go on with a run.
func resumable(name string) bool {
	return strings.HasPrefix(name, snapPrefix)
}

// Rules say how long things are kept. Zero is for ever, or without limit.
type Rules struct {
	Journals  time.Duration // everything of a run
	Snapshots time.Duration // what serves only to go on with a run
	MaxBytes  int64         // of everything together
}

// Doom is what goes of a run, and why.
type Doom struct {
	Run   jobs.RunID `json:"run"`
	Names []string   `json:"names,omitempty"` // none is everything
	Bytes int64      `json:"bytes"`
	Time  time.Time  `json:"time"` // of the last write to the run
	Why   string     `json:"why"`
}

// Plan says what goes: what is older than the rules allow, and beyond that, as
// long as everything together is over the limit, the snapshots of the oldest
// runs and then the oldest runs. The age of everything of a run is that of its
// last write. What is to be kept counts, and stays.
func Plan(now time.Time, runs []Holding, rules Rules) []Doom {
	p := planning{runs: slices.Clone(runs), doomed: map[jobs.RunID]Doom{}}
	slices.SortFunc(p.runs, byAge)
	for _, h := range p.runs {
		p.total += h.Bytes
	}
	p.each(func(h Holding) bool { return older(now, h, rules.Journals) }, Holding.whole, "older than "+days(rules.Journals))
	p.each(func(h Holding) bool { return older(now, h, rules.Snapshots) }, Holding.snapshots, "older than "+days(rules.Snapshots))
	over := func(Holding) bool { return rules.MaxBytes > 0 && p.total > rules.MaxBytes }
	why := fmt.Sprintf("all together are over %d bytes", rules.MaxBytes)
	p.each(over, Holding.snapshots, why)
	p.each(over, Holding.whole, why)
	out := make([]Doom, 0, len(p.doomed))
	for _, h := range p.runs {
		if d, ok := p.doomed[h.Run]; ok {
			out = append(out, d)
		}
	}
	return out
}

func older(now time.Time, h Holding, than time.Duration) bool {
	return than > 0 && now.Sub(h.Time) > than
}

const day = 24 * time.Hour

// days is a duration in words.
func days(d time.Duration) string {
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}

// planning is one Plan at work.
type planning struct {
	runs   []Holding // oldest first
	total  int64     // bytes that stay
	doomed map[jobs.RunID]Doom
}

// each dooms a part of every run that may go and meets the condition, oldest
// first.
func (p *planning) each(when func(Holding) bool, part func(Holding) (Doom, bool), why string) {
	for _, h := range p.runs {
		d, some := part(h)
		was, doomed := p.doomed[h.Run]
		more := !doomed || len(was.Names) > 0 && len(d.Names) == 0
		if h.Keep || !some || !more || !when(h) {
			continue
		}
		p.total -= d.Bytes - was.Bytes
		d.Why = why
		p.doomed[h.Run] = d
	}
}

func (h Holding) whole() (Doom, bool) {
	return Doom{Run: h.Run, Bytes: h.Bytes, Time: h.Time}, true
}

// snapshots is the part of a holding that serves only to go on, if any.
func (h Holding) snapshots() (Doom, bool) {
	d := Doom{Run: h.Run, Time: h.Time}
	for _, a := range h.Artifacts {
		if resumable(a.Name) {
			d.Names = append(d.Names, a.Name)
			d.Bytes += a.Size
		}
	}
	return d, len(d.Names) > 0
}

// Doomed is the [Plan] for what is in the archive. Runs that live says are
// live (nil: none), and those whose journal has no end, are kept.
func (a *Archive) Doomed(ctx context.Context, now time.Time, rules Rules, live func(jobs.RunID) bool) ([]Doom, error) {
	runs, err := a.Runs(ctx)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i].Keep = live != nil && live(runs[i].Run)
	}
	asked := map[jobs.RunID]bool{}
	for { // only what would go is looked into; keeping it may doom others
		plan, again := Plan(now, runs, rules), false
		for _, d := range plan {
			if asked[d.Run] {
				continue
			}
			asked[d.Run] = true
			i := slices.IndexFunc(runs, func(h Holding) bool { return h.Run == d.Run })
			ended, err := a.ended(ctx, runs[i])
			if err != nil {
				return nil, err
			}
			runs[i].Keep = !ended
			again = again || !ended
		}
		if !again {
			return plan, nil
		}
	}
}

// Discard removes what a plan has doomed, unless it is live by now or was
// written to since. It gives what went; after an error as well.
func (a *Archive) Discard(ctx context.Context, plan []Doom, live func(jobs.RunID) bool) ([]Doom, error) {
	var gone []Doom
	for _, d := range plan {
		if err := ctx.Err(); err != nil {
			return gone, err
		}
		list, err := a.Names(ctx, d.Run)
		if err != nil {
			return gone, err
		}
		since := func(art Artifact) bool { return art.Time.After(d.Time) }
		if live != nil && live(d.Run) || slices.ContainsFunc(list, since) {
			continue
		}
		if err := a.Remove(ctx, d.Run, d.Names...); err != nil {
			return gone, err
		}
		gone = append(gone, d)
	}
	slices.SortFunc(gone, func(x, y Doom) int { return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.Run, y.Run)) })
	return gone, nil
}
