package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// Folder is a directory with a folder per run, as an [Archive] in a directory
// is: for the journal of a run that is written to a file as it goes.
type Folder struct{ Dir string }

// RunDir is the run's folder, made if need be. A run's id that is no plain
// file name is refused with vcs.ErrInvalid.
func (f Folder) RunDir(run jobs.RunID) (string, error) {
	if !plain(string(run)) {
		return "", fmt.Errorf("%w: run %q", vcs.ErrInvalid, run)
	}
	dir := filepath.Join(f.Dir, string(run))
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return "", fmt.Errorf("making the folder of run %s: %w", run, err)
	}
	return dir, nil
}

// Path is where the run's journal is or will be. No run can have an id that is
// not plain: its path leads to a file that is never there.
func (f Folder) Path(run jobs.RunID) string {
	if !plain(string(run)) {
		run = ".none"
	}
	return filepath.Join(f.Dir, string(run), fileName)
}

// maxFile is the largest journal file that is read: a run of hours has a few
// megabytes.
const maxFile = 512 << 20

// ReadFile reads a journal file, and nothing that has no end. A file that is not
// there is an fs.ErrNotExist; one that is no journal, or too large, a
// vcs.ErrInvalid.
func ReadFile(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxFile {
		return nil, fmt.Errorf("%w: %s is no journal: want a file of at most %d bytes", vcs.ErrInvalid, path, maxFile)
	}
	return os.ReadFile(path)
}

// LoadFile reads and checks a journal file.
func LoadFile(path string) ([]Record, error) {
	b, err := ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a journal: %w", err)
	}
	return parseFile(b)
}

// parseFile checks the content of a journal file.
func parseFile(b []byte) ([]Record, error) {
	if len(b) == 0 {
		return nil, nil // begun, and nothing written yet
	}
	return Parse(bytes.Split(bytes.TrimSuffix(b, []byte{'\n'}), []byte{'\n'}))
}

// FileSink writes a live journal to a file; each line is synced.
type FileSink struct{ file *os.File }

// NewFileSink creates the journal of a run, which must not have one yet.
func (f Folder) NewFileSink(run jobs.RunID) (*FileSink, error) {
	dir, err := f.RunDir(run)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, fileName), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating a journal: %w", err)
	}
	return &FileSink{file: file}, nil
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
