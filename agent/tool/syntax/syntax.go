// Package syntax tells whether a file is well formed in its language, so that
// an edit that breaks a file is known at once and not three steps later.
//
// It sits under agent/tool beside the tools that change files. It is pure: a
// path, whose name chooses the language, and bytes in, faults out.
//
// Invariants: no false alarm. A name that is not known, a dialect that the
// parser does not speak, a file over [MaxBytes], a parser that panics or takes
// too long: no fault. Only syntax is looked at, never names, types or schemas.
//
// To add a language: a function in this package from bytes to faults, and its
// file names in languageOf.
package syntax

import (
	"cmp"
	"slices"
	"time"
)

const (
	// MaxBytes is the largest file that is checked.
	MaxBytes = 1 << 20
	// timeLimit is how long one file may take (RUNTIME 2: 2 s for the work of
	// an edit). A parser that takes longer is left to end by itself: its input
	// is bounded by MaxBytes.
	timeLimit = 2 * time.Second
	// maxFaults is how many faults of one file are told: those after the first
	// few are mostly its echoes.
	maxFaults = 10
)

// Fault is one place that the language's parser refuses.
type Fault struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`             // counted from 1
	Column  int    `json:"column,omitempty"` // in bytes, counted from 1; zero is unknown
	Message string `json:"message"`
}

// checker looks at one file of a known language.
type checker func(body []byte) []Fault

// Check returns the first faults of a file in order of their lines, none when
// it is well formed or not checked.
func Check(path string, body []byte) []Fault {
	return run(path, body, languageOf(path, body))
}

func run(path string, body []byte, check checker) []Fault {
	if check == nil || len(body) > MaxBytes {
		return nil
	}
	done := make(chan []Fault, 1)
	go func() { done <- guarded(check, body) }()
	limit := time.NewTimer(timeLimit)
	defer limit.Stop()
	select {
	case faults := <-done:
		return inOrder(path, faults)
	case <-limit.C:
		return nil
	}
}

// guarded calls a parser that other people wrote on bytes that other people
// wrote: a panic is no fault of the file.
func guarded(check checker, body []byte) (faults []Fault) {
	defer func() {
		if recover() != nil {
			faults = nil
		}
	}()
	return check(body)
}

func inOrder(path string, faults []Fault) []Fault {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	faults = faults[:min(len(faults), maxFaults)]
	for i := range faults {
		faults[i].Path = path
	}
	return faults
}

// New returns the faults of after that before did not have: those whose
// message is told more often than it was. Lines are not compared, because an
// edit moves them. A nil before is a file that did not exist.
func New(path string, before, after []byte) []Fault {
	check := languageOf(path, before)
	if check == nil || before == nil {
		check = languageOf(path, after)
	}
	faults := run(path, after, check)
	if len(faults) == 0 || before == nil {
		return faults
	}
	if len(before) > MaxBytes {
		return nil // what was wrong with it already is not known
	}
	had := make(map[string]int)
	for _, f := range run(path, before, check) {
		had[f.Message]++
	}
	return slices.DeleteFunc(faults, func(f Fault) bool {
		had[f.Message]--
		return had[f.Message] >= 0
	})
}
