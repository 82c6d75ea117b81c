// Package stuck notices that a run goes round in circles. It is pure: it sees
// calls, results and the name of the work tree, and gives verdicts.
//
// It sits under agent, which asks before each call and tells after. Three
// rules, each with its counts below: the same call with the same result in the
// same work tree; a cycle of two to five calls; a work tree that comes back to
// what it was. A fourth watches verifying commands that fail in the same way
// however the files are changed. Durations, times, addresses, temporary paths
// and progress figures in a result do not count as a difference. A changed tree
// or a changed result starts the count of repeats anew, so honest polling and
// edit-and-test rounds are left alone.
//
// To add a rule: keep its state in [Detector], give it a [Rule], and let After
// return the strictest finding.
package stuck

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"
)

// The counts of RUNTIME 1.6.
const (
	NudgeAt   = 3 // the same three times: say so
	BlockAt   = 4 // the fourth is not run
	MaxBlocks = 6 // so many calls not run: the run ends
	// RoundsToNudge and RoundsToEnd are how often a cycle of two to
	// [MaxPeriod] calls, or the return to an earlier tree, may happen.
	RoundsToNudge = 3
	RoundsToEnd   = 5
	MaxPeriod     = 5
	// SameFailures is how many different trees may fail a check in the same way.
	SameFailures = 3
	// MaxNudges is how many nudges one run may get.
	MaxNudges = 3
)

// Verdict says what to do.
type Verdict int

// The closed set of verdicts, in order of strictness.
const (
	Go Verdict = iota
	Nudge
	Block
	End
)

// Rule names what was seen.
type Rule string

// The closed set of rules.
const (
	RuleRepeat Rule = "repeat"
	RuleCycle  Rule = "cycle"
	RuleUndo   Rule = "undo"
)

// Finding is a verdict with its evidence. The zero value is Go.
type Finding struct {
	Verdict Verdict
	Rule    Rule
	Times   int
	// Calls are the names of the tools in one round of a cycle.
	Calls []string
}

// Call is one call in the work tree that it meets.
type Call struct {
	Name string
	Args json.RawMessage
	Tree string
}

// Result is how a call ended.
type Result struct {
	Text string
	Tree string // after it
	// Progress says that something outside of the files moved on although the
	// text may look the same: a process printed more.
	Progress bool
	// Informs says that the text is found out rather than written by the tool
	// about what it did: a command's output, a file's content.
	Informs bool
}

// digest is enough of a SHA-256 to tell apart what one run has; it is kept in
// every checkpoint.
type digest = [12]byte

func digestOf(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest(sum[:len(digest{})])
}

// Detector counts. It is for one goroutine.
type Detector struct {
	repeats map[digest]*count // of the present tree
	log     []entry           // the latest calls, at most MaxPeriod*RoundsToEnd
	logged  int               // calls that were ever in the log
	visits  map[string]int    // returns to a tree with nothing new learnt
	known   map[digest]bool   // results that informed
	news    bool              // one of them was new since the last return
	tick    uint64            // makes what has progressed differ from all else
	blocks  int
	nudges  int
	failing map[string]*failures
}

type count struct {
	result digest
	times  int
}

type entry struct {
	key  digest // call, tree and result
	name string
}

// New makes an empty detector.
func New() *Detector {
	return &Detector{repeats: make(map[digest]*count), visits: make(map[string]int), known: make(map[digest]bool), failing: make(map[string]*failures)}
}

// Before is asked when a call is about to run.
func (d *Detector) Before(c Call) Finding {
	k := key(c)
	seen := d.repeats[k]
	if seen == nil || seen.times < BlockAt-1 {
		return Finding{}
	}
	d.blocks++
	f := Finding{Verdict: Block, Rule: RuleRepeat, Times: seen.times}
	if d.blocks >= MaxBlocks {
		f.Verdict = End
		return f
	}
	if cycle := d.cycle(entry{key: join(k, seen.result), name: c.Name}); cycle.Verdict == End {
		return cycle
	}
	return f
}

