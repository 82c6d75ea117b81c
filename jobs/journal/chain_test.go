package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
)

// memory is a sink that keeps its lines, and fails when it is told to.
type memory struct {
	lines [][]byte
	fail  error
}

func (m *memory) Append(_ context.Context, seq uint64, line []byte) error {
	if m.fail != nil {
		return m.fail
	}
	if seq != uint64(len(m.lines))+1 {
		return fmt.Errorf("sequence %d after %d lines", seq, len(m.lines))
	}
	m.lines = append(m.lines, bytes.Clone(line))
	return nil
}

// clock ticks a second and a nanosecond each time it is read.
func clock() func() time.Time {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	return func() time.Time {
		at = at.Add(time.Second + time.Nanosecond)
		return at
	}
}

// awkward are data whose encoding could differ the second time.
var awkward = []any{
	journal.Note{Kind: journal.NoteNotice, Text: "<script>&amp;</script> \u2028 \u2029 \x00 \\ \" é 🟢"},
	journal.Note{Kind: journal.NoteNotice, Text: "invalid \xff\xfe utf-8"},
	json.RawMessage("{ \"html\" : \"<>&\", \"line\":\"\u2028\",\n \"twice\": 1, \"twice\": 2, \"bad\": \"\xff\" }"),
	json.RawMessage(`{"big":123456789012345678901234567890,"exp":1E+400,"small":1.0,"neg":-0}`),
	map[string]any{"raw": json.RawMessage(`[ "<b>" , 9007199254740993 ]`)},
	agent.Entry{Kind: agent.EntryIntended, Call: &agent.CallRecord{Call: model.ToolCall{Name: "shell", Arguments: json.RawMessage(`{ "command": "a && b <c >d \u2028" }`)}}},
	journal.CheckRan{Phase: journal.Before, Name: "test", Command: "go test ./... | tee <&2", ExitCode: -1, Cause: "exited", Duration: time.Duration(1<<62 + 1)},
	nil,
	[]int{},
}

func written(t *testing.T, data ...any) ([]journal.Record, [][]byte) {
	t.Helper()
	var sink memory
	w := journal.NewWriter("run-1", &sink, clock(), nil)
	for _, d := range data {
		if err := w.Append(context.Background(), journal.TypeNote, d); err != nil {
			t.Fatal(err)
		}
	}
	return w.Records(), sink.lines
}

func TestEncodingIsStable(t *testing.T) {
	records, lines := written(t, awkward...)
	got, err := journal.Parse(lines)
	if err != nil {
		t.Fatal(err)
	}
	again, err := journal.Lines(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines, again); diff != "" {
		t.Errorf("a journal that was read is written otherwise (-first +second):\n%s", diff)
	}
	for i := range got {
		if got[i].Hash != records[i].Hash || !got[i].Time.Equal(records[i].Time) {
			t.Errorf("record %d: read %+v, wrote %+v", i+1, got[i], records[i])
		}
		if bytes.ContainsAny(lines[i], "\n\r") {
			t.Errorf("record %d takes more than a line: %q", i+1, lines[i])
		}
	}
}

