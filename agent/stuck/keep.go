package stuck

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The prefixes of cells, see [Detector.Keep].
const (
	cellCounts = "counts"
	cellRepeat = "repeat/" // call: result and times
	cellLog    = "log/"    // number: entry and tool
	cellVisit  = "visit/"  // tree: times
	cellKnown  = "known/"  // result
	cellFailed = "failed/" // check: output and trees
)

// Keep gives all that is remembered, as cells: names with a text each. Most of
// them stay the same from one step to the next.
func (d *Detector) Keep() map[string]string {
	out := make(map[string]string, 1+len(d.repeats)+len(d.log)+len(d.visits)+len(d.known)+len(d.failing))
	out[cellCounts] = fmt.Sprintf("%t %d %d %d %d", d.news, d.tick, d.blocks, d.nudges, d.logged)
	for k, c := range d.repeats {
		out[cellRepeat+text(k)] = text(c.result) + " " + strconv.Itoa(c.times)
	}
	for i, e := range d.log {
		out[cellLog+strconv.Itoa(d.logged-len(d.log)+i)] = text(e.key) + " " + e.name
	}
	for tree, n := range d.visits {
		out[cellVisit+tree] = strconv.Itoa(n)
	}
	for k := range d.known {
		out[cellKnown+text(k)] = ""
	}
	for check, f := range d.failing {
		out[cellFailed+check] = text(f.output) + " " + strings.Join(slices.Sorted(maps.Keys(f.trees)), " ")
	}
	return out
}

// Restore takes what Keep gave, into a detector that has seen nothing. A cell
// that cannot be read is left out: a circle is then noticed later.
func (d *Detector) Restore(kept map[string]string) {
	_, _ = fmt.Sscanf(kept[cellCounts], "%t %d %d %d %d", &d.news, &d.tick, &d.blocks, &d.nudges, &d.logged)
	log := make(map[int]entry)
	for name, value := range kept {
		first, rest, _ := strings.Cut(value, " ")
		switch {
		case strings.HasPrefix(name, cellRepeat):
			d.repeats[parse(name[len(cellRepeat):])] = &count{result: parse(first), times: number(rest)}
		case strings.HasPrefix(name, cellLog):
			log[number(name[len(cellLog):])] = entry{key: parse(first), name: rest}
		case strings.HasPrefix(name, cellVisit):
			d.visits[name[len(cellVisit):]] = number(first)
		case strings.HasPrefix(name, cellKnown):
			d.known[parse(name[len(cellKnown):])] = true
		case strings.HasPrefix(name, cellFailed):
			f := &failures{output: parse(first), trees: make(map[string]bool)}
			for _, tree := range strings.Fields(rest) {
				f.trees[tree] = true
			}
			d.failing[name[len(cellFailed):]] = f
		}
	}
	for _, i := range slices.Sorted(maps.Keys(log)) {
		d.log = append(d.log, log[i])
	}
}

func text(d digest) string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// parse reads a digest; what is none becomes one that no call has.
func parse(s string) (d digest) {
	if raw, err := base64.RawURLEncoding.DecodeString(s); err == nil && len(raw) == len(d) {
		copy(d[:], raw)
	}
	return d
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
