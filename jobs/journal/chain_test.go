package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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
		"changed schema":  replace(1, `"schema":2`, `"schema":1`),
		"no schema":       replace(1, `"schema":2,`, ``),
		"added member":    replace(1, `{"schema":2`, `{"extra":true,"schema":2`),
		"renamed member":  replace(1, `"run":`, `"Run":`),
		"doubled member":  replace(1, `{"schema":2`, `{"schema":7,"schema":2`),
		"added space":     replace(1, `{"schema":2`, `{ "schema":2`),
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
