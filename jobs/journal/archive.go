package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// fileName is the journal's name in a run's folder.
const fileName = "journal.jsonl"

// Archive keeps journals and artifacts in a directory, a folder per run.
type Archive struct{ Dir string }

// maxName is what file systems accept as a name (NAME_MAX, limits.h).
const maxName = 255

// plain reports whether a name can neither lead anywhere else nor be taken for
// a temporary file.
func plain(name string) bool {
	return name != "" && len(name) <= maxName && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "/\\\x00")
}

// RunDir is the run's folder, made if need be. A run's id that is no plain
// file name is refused with vcs.ErrInvalid.
func (a Archive) RunDir(run jobs.RunID) (string, error) {
	if !plain(string(run)) {
		return "", fmt.Errorf("%w: run %q", vcs.ErrInvalid, run)
	}
	dir := filepath.Join(a.Dir, string(run))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the folder of run %s: %w", run, err)
	}
	return dir, nil
}

// Path is where the run's journal is or will be. No run can have an id that is
// not plain: its path leads to a file that is never there.
func (a Archive) Path(run jobs.RunID) string {
	if !plain(string(run)) {
		run = ".none"
	}
	return filepath.Join(a.Dir, string(run), fileName)
}

// Put writes the whole journal of a run, replacing what is there only once it
// is complete.
func (a Archive) Put(run jobs.RunID, records []Record) error {
	lines, err := Lines(records)
	if err != nil {
		return err
	}
	return a.Save(run, fileName, append(bytes.Join(lines, []byte{'\n'}), '\n'))
}

// Save keeps an artifact of a run under a plain file name; others are refused
// with vcs.ErrInvalid. A reader sees the old content or the new, never a part.
func (a Archive) Save(run jobs.RunID, name string, content []byte) error {
	if !plain(name) {
		return fmt.Errorf("%w: artifact %q", vcs.ErrInvalid, name)
	}
	dir, err := a.RunDir(run)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	tmp, err := os.CreateTemp(dir, ".tmp-")
	if err != nil {
		return fmt.Errorf("archiving %s: %w", name, err)
	}
	_, err = tmp.Write(content)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("archiving %s: %w", name, err)
	}
	return nil
}

// Load reads and checks a run's archived journal.
func (a Archive) Load(run jobs.RunID) ([]Record, error) {
	return LoadFile(a.Path(run))
}

// LoadFile reads and checks a journal file.
func LoadFile(path string) ([]Record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a journal: %w", err)
	}
	if len(b) == 0 {
		return nil, nil // begun, and nothing written yet
	}
	return Parse(bytes.Split(bytes.TrimSuffix(b, []byte{'\n'}), []byte{'\n'}))
}

// FileSink writes a live journal to a file; each line is synced.
type FileSink struct{ file *os.File }

// NewFileSink creates the journal of a run, which must not have one yet.
func (a Archive) NewFileSink(run jobs.RunID) (*FileSink, error) {
	dir, err := a.RunDir(run)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating a journal: %w", err)
	}
	return &FileSink{file: f}, nil
}

// Append writes one line and syncs it.
func (s *FileSink) Append(_ context.Context, _ uint64, line []byte) error {
	if _, err := s.file.Write(slices.Concat(line, []byte{'\n'})); err != nil {
		return err
	}
	return s.file.Sync()
}

// Close closes the file.
func (s *FileSink) Close() error { return s.file.Close() }
