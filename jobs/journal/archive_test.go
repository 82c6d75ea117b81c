package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

func openArchive(t *testing.T, place string) *journal.Archive {
	t.Helper()
	a, err := journal.OpenArchive(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// fakeS3 is the place of a bucket on a server in this process.
func fakeS3(t *testing.T) string {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(gofakes3.New(backend, gofakes3.WithoutVersioning()).Server())
	t.Cleanup(srv.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return "s3://bucket?region=us-east-1&use_path_style=true&endpoint=" + srv.URL
}

// places are the kinds of bucket that an archive can be in.
func places(t *testing.T) map[string]func(t *testing.T) string {
	t.Helper()
	return map[string]func(t *testing.T) string{
		"directory":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "a", "b") },
		"file URL":      func(t *testing.T) string { return "file://" + filepath.Join(t.TempDir(), "a b") },
		"memory":        func(*testing.T) string { return "mem://" },
		"S3":            fakeS3,
		"S3 and prefix": func(t *testing.T) string { return fakeS3(t) + "&prefix=green/wright" },
	}
}

// TestArchive: every kind of bucket does the same.
func TestArchive(t *testing.T) {
	for name, place := range places(t) {
		t.Run(name, func(t *testing.T) { testArchive(t, openArchive(t, place(t))) })
	}
}

func testArchive(t *testing.T, a *journal.Archive) {
	ctx := t.Context()
	records, lines := written(t, awkward...)
	if err := errors.Join(a.Check(ctx), a.Put(ctx, "run-1", lines), a.Save(ctx, "run-1", "change.patch", []byte("old")),
		a.Save(ctx, "run-1", "change.patch", []byte("a patch")), a.Save(ctx, "run-1", "empty", nil), a.Save(ctx, "run-10", "x y:z", []byte("1"))); err != nil {
		t.Fatal(err)
	}
	got, err := a.Load(ctx, "run-1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records, got); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"change.patch": "a patch", "empty": ""} {
		if b, err := a.Read(ctx, "run-1", name); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
	r, err := a.Open(ctx, "run-1", "change.patch")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != "a patch" || r.Close() != nil {
		t.Errorf("stream of %q, %v", b, err)
	}
	size := int64(len(bytes.Join(lines, nil)) + len(lines))
	want := []journal.Holding{
		{Run: "run-1", Bytes: size + 7, Artifacts: []journal.Artifact{{Name: "change.patch", Size: 7}, {Name: "empty"}, {Name: "journal.jsonl", Size: size}}},
		{Run: "run-10", Bytes: 1, Artifacts: []journal.Artifact{{Name: "x y:z", Size: 1}}},
	}
	runs, err := a.Runs(ctx)
	if diff := cmp.Diff(want, runs, cmpopts.EquateApproxTime(time.Minute), cmpopts.IgnoreTypes(time.Time{})); diff != "" || err != nil {
		t.Errorf("runs: %v (-want +got):\n%s", err, diff)
	}
	for _, h := range runs {
		if age := time.Since(h.Time); age < -time.Minute || age > time.Minute {
			t.Errorf("%s was written %s ago", h.Run, age)
		}
	}
	names, err := a.Names(ctx, "run-1")
	if diff := cmp.Diff(want[0].Artifacts, names, cmpopts.IgnoreTypes(time.Time{})); diff != "" || err != nil {
		t.Errorf("names: %v (-want +got):\n%s", err, diff)
	}
	testMissing(t, a)
	if err := errors.Join(a.Remove(ctx, "run-1", "empty", "never was"), a.Remove(ctx, "run-10"), a.Remove(ctx, "run-11")); err != nil {
		t.Fatal(err)
	}
	if runs, err := a.Runs(ctx); err != nil || len(runs) != 1 || len(runs[0].Artifacts) != 2 {
		t.Errorf("after removing: %v, %v", runs, err)
	}
}

func testMissing(t *testing.T, a *journal.Archive) {
	ctx := t.Context()
	if _, err := a.Load(ctx, "run-2"); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("journal of a run that is not there: %v", err)
	}
	if _, err := a.Read(ctx, "run-1", "nothing"); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("artifact that is not there: %v", err)
	}
	if list, err := a.Names(ctx, "run"); err != nil || len(list) > 0 {
		t.Errorf("names of a run that is not there: %v, %v", list, err)
	}
	bad := []string{"", ".", "..", "/", "../x", "a/b", "/etc/passwd", "..\x00", `..\x`, ".hidden", strings.Repeat("x", 300), "x.attrs", "a\nb", "__0x2e__", "\xff"}
	for _, name := range bad {
		_, err1 := a.Read(ctx, "run-1", name)
		_, err2 := a.Load(ctx, jobs.RunID(name))
		_, err3 := a.Names(ctx, jobs.RunID(name))
		for i, err := range []error{err1, err2, err3, a.Save(ctx, "run-1", name, nil), a.Put(ctx, jobs.RunID(name), nil), a.Remove(ctx, jobs.RunID(name)), a.Remove(ctx, "run-1", name)} {
			if !errors.Is(err, vcs.ErrInvalid) {
				t.Errorf("name %q, call %d: %v", name, i, err)
			}
		}
	}
}

