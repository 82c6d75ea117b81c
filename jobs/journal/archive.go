package journal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// fileName is the journal's name among a run's artifacts.
const fileName = "journal.jsonl"

// Archive keeps journals and artifacts by run in a bucket: a directory or an
// S3 bucket, <run>/<name> in both. It is safe for concurrent use.
type Archive struct {
	bucket *blob.Bucket
	dir    string // of a directory bucket, else empty
}

const (
	// maxName is what file systems accept as a name (NAME_MAX, limits.h).
	maxName = 255
	// maxArtifact bounds what is read into memory.
	maxArtifact = 4 << 30
	// opTimeout bounds one operation on the bucket, with the retries of its
	// driver: a pack of a gigabyte at 30 Mbit/s.
	opTimeout = 5 * time.Minute
)

// plain reports whether a name can neither lead anywhere else nor be taken for
// a temporary file.
func plain(name string) bool {
	return name != "" && len(name) <= maxName && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "/\\\x00")
}

// What the directory driver writes names with in its own way, and its own
// files (fileblob): such names would be others on disk than in a list.
const (
	escapeMark = "__0x"
	attrsExt   = ".attrs"
)

// storable reports whether a plain name is the same in every bucket.
func storable(name string) bool {
	return plain(name) && utf8.ValidString(name) && !strings.HasSuffix(name, attrsExt) && !strings.Contains(name, escapeMark) &&
		strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// key is where an artifact is in the bucket.
func key(run jobs.RunID, name string) (string, error) {
	if err := checkRun(run); err != nil {
		return "", err
	}
	if !storable(name) {
		return "", fmt.Errorf("%w: artifact %q", vcs.ErrInvalid, name)
	}
	return string(run) + "/" + name, nil
}

func checkRun(run jobs.RunID) error {
	if !storable(string(run)) {
		return fmt.Errorf("%w: run %q", vcs.ErrInvalid, run)
	}
	return nil
}

// Close lets the bucket go.
func (a *Archive) Close() error { return a.bucket.Close() }

// Check asks the bucket whether it is there and may be used.
func (a *Archive) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	ok, err := a.bucket.IsAccessible(ctx)
	if err == nil && !ok {
		err = vcs.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("looking at the bucket of artifacts: %w", err)
	}
	return nil
}

// Put keeps the whole journal of a run, replacing what is there only once it
// is complete. [Lines] makes lines of records.
func (a *Archive) Put(ctx context.Context, run jobs.RunID, lines [][]byte) error {
	return a.Save(ctx, run, fileName, append(bytes.Join(lines, []byte{'\n'}), '\n'))
}

// Save keeps an artifact of a run under a plain file name; others are refused
// with vcs.ErrInvalid. A reader sees the old content or the new, never a part.
// When it returns the content is durable.
func (a *Archive) Save(ctx context.Context, run jobs.RunID, name string, content []byte) error {
	k, err := key(run, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	if a.dir != "" {
		err = writeDurably(ctx, a.dir, string(run), name, content)
	} else {
		err = a.bucket.WriteAll(ctx, k, content, &blob.WriterOptions{ContentType: "application/octet-stream"})
	}
	if err != nil {
		return fmt.Errorf("archiving %s: %w", name, err)
	}
	return nil
}

// Load reads and checks a run's archived journal. Errors: vcs.ErrNotFound when
// there is none, ErrBroken as [Parse] has it.
func (a *Archive) Load(ctx context.Context, run jobs.RunID) ([]Record, error) {
	b, err := a.Read(ctx, run, fileName)
	if err != nil {
		return nil, err
	}
	return parseFile(b)
}

// Read is the content of an artifact, of at most 4 GiB; vcs.ErrNotFound when
// there is none.
func (a *Archive) Read(ctx context.Context, run jobs.RunID, name string) ([]byte, error) {
	r, err := a.Open(ctx, run, name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxArtifact+1))
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	if err == nil && len(b) > maxArtifact {
		err = fmt.Errorf("%w: it has more than %d bytes", vcs.ErrInvalid, maxArtifact)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s of run %s: %w", name, run, err)
	}
	return b, nil
}

// Journal is the archived journal of a run as it was written, for [Audit].
func (a *Archive) Journal(ctx context.Context, run jobs.RunID) ([]byte, error) {
	return a.Read(ctx, run, fileName)
}

// Open reads an artifact as a stream, within five minutes; vcs.ErrNotFound when
// there is none. The caller closes it.
func (a *Archive) Open(ctx context.Context, run jobs.RunID, name string) (io.ReadCloser, error) {
	return a.open(ctx, run, name, 0, -1)
}

// open reads length bytes from an offset on; a negative length is all.
func (a *Archive) open(ctx context.Context, run jobs.RunID, name string, offset, length int64) (io.ReadCloser, error) {
	k, err := key(run, name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	r, err := a.bucket.NewRangeReader(ctx, k, offset, length, nil)
	if err != nil {
		cancel()
		if gcerrors.Code(err) == gcerrors.NotFound {
			return nil, fmt.Errorf("%w: %s of run %s in the archive", vcs.ErrNotFound, name, run)
		}
		return nil, fmt.Errorf("opening %s of run %s: %w", name, run, err)
	}
	return &artifactReader{Reader: r, cancel: cancel}, nil
}

// artifactReader ends its context when it is closed.
type artifactReader struct {
	*blob.Reader
	cancel context.CancelFunc
}

// Close closes the stream.
func (r *artifactReader) Close() error {
	defer r.cancel()
	return r.Reader.Close()
}
