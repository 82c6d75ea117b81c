// Package stuck notices that a run repeats itself. It is pure: it sees calls,
// results and the name of the work tree, and gives verdicts.
//
// It sits under agent, which asks before each call and tells after. A repeat
// is the same tool with the same arguments in the same work tree giving the
// same result; durations, times, addresses and temporary paths in a result do
// not count as a difference. A changed tree or a changed result starts anew,
// so honest polling and edit-and-test cycles are left alone.
//
// To add a rule: keep its state in [Detector] and let Before or After return
// the strictest verdict.
package stuck

import (
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"strings"
)

// The thresholds of RUNTIME 1.6, first form.
const (
	NudgeAt = 3 // the same three times: say so
	BlockAt = 4 // the fourth is not run
	EndAt   = 6 // the sixth attempt ends the run
	// MaxNudges is how many nudges one run may get.
	MaxNudges = 3
)

// Verdict says what to do.
type Verdict int

// The closed set of verdicts.
const (
	Go Verdict = iota
	Nudge
	Block
	End
)

// Detector counts repeats. It is for one goroutine.
type Detector struct {
	seen     map[[32]byte]*count
	nudges   int
	volatile *regexp.Regexp
}

type count struct {
	result  [32]byte
	times   int
	blocked int
}

// New makes an empty detector.
func New() *Detector {
	return &Detector{
		seen: make(map[[32]byte]*count),
		// Times of day, dates, durations, hex addresses, temporary paths.
		volatile: regexp.MustCompile(`\d{4}-\d\d-\d\d|\d{1,2}:\d\d(:\d\d)?(\.\d+)?|\b\d+(\.\d+)?\s?(ns|µs|us|ms|s|sec|seconds|m|min)\b|0x[0-9a-fA-F]+|/tmp/[^\s:'"]+`),
	}
}

// Before is asked when a call is about to run in the given work tree.
func (d *Detector) Before(name string, args json.RawMessage, tree string) Verdict {
	c := d.seen[key(name, args, tree)]
	if c == nil || c.times < BlockAt-1 {
		return Go
	}
	c.blocked++
	if c.times+c.blocked >= EndAt {
		return End
	}
	return Block
}

// After is told how a call that ran in the given work tree ended; tree is the
// one from before it.
func (d *Detector) After(name string, args json.RawMessage, tree, result string) Verdict {
	k := key(name, args, tree)
	sum := sha256.Sum256([]byte(d.volatile.ReplaceAllString(result, "~")))
	c := d.seen[k]
	if c == nil || c.result != sum {
		d.seen[k] = &count{result: sum, times: 1}
		return Go
	}
	c.times++
	if c.times == NudgeAt && d.nudges < MaxNudges {
		d.nudges++
		return Nudge
	}
	return Go
}

// key names a call: object keys sorted, spacing gone.
func key(name string, args json.RawMessage, tree string) [32]byte {
	var v any
	if json.Unmarshal(args, &v) == nil {
		if canonical, err := json.Marshal(v); err == nil {
			args = canonical
		}
	}
	return sha256.Sum256([]byte(strings.Join([]string{name, string(args), tree}, "\x00")))
}
