package image

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"
)

// stream is the content of a layer on its way through the checks: its bytes
// as stored are counted and hashed, then decompressed, then counted and hashed
// again.
type stream struct {
	layer   layer
	body    io.ReadCloser
	stored  *counter
	content *counter
	closers []func()
}

// headerBytes is what an entry of an archive may take besides its content: a
// header, an extended one and padding. It bounds what is read of a stream that
// holds nothing, and is generous.
const headerBytes = 4 << 10

// maxWindow bounds a decompressor's memory; 128 MiB is what zstd itself
// accepts unasked.
const maxWindow = 128 << 20

func openLayer(ctx context.Context, l layer, limits Config) (*stream, error) {
	if l.size > limits.MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes to fetch", ErrTooLarge, l.size)
	}
	body, err := l.open()
	if err != nil {
		return nil, fmt.Errorf("opening: %w", err)
	}
	s := &stream{layer: l, body: body}
	stored := limits.MaxBytes
	if l.digest != (v1.Hash{}) {
		stored = l.size
	}
	s.stored = newCounter(ctx, body, stored)
	plain, err := s.decompress(bufio.NewReaderSize(s.stored, 64<<10))
	if err != nil {
		s.close()
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	s.content = newCounter(ctx, plain, limits.MaxBytes+limits.MaxFiles*headerBytes)
	return s, nil
}

// decompress goes by the first bytes and not by the media type, which many
// tools set wrongly.
func (s *stream) decompress(r *bufio.Reader) (io.Reader, error) {
	magic, err := r.Peek(4)
	if err != nil && len(magic) < 2 { // shorter than any archive: let tar say so
		return r, nil
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(r)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, d.Close)
		return d, nil
	}
	return r, nil
}

func (s *stream) Read(p []byte) (int, error) { return s.content.Read(p) }

// finish reads what is left and compares the digests.
func (s *stream) finish() error {
	for _, r := range []io.Reader{s.content, s.stored} {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return fmt.Errorf("reading to the end: %w", err)
		}
	}
	if s.layer.digest != (v1.Hash{}) {
		if s.stored.n != s.layer.size {
			return fmt.Errorf("%w: %d bytes instead of %d", ErrCorrupt, s.stored.n, s.layer.size)
		}
		if got := s.stored.digest(); got != s.layer.digest.String() {
			return fmt.Errorf("%w: %s instead of %s", ErrCorrupt, got, s.layer.digest)
		}
	}
	if got := s.content.digest(); got != s.layer.diffID.String() {
		return fmt.Errorf("%w: content %s instead of %s", ErrCorrupt, got, s.layer.diffID)
	}
	return nil
}

func (s *stream) close() {
	for _, c := range s.closers {
		c()
	}
	_ = s.body.Close()
}

// counter hashes what is read through it and ends with an error beyond its
// limit or when ctx ends.
type counter struct {
	ctx  context.Context
	r    io.Reader
	n    int64
	left int64
	sum  hash.Hash
}

func newCounter(ctx context.Context, r io.Reader, limit int64) *counter {
	return &counter{ctx: ctx, r: r, left: limit, sum: sha256.New()}
}

func (c *counter) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	_, _ = c.sum.Write(p[:n]) // a hash takes everything
	c.n += int64(n)
	if c.left -= int64(n); c.left < 0 {
		return 0, fmt.Errorf("%w: more bytes than announced or allowed", ErrTooLarge)
	}
	return n, err
}

func (c *counter) digest() string { return "sha256:" + hex.EncodeToString(c.sum.Sum(nil)) }
