package journal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/jobs"
)

// Break is where a journal breaks.
type Break struct {
	Record int    `json:"record"` // from 1: its line's number in the file
	Offset int64  `json:"offset"` // of its line, in bytes from the beginning of the file
	Why    string `json:"why"`    // in words
}

// AuditReport is what a look at a journal file found.
type AuditReport struct {
	Run  jobs.RunID `json:"run,omitempty"`
	Good int        `json:"good"` // records before the first that is broken
	// Head is the hash of the last good record, and Last when that was written.
	Head string    `json:"head,omitempty"`
	Last time.Time `json:"last,omitzero"`
	// Complete says that the last record of the file is good and ends the run.
	Complete bool `json:"complete"`
	// Broken is the first record that does not hold; nil when all do.
	Broken *Break `json:"broken,omitempty"`
	// Told is the head that the journal was compared with, and ToldAt the
	// record that has it, 0 for none.
	Told   string `json:"told,omitempty"`
	ToldAt int    `json:"told_at,omitempty"`
}

// Audit checks the content of a journal file, byte for byte, and says where it
// first breaks. A record that is missing shows in the one that stands in its
// place; records missing at the end only by Complete, or by the head that the
// thread was told, which is compared if it is given.
func Audit(content []byte, head string) AuditReport {
	body, ends := bytes.CutSuffix(content, []byte{'\n'})
	var lines [][]byte
	if len(content) > 0 {
		lines = bytes.Split(body, []byte{'\n'})
	}
	records, err := Parse(lines)
	out := AuditReport{Good: len(records), Told: head}
	switch {
	case err != nil:
		out.Broken = breakAt(lines, len(records), wording(err, len(records)+1))
	case len(lines) > 0 && !ends:
		out.Good--
		records = records[:out.Good]
		out.Broken = breakAt(lines, out.Good, "its line is cut off at the end")
	}
	for i, r := range records {
		if r.Hash == head {
			out.ToldAt = i + 1
		}
	}
	if n := len(records); n > 0 {
		last := records[n-1]
		out.Run, out.Head, out.Last = last.Run, last.Hash, last.Time
		out.Complete = out.Broken == nil && last.Type == TypeEnded
	}
	return out
}

func breakAt(lines [][]byte, good int, why string) *Break {
	b := &Break{Record: good + 1, Why: why}
	for _, l := range lines[:good] {
		b.Offset += int64(len(l)) + 1
	}
	return b
}

// wording is what Parse says of a record, without what the report says itself.
func wording(err error, record int) string {
	if errors.Is(err, ErrNewer) {
		return "cannot be checked: " + err.Error()
	}
	text := strings.TrimPrefix(err.Error(), ErrBroken.Error()+": ")
	return strings.TrimPrefix(text, fmt.Sprintf("record %d ", record))
}

// Whole reports whether nothing is broken or missing as far as can be told.
func (r AuditReport) Whole() bool {
	return r.Complete && (r.Told == "" || r.ToldAt == r.Good)
}

// Words is the report in a line or two of text.
func (r AuditReport) Words() string {
	var out string
	switch b := r.Broken; {
	case b != nil:
		out = fmt.Sprintf("broken at record %d (byte %d): it %s; %d records before it hold", b.Record, b.Offset, lead(b.Why), r.Good)
	case r.Good == 0:
		return "empty: it holds no record"
	case !r.Complete:
		out = fmt.Sprintf("cut: the %d records hold together, but the last is no end: the run lives, was killed, or records were cut off", r.Good)
	default:
		out = fmt.Sprintf("whole: %d records", r.Good)
	}
	if r.Head != "" {
		out += "; head " + r.Head
	}
	switch {
	case r.Told == "":
	case r.ToldAt == 0:
		out += fmt.Sprintf("\nthe head that was told, %s, is not in it: records are missing, or it is another journal", r.Told)
	case r.ToldAt < r.Good:
		out += fmt.Sprintf("\nthe head that was told is record %d: %d records follow it", r.ToldAt, r.Good-r.ToldAt)
	default:
		out += "\nit is the head that was told"
	}
	return out
}

// lead makes a fault that begins with "its" go with "it".
func lead(why string) string {
	if rest, ok := strings.CutPrefix(why, "its "); ok {
		return "is damaged: its " + rest
	}
	return why
}