// After is told how a call that ran has ended.
func (d *Detector) After(c Call, r Result) Finding {
	k, sum := key(c), digestOf([]byte(normalise(r.Text)))
	if r.Informs && !d.known[sum] {
		d.known[sum], d.news = true, true
	}
	same := join(k, sum)
	if r.Progress {
		d.tick++
		same = digestOf(binary.BigEndian.AppendUint64(same[:], d.tick))
	}
	found := d.cycle(entry{key: same, name: c.Name})
	if r.Tree != c.Tree {
		clear(d.repeats)
		found = strictest(found, d.visit(c.Tree, r.Tree))
	} else if !r.Progress {
		found = strictest(found, d.repeat(k, sum))
	}
	if found.Verdict != Nudge {
		return found
	}
	if d.nudges++; d.nudges > MaxNudges {
		return Finding{}
	}
	return found
}

// Reset forgets repeats and cycles: what a model saw may have left its view,
// so asking again is no sign of a circle.
func (d *Detector) Reset() {
	clear(d.repeats)
	d.log = d.log[:0]
}

func strictest(a, b Finding) Finding {
	if b.Verdict > a.Verdict {
		return b
	}
	return a
}

func (d *Detector) repeat(k, result digest) Finding {
	c := d.repeats[k]
	if c == nil || c.result != result {
		d.repeats[k] = &count{result: result, times: 1}
		return Finding{}
	}
	if c.times++; c.times == NudgeAt {
		return Finding{Verdict: Nudge, Rule: RuleRepeat, Times: c.times}
	}
	return Finding{}
}

// visit counts how often a tree is come back to.
func (d *Detector) visit(from, to string) Finding {
	if _, known := d.visits[from]; !known {
		d.visits[from] = 0
	}
	if _, known := d.visits[to]; !known {
		d.visits[to] = 0
		return Finding{}
	}
	if d.news { // an experiment that showed something new is no circle
		d.news = false
		return Finding{}
	}
	d.visits[to]++
	return rounds(RuleUndo, d.visits[to])
}

func rounds(rule Rule, n int) Finding {
	switch {
	case n >= RoundsToEnd:
		return Finding{Verdict: End, Rule: rule, Times: n}
	case n == RoundsToNudge:
		return Finding{Verdict: Nudge, Rule: rule, Times: n}
	}
	return Finding{}
}

// cycle adds to the log and looks whether it ends in rounds of the same calls.
func (d *Detector) cycle(e entry) Finding {
	d.log = append(d.log, e)
	d.logged++
	if most := MaxPeriod * RoundsToEnd; len(d.log) > most {
		d.log = append(d.log[:0], d.log[len(d.log)-most:]...)
	}
	var found Finding
	for period := 2; period <= MaxPeriod; period++ {
		n := d.matching(period)
		if n%period != 0 || d.uniform(period) {
			continue
		}
		f := rounds(RuleCycle, n/period)
		if f.Verdict > found.Verdict {
			for _, c := range d.log[len(d.log)-period:] {
				f.Calls = append(f.Calls, c.name)
			}
			found = f
		}
	}
	return found
}

// matching is how many of the latest entries repeat with the period.
func (d *Detector) matching(period int) int {
	n := min(period, len(d.log))
	for n < len(d.log) && d.log[len(d.log)-1-n].key == d.log[len(d.log)-1-n+period].key {
		n++
	}
	return n
}

// uniform: the last round is one call again and again, which is a repeat and
// no cycle.
func (d *Detector) uniform(period int) bool {
	last := d.log[len(d.log)-1].key
	for _, e := range d.log[max(len(d.log)-period, 0):] {
		if e.key != last {
			return false
		}
	}
	return true
}

func join(a, b digest) digest { return digestOf(append(a[:], b[:]...)) }

// key names a call: object keys sorted, spacing gone.
func key(c Call) digest {
	args := c.Args
	var v any
	if json.Unmarshal(args, &v) == nil {
		if canonical, err := json.Marshal(v); err == nil {
			args = canonical
		}
	}
	return digestOf([]byte(strings.Join([]string{c.Name, string(args), c.Tree}, "\x00")))
}
