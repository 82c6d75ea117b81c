package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/cli"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
)

// greenwright runs the program in this process.
func greenwright(args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = cli.Main(context.Background(), "test", args, &o, &e)
	return code, o.String(), e.String()
}

// archivedRun puts a journal of three records into the archive of a data
// directory that this test has, and gives its file.
func archivedRun(t *testing.T, run jobs.RunID) (file string, records []journal.Record) {
	t.Helper()
	data := t.TempDir()
	t.Setenv("GREENWRIGHT_DATA_DIR", data)
	t.Chdir(data) // no greenwright.yml of anybody's
	folder := journal.Folder{Dir: filepath.Join(data, "artifacts")}
	sink, err := folder.NewFileSink(run)
	if err != nil {
		t.Fatal(err)
	}
	w := journal.NewWriter(run, sink, time.Now, nil)
	for _, text := range []string{"one", "two"} {
		if err := w.Append(t.Context(), journal.TypeNote, journal.Note{Kind: journal.NoteNotice, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Append(t.Context(), journal.TypeEnded, journal.Ended{State: jobs.Verified, Cause: "done"}); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	return folder.Path(run), w.Records()
}

func TestAuditVerify(t *testing.T) {
	file, records := archivedRun(t, "run-1")
	head := records[2].Hash
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken, cut := filepath.Join(t.TempDir(), "broken.jsonl"), filepath.Join(t.TempDir(), "cut.jsonl")
	second := bytes.IndexByte(content, '\n') + 1
	if err := os.WriteFile(broken, bytes.Replace(content, []byte(`"two"`), []byte(`"too"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, content[:second], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string // of either output
	}{
		{[]string{"run-1"}, 0, "whole: 3 records; head " + head},
		{[]string{file, "--head", head}, 0, "it is the head that was told"},
		{[]string{file, "--head", records[1].Hash}, 1, "told is record 2: 1 records follow it"},
		{[]string{"run-1", "--head", strings.Repeat("0", 64)}, 1, "is not in it"},
		{[]string{broken}, 1, "broken at record 2 (byte " + jsonNumber(second) + "): it was changed; 1 records before it hold"},
		{[]string{cut}, 1, "cut: the 1 records"},
		{[]string{"run-2"}, 2, "neither a file nor a run in"},
		{[]string{"run-1", "--head", "abc"}, 2, "is no hash"},
		{nil, 2, "accepts 1 arg"},
	} {
		code, out, errOut := greenwright(append([]string{"audit", "verify"}, c.args...)...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%q: exit %d, want %d, with %q\n%s%s", c.args, code, c.code, c.want, out, errOut)
		}
	}
	code, out, _ := greenwright("audit", "verify", broken, "--json")
	var r journal.AuditReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 1 || r.Broken == nil || r.Broken.Record != 2 || r.Broken.Offset != int64(second) || r.Good != 1 {
		t.Errorf("JSON: exit %d, %s, %v", code, out, err)
	}
}

func jsonNumber(n int) string {
	b, _ := json.Marshal(n) // of an int
	return string(b)
}

func TestPruneTellsBefore(t *testing.T) {
	file, _ := archivedRun(t, "run-1")
	if code, out, _ := greenwright("prune"); code != 0 || !strings.Contains(out, "nothing is too old") {
		t.Errorf("young: exit %d, %s", code, out)
	}
	then := time.Now().Add(-100 * 24 * time.Hour)
	if err := os.Chtimes(file, then, then); err != nil {
		t.Fatal(err)
	}
	code, out, _ := greenwright("prune", "--dry-run")
	if _, err := os.Stat(file); code != 0 || err != nil || !strings.Contains(out, "run-1") || !strings.Contains(out, "older than 90d") || !strings.Contains(out, "would be removed") {
		t.Errorf("dry: exit %d, %v\n%s", code, err, out)
	}
	if code, out, _ := greenwright("prune", "--dry-run", "--json"); code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, `"run":"run-1"`) {
		t.Errorf("JSON: exit %d\n%s", code, out)
	}
	code, out, _ = greenwright("prune")
	if _, err := os.Stat(file); code != 0 || !os.IsNotExist(err) || !strings.Contains(out, "removed") {
		t.Errorf("exit %d, %v\n%s", code, err, out)
	}
	t.Setenv("GREENWRIGHT_ARTIFACTS", "nowhere")
	if code, _, errOut := greenwright("prune"); code != 2 || !strings.Contains(errOut, "artifacts: ") {
		t.Errorf("misconfigured: exit %d, %s", code, errOut)
	}
}