func TestChainFindsEveryAttack(t *testing.T) {
	_, lines := written(t, journal.Note{Text: "one"}, journal.Note{Text: "two"}, journal.Note{Text: "three"}, journal.Note{Text: "four"})
	var alien memory
	other := journal.NewWriter("run-2", &alien, clock(), nil)
	for range 4 {
		if err := other.Append(context.Background(), journal.TypeNote, journal.Note{Text: "alien"}); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(i int, from, to string) func([][]byte) [][]byte {
		return func(l [][]byte) [][]byte {
			if !bytes.Contains(l[i], []byte(from)) {
				t.Fatalf("nothing to replace: %q in %s", from, l[i])
			}
			l[i] = bytes.Replace(l[i], []byte(from), []byte(to), 1)
			return l
		}
	}
	attacks := map[string]func([][]byte) [][]byte{
		"changed text":    replace(1, "two", "too"),
		"changed time":    replace(1, "2026", "2025"),
		"changed type":    replace(1, `"note"`, `"state"`),
		"changed run":     replace(1, "run-1", "run-2"),
		"changed number":  replace(1, `"seq":2`, `"seq":3`),
		"changed schema":  replace(1, `"schema":1`, `"schema":2`),
		"no schema":       replace(1, `"schema":1,`, ``),
		"added member":    replace(1, `{"schema":1`, `{"extra":true,"schema":1`),
		"renamed member":  replace(1, `"run":`, `"Run":`),
		"doubled member":  replace(1, `{"schema":1`, `{"schema":7,"schema":1`),
		"added space":     replace(1, `{"schema":1`, `{ "schema":1`),
		"trailing text":   func(l [][]byte) [][]byte { l[3] = append(bytes.Clone(l[3]), " "...); return l },
		"removed first":   func(l [][]byte) [][]byte { return l[1:] },
		"removed middle":  func(l [][]byte) [][]byte { return slices.Delete(l, 1, 2) },
		"swapped":         func(l [][]byte) [][]byte { l[1], l[2] = l[2], l[1]; return l },
		"doubled":         func(l [][]byte) [][]byte { return slices.Insert(l, 1, l[0]) },
		"inserted":        func(l [][]byte) [][]byte { return slices.Insert(l, 1, alien.lines[1]) },
		"appended alien":  func(l [][]byte) [][]byte { return append(l, alien.lines[3]) },
		"another's start": func(l [][]byte) [][]byte { l[0] = alien.lines[0]; return l },
		"empty line":      func(l [][]byte) [][]byte { return slices.Insert(l, 1, []byte{}) },
		"cut line":        func(l [][]byte) [][]byte { l[3] = l[3][:len(l[3])/2]; return l },
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			bad := attack(slices.Clone(lines))
			got, err := journal.Parse(bad)
			if !errors.Is(err, journal.ErrBroken) {
				t.Fatalf("error is %v, want journal.ErrBroken", err)
			}
			for i, r := range got { // what stands before the fault is whole
				if line, _ := json.Marshal(r); !bytes.Equal(line, bad[i]) {
					t.Errorf("record %d is returned otherwise than it stands there", i+1)
				}
			}
		})
	}
}

// Every single flipped bit of a journal is found.
func TestChainFindsFlippedBits(t *testing.T) {
	_, lines := written(t, awkward...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		i := random.IntN(len(lines))
		bad := slices.Clone(lines)
		bad[i] = bytes.Clone(lines[i])
		bad[i][random.IntN(len(bad[i]))] ^= 1 << random.IntN(8)
		if _, err := journal.Parse(bad); !errors.Is(err, journal.ErrBroken) {
			t.Fatalf("%v: a change of record %d is not found:\n%q\n%q", err, i+1, lines[i], bad[i])
		}
	}
}

