package wire_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

// lines is a journal of a note, with an end or without.
func lines(t *testing.T, run jobs.RunID, ended bool) [][]byte {
	t.Helper()
	sink := &kept{}
	w := journal.NewWriter(run, sink, time.Now, nil)
	err := w.Append(t.Context(), journal.TypeNote, journal.Note{Kind: journal.NoteNotice, Text: "x"})
	if err == nil && ended {
		err = w.Append(t.Context(), journal.TypeEnded, journal.Ended{State: jobs.Verified})
	}
	if err != nil {
		t.Fatal(err)
	}
	return sink.lines
}

// old makes files look as if they were written long ago.
func old(t *testing.T, dir string) {
	t.Helper()
	then := time.Now().Add(-1000 * time.Hour)
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(p, then, then))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestPrune removes old runs and mirrors, not those without an end, and says so
// before.
func TestPrune(t *testing.T) {
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.Retention = config.Retention{Journals: config.Age(time.Hour), Mirrors: config.Age(time.Hour)}
	a, err := journal.OpenArchive(ctx, cfg.ArtifactsPlace())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Put(ctx, "ended", lines(t, "ended", true)), a.Put(ctx, "open", lines(t, "open", false)), a.Close()); err != nil {
		t.Fatal(err)
	}
	mirror := filepath.Join(cfg.DataDir, "mirrors", "github", "o", "r.git")
	if err := errors.Join(os.MkdirAll(mirror, 0o700), os.WriteFile(filepath.Join(mirror, "HEAD"), []byte("x"), 0o600), os.WriteFile(mirror+".use.lock", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	old(t, cfg.DataDir)
	ended, open := filepath.Join(cfg.DataDir, "artifacts", "ended"), filepath.Join(cfg.DataDir, "artifacts", "open")
	for _, dry := range []bool{true, false} {
		got, err := wire.Prune(ctx, cfg, dry, log)
		if err != nil || len(got.Runs) != 1 || got.Runs[0].Run != "ended" || len(got.Mirrors) != 1 || got.Mirrors[0].Name != "github/o/r" || got.Bytes() <= 1 {
			t.Fatalf("dry %t: %+v, %v", dry, got, err)
		}
		if there(ended) != dry || there(mirror) != dry || !there(open) {
			t.Errorf("dry %t: ended %t, mirror %t, open %t", dry, there(ended), there(mirror), there(open))
		}
	}
	if got, err := wire.Prune(ctx, cfg, false, log); err != nil || len(got.Runs)+len(got.Mirrors) > 0 {
		t.Errorf("again: %+v, %v", got, err)
	}
}

// TestAuditFindsRunsAndFiles: a run in the archive, a file, and neither.
func TestAuditFindsRunsAndFiles(t *testing.T) {
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	cfg := config.Default()
	cfg.Artifacts = filepath.Join(t.TempDir(), "bucket")
	load := func() (config.Config, error) { return cfg, nil }
	a, err := journal.OpenArchive(ctx, cfg.Artifacts)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Put(ctx, "run-1", lines(t, "run-1", true)), a.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run-1", filepath.Join(cfg.Artifacts, "run-1", "journal.jsonl")} {
		if r, err := wire.Audit(ctx, load, name, "", log); err != nil || !r.Whole() || r.Run != "run-1" || r.Good != 2 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for _, name := range []string{"run-2", "no/such/file", "../x", cfg.Artifacts} {
		if r, err := wire.Audit(ctx, load, name, "", log); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if _, err := wire.Audit(ctx, load, "run-2", "", log); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
}

// kept is a sink in memory.
type kept struct{ lines [][]byte }

// Append implements journal.Sink.
func (k *kept) Append(_ context.Context, _ uint64, line []byte) error {
	k.lines = append(k.lines, line)
	return nil
}
