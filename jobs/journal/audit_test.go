package journal_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
)

// archived is the file of a whole journal with an end.
func archived(t *testing.T) (content []byte, records []journal.Record) {
	t.Helper()
	ctx := t.Context()
	sink := &memory{}
	w := journal.NewWriter("run-1", sink, clock(), nil)
	err := w.Append(ctx, journal.TypeStarted, journal.Started{Attempt: 1, Version: "1"})
	for _, d := range awkward {
		if err == nil {
			err = w.Append(ctx, journal.TypeNote, d)
		}
	}
	if err == nil {
		err = w.Append(ctx, journal.TypeEnded, journal.Ended{State: jobs.Verified, Cause: "all of it"})
	}
	a := openArchive(t, "mem://")
	if err == nil {
		err = a.Put(ctx, "run-1", sink.lines)
	}
	if err == nil {
		content, err = a.Journal(ctx, "run-1")
	}
	if err != nil {
		t.Fatal(err)
	}
	return content, w.Records()
}

// lineOf is the line that a byte of a file is in, from 1, and where it begins.
func lineOf(content []byte, at int) (line int, offset int64) {
	before := content[:at]
	return bytes.Count(before, []byte{'\n'}) + 1, int64(bytes.LastIndexByte(before, '\n') + 1)
}

// TestAuditLocatesEveryByte changes every byte of an archived journal in
// several ways, and takes each out and puts one in: the record is named.
func TestAuditLocatesEveryByte(t *testing.T) {
	content, records := archived(t)
	if r := journal.Audit(content, ""); !r.Whole() || r.Good != len(records) || r.Head != records[len(records)-1].Hash {
		t.Fatalf("before: %+v", r)
	}
	tried := 0
	try := func(what string, bad []byte, at int) {
		tried++
		line, offset := lineOf(content, at)
		r := journal.Audit(bad, "")
		if r.Whole() || r.Broken == nil || r.Broken.Record != line || r.Broken.Offset != offset || r.Good != line-1 || r.Broken.Why == "" {
			t.Fatalf("%s at byte %d, in record %d at %d: %s (%+v)", what, at, line, offset, r.Words(), r.Broken)
		}
	}
	for i, was := range content {
		for _, b := range slices.Compact([]byte{was ^ 1, was ^ 0x20, 0xff, '\n', '0'}) {
			if b == was {
				continue
			}
			bad := bytes.Clone(content)
			bad[i] = b
			try("changed to "+string(rune(b)), bad, i)
		}
		try("removed", slices.Delete(bytes.Clone(content), i, i+1), i)
		try("put in", slices.Insert(bytes.Clone(content), i, 'x'), i)
	}
	try("appended", append(bytes.Clone(content), 'x'), len(content))
	try("empty line appended", append(bytes.Clone(content), '\n'), len(content))
	t.Logf("%d mutations of %d bytes in %d records, each found and located", tried, len(content), len(records))
}

// TestAuditLocatesLines deletes, doubles, exchanges and cuts off lines.
func TestAuditLocatesLines(t *testing.T) {
	content, records := archived(t)
	lines := bytes.SplitAfter(bytes.TrimSuffix(content, []byte{'\n'}), []byte{'\n'})
	lines[len(lines)-1] = append(bytes.Clone(lines[len(lines)-1]), '\n')
	n, tried, head := len(lines), 0, records[len(records)-1].Hash
	audit := func(l [][]byte, head string) journal.AuditReport {
		tried++
		return journal.Audit(bytes.Join(l, nil), head)
	}
	named := func(what string, r journal.AuditReport, want int) {
		if r.Whole() || r.Broken == nil || r.Broken.Record != want {
			t.Errorf("%s: %s, want record %d", what, r.Words(), want)
		}
	}
	for i := range n {
		doubled := slices.Insert(slices.Clone(lines), i, lines[i])
		named("doubled", audit(doubled, ""), i+2)
		gone := slices.Delete(slices.Clone(lines), i, i+1)
		if r := audit(gone, head); i < n-1 {
			named("deleted", r, i+1) // its successor, which stands in its place
		} else if r.Whole() || r.Complete || r.Broken != nil || r.ToldAt != 0 || r.Good != n-1 {
			t.Errorf("last deleted: %s", r.Words())
		}
		for j := i + 1; j < n; j++ {
			swapped := slices.Clone(lines)
			swapped[i], swapped[j] = swapped[j], swapped[i]
			named("exchanged", audit(swapped, ""), i+1)
		}
		cut := audit(lines[:i], "")
		if cut.Whole() || cut.Complete || cut.Broken != nil || cut.Good != i {
			t.Errorf("cut after %d: %s", i, cut.Words())
		}
		if told := audit(lines, records[i].Hash); told.ToldAt != i+1 || told.Whole() != (i == n-1) {
			t.Errorf("told record %d: %s", i+1, told.Words())
		}
	}
	for i := 1; i < len(content); i++ { // cut anywhere
		tried++
		r := journal.Audit(content[:i], head)
		line, offset := lineOf(content, i)
		clean := content[i-1] == '\n'
		if r.Whole() || r.Good != line-1 || clean != (r.Broken == nil) || !clean && r.Broken.Offset != offset {
			t.Fatalf("cut at byte %d, in record %d: %s", i, line, r.Words())
		}
	}
	t.Logf("%d mutations of %d lines, each found and located", tried, n)
}

func TestAuditWords(t *testing.T) {
	content, records := archived(t)
	head := records[len(records)-1].Hash
	other := strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		content    []byte
		head, want string
	}{
		"whole":       {content, "", "whole: "},
		"as told":     {content, head, "is the head that was told"},
		"grown":       {content, records[1].Hash, "told is record 2"},
		"another":     {content, other, "is not in it"},
		"nothing":     {nil, "", "empty"},
		"no journal":  {[]byte("hello\n"), "", "broken at record 1 (byte 0): it cannot be read"},
		"without end": {content[:bytes.IndexByte(content, '\n')+1], "", "cut: the 1 records hold"},
		"no newline":  {bytes.TrimSuffix(content, []byte{'\n'}), "", "its line is cut off"},
	} {
		r := journal.Audit(c.content, c.head)
		if got := r.Words(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		var again journal.AuditReport
		if b, err := json.Marshal(r); err != nil || json.Unmarshal(b, &again) != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("%s: as JSON (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzAudit: whatever is called whole is what was written.
func FuzzAudit(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"schema":1,"run":"r","seq":1,"time":"2026-01-01T00:00:00Z","type":"run_ended","data":{},"prev":"","hash":""}` + "\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		r := journal.Audit(content, "")
		if r.Broken != nil && (r.Broken.Offset < 0 || r.Broken.Offset > int64(len(content)) || r.Complete) {
			t.Errorf("%+v", r)
		}
		if r.Whole() {
			records, err := journal.Parse(bytes.Split(bytes.TrimSuffix(content, []byte{'\n'}), []byte{'\n'}))
			if err != nil || len(records) != r.Good {
				t.Errorf("called whole: %v", err)
			}
		}
	})
}