func TestWriterStopsAtAnError(t *testing.T) {
	var sink memory
	w := journal.NewWriter("run-1", &sink, clock(), nil)
	ctx := context.Background()
	if err := w.Append(ctx, journal.TypeNote, journal.Note{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(ctx, journal.TypeNote, func() {}); err == nil {
		t.Error("data that cannot be encoded were taken")
	}
	sink.fail = jobs.ErrLeaseLost
	if err := w.Append(ctx, journal.TypeNote, journal.Note{Text: "two"}); !errors.Is(err, jobs.ErrLeaseLost) {
		t.Errorf("error is %v, want the sink's", err)
	}
	sink.fail = nil
	if err := w.Append(ctx, journal.TypeNote, journal.Note{Text: "three"}); !errors.Is(err, jobs.ErrLeaseLost) {
		t.Errorf("error is %v, want the first one", err)
	}
	if len(sink.lines) != 1 || len(w.Records()) != 1 {
		t.Errorf("%d lines and %d records after an error, want 1", len(sink.lines), len(w.Records()))
	}
}

func TestFileSinkAndArchive(t *testing.T) {
	archive := journal.Archive{Dir: t.TempDir()}
	sink, err := archive.NewFileSink("run-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archive.NewFileSink("run-1"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second journal for a run: %v, want os.ErrExist", err)
	}
	if got, err := archive.Load("run-1"); err != nil || len(got) != 0 {
		t.Errorf("a journal without records gives %v, %v", got, err)
	}
	w := journal.NewWriter("run-1", sink, clock(), nil)
	for _, d := range awkward {
		if err := w.Append(context.Background(), journal.TypeNote, d); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := archive.Load("run-1")
	if err != nil {
		t.Fatal(err)
	}
	live, err := os.ReadFile(archive.Path("run-1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Put("run-1", got); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(archive.Path("run-1"))
	if err != nil || !bytes.Equal(live, kept) {
		t.Errorf("the archived journal differs from the live one: %v", err)
	}
}

// The line that is handed over is not written to.
func TestFileSinkLeavesTheLine(t *testing.T) {
	archive := journal.Archive{Dir: t.TempDir()}
	sink, err := archive.NewFileSink("run-1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	both := []byte("lineREST")
	if err := sink.Append(context.Background(), 1, both[:4]); err != nil {
		t.Fatal(err)
	}
	if string(both) != "lineREST" {
		t.Errorf("the caller's memory is %q now", both)
	}
}

func TestArchiveIsAtomicAndStaysInside(t *testing.T) {
	root := t.TempDir()
	archive := journal.Archive{Dir: filepath.Join(root, "archive")}
	if err := archive.Save("run-1", "change.patch", []byte("first")); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(filepath.Join(archive.Dir, "run-1", "change.patch"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	if err := archive.Save("run-1", "change.patch", []byte("second and longer")); err != nil {
		t.Fatal(err)
	}
	before := make([]byte, 64)
	if n, _ := old.Read(before); string(before[:n]) != "first" {
		t.Errorf("a reader of the old artifact sees %q", before[:n])
	}
	if names := entries(t, filepath.Join(archive.Dir, "run-1")); !slices.Equal(names, []string{"change.patch"}) {
		t.Errorf("the folder holds %q", names)
	}
	bad := []string{"", ".", "..", "/", "../x", "a/b", "/etc/passwd", "..\x00", `..\x`, ".hidden", strings.Repeat("x", 300)}
	for _, name := range bad {
		if err := archive.Save("run-1", name, []byte("x")); err == nil {
			t.Errorf("artifact %q was saved", name)
		}
		if _, err := archive.RunDir(jobs.RunID(name)); err == nil {
			t.Errorf("run %q has a folder", name)
		}
		if err := archive.Put(jobs.RunID(name), nil); err == nil {
			t.Errorf("run %q has a journal", name)
		}
		if rel, err := filepath.Rel(archive.Dir, archive.Path(jobs.RunID(name))); err != nil || !filepath.IsLocal(rel) || filepath.Dir(rel) == "." {
			t.Errorf("the journal of run %q is at %s", name, archive.Path(jobs.RunID(name)))
		}
	}
	if names := entries(t, root); !slices.Equal(names, []string{"archive"}) {
		t.Errorf("beside the archive there is %q", names)
	}
	if names := entries(t, archive.Dir); !slices.Equal(names, []string{"run-1"}) {
		t.Errorf("the archive holds %q", names)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestWhatIsRedactedIsNowhere: also where nothing else of the record is left.
func TestWhatIsRedactedIsNowhere(t *testing.T) {
	for _, c := range []struct {
		name, with, want string
	}{
		{"in a text", "[redacted]", `"text":"before [redacted] after"`},
		{"so that no JSON is left", `"`, "could not be kept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sink memory
			w := journal.NewWriter("run", &sink, time.Now, func(p []byte) []byte { return bytes.ReplaceAll(p, []byte("secret"), []byte(c.with)) })
			if err := w.Append(t.Context(), journal.TypeNote, journal.Note{Kind: "x", Text: "before secret after"}); err != nil {
				t.Fatal(err)
			}
			all := fmt.Sprintf("%s %s", sink.lines, w.Records()[0].Data)
			if strings.Contains(all, "secret") && !strings.Contains(all, "held a secret") || !strings.Contains(all, c.want) {
				t.Errorf("kept %s", all)
			}
			if _, err := journal.Fold(w.Records()); err != nil {
				t.Error(err)
			}
		})
	}
}