// TestArchiveOfMany: lists go on beyond one page of S3's.
func TestArchiveOfMany(t *testing.T) {
	for name, place := range map[string]string{"S3": fakeS3(t), "directory": t.TempDir()} {
		a := openArchive(t, place)
		const runs = 1200
		for i := range runs {
			if err := a.Save(t.Context(), jobs.RunID(fmt.Sprintf("run-%04d", i)), "x", nil); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := a.Runs(t.Context()); err != nil || len(list) != runs {
			t.Errorf("%s: %d runs, want %d: %v", name, len(list), runs, err)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, place := range []string{"/var/lib/x", "file:///var/lib/x", "file://localhost/x", "s3://bucket", "s3://bucket?region=eu-central-1&endpoint=http://127.0.0.1:1"} {
		if err := journal.ValidateURL(place); err != nil {
			t.Error(err)
		}
	}
	for _, place := range []string{"", "artifacts", "./x", "file://host/x", "file:x", "file:///x?create_dir=1", "s3://", "s3:///x", "s3://b/below", "s3://key:secret@b", "gs://b", "http://b", "s3://b\x00"} {
		if err := journal.ValidateURL(place); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%q: %v", place, err)
		}
		if _, err := journal.OpenArchive(t.Context(), place); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%q opens: %v", place, err)
		}
	}
	if err := journal.ValidateURL("s3://key:hunter2@b"); strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error tells the secret: %v", err)
	}
}

// TestArchiveOnDisk: a directory's files are private whatever the umask, whole
// at any time, and where a folder has them.
func TestArchiveOnDisk(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	root := t.TempDir()
	dir := filepath.Join(root, "archive")
	a := openArchive(t, dir)
	if err := a.Save(t.Context(), "run-1", "change.patch", []byte("first")); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(filepath.Join(dir, "run-1", "change.patch"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	if err := a.Save(t.Context(), "run-1", "change.patch", []byte("second and longer")); err != nil {
		t.Fatal(err)
	}
	before := make([]byte, 64)
	if n, _ := old.Read(before); string(before[:n]) != "first" {
		t.Errorf("a reader of the old artifact sees %q", before[:n])
	}
	for p, want := range map[string]os.FileMode{"": 0o700, "run-1": 0o700, "run-1/change.patch": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, p)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q has mode %v, want %v: %v", p, info.Mode().Perm(), want, err)
		}
	}
	if names := entries(t, filepath.Join(dir, "run-1")); !slices.Equal(names, []string{"change.patch"}) {
		t.Errorf("the folder holds %q", names)
	}
	if names := entries(t, root); !slices.Equal(names, []string{"archive"}) {
		t.Errorf("beside the archive there is %q", names)
	}
	// What a write that was cut off has left is no artifact, and goes with the run.
	if err := os.WriteFile(filepath.Join(dir, "run-1", ".tmp-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := a.Names(t.Context(), "run-1"); err != nil || len(list) != 1 {
		t.Errorf("names: %v, %v", list, err)
	}
	if err := a.Remove(t.Context(), "run-1"); err != nil {
		t.Fatal(err)
	}
	if names := entries(t, dir); len(names) > 0 {
		t.Errorf("after removing there is %q", names)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Save(ctx, "run-1", "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestFolderIsAnArchive: a live journal in a folder is read, and replaced, by
// the archive in the same directory.
func TestFolderIsAnArchive(t *testing.T) {
	dir := t.TempDir()
	folder, a := journal.Folder{Dir: dir}, openArchive(t, dir)
	sink, err := folder.NewFileSink("run-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.NewFileSink("run-1"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second journal for a run: %v, want os.ErrExist", err)
	}
	if got, err := a.Load(t.Context(), "run-1"); err != nil || len(got) != 0 {
		t.Errorf("a journal without records gives %v, %v", got, err)
	}
	w := journal.NewWriter("run-1", sink, clock(), nil)
	for _, d := range awkward {
		if err := w.Append(t.Context(), journal.TypeNote, d); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := a.Load(t.Context(), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	live, err := os.ReadFile(folder.Path("run-1"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := journal.Lines(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Put(t.Context(), "run-1", lines); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(folder.Path("run-1"))
	if err != nil || !bytes.Equal(live, kept) {
		t.Errorf("the archived journal differs from the live one: %v", err)
	}
}

// The line that is handed over is not written to.
func TestFileSinkLeavesTheLine(t *testing.T) {
	sink, err := journal.Folder{Dir: t.TempDir()}.NewFileSink("run-1")
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

func TestFolderStaysInside(t *testing.T) {
	root := t.TempDir()
	folder := journal.Folder{Dir: filepath.Join(root, "archive")}
	for _, name := range []string{"", ".", "..", "/", "../x", "a/b", "/etc/passwd", "..\x00", `..\x`, ".hidden", strings.Repeat("x", 300)} {
		if _, err := folder.RunDir(jobs.RunID(name)); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("run %q has a folder", name)
		}
		if rel, err := filepath.Rel(folder.Dir, folder.Path(jobs.RunID(name))); err != nil || !filepath.IsLocal(rel) || filepath.Dir(rel) == "." {
			t.Errorf("the journal of run %q is at %s", name, folder.Path(jobs.RunID(name)))
		}
	}
	if names := entries(t, root); len(names) > 0 {
		t.Errorf("there is %q", names)
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

// BenchmarkSave measures what keeping a small artifact in a directory costs.
func BenchmarkSave(b *testing.B) {
	a, err := journal.OpenArchive(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	content := bytes.Repeat([]byte("x"), 2000)
	for n := 0; b.Loop(); n++ {
		if err := a.Save(b.Context(), "run", fmt.Sprint("snap-s", n, ".json"), content); err != nil {
			b.Fatal(err)
		}
	}
}

// TestJoined: what Redis has goes before what the archive has, unless that is
// more of it.
func TestJoined(t *testing.T) {
	a, err := journal.OpenArchive(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	lines := func(from, to int) (out [][]byte) {
		for n := from; n <= to; n++ {
			out = append(out, fmt.Appendf(nil, `{"seq":%d}`, n))
		}
		return out
	}
	if err := a.Put(t.Context(), "run", lines(1, 5)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ live, want [][]byte }{
		"nothing in redis":     {nil, lines(1, 5)},
		"more in redis":        {lines(1, 7), lines(1, 7)},
		"redis lost its end":   {lines(1, 3), lines(1, 5)},
		"redis has the end":    {lines(6, 8), lines(1, 8)},
		"redis has some twice": {lines(4, 6), lines(1, 6)},
	} {
		got, err := a.Joined(t.Context(), "run", c.live)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := a.Joined(t.Context(), "unknown", nil); len(got) != 0 || err != nil {
		t.Errorf("of a run that nobody knows: %q, %v", got, err)
	}
}
