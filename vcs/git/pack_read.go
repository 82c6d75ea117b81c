package git

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/hash"

	"github.com/greenwright/greenwright/vcs"
)

// The layout of a pack (gitformat-pack): signature, version and count, four
// bytes each, the objects, and the SHA-1 of all that.
const (
	packSignature = "PACK"
	packVersion   = 2
	packHeader    = 12
	packTrailer   = 20
	// leastObject is what an object takes at least: a byte of head and an
	// empty zlib stream (RFC 1950).
	leastObject = 9
)

// packLimits bounds what a pack from outside may hold.
type packLimits struct {
	object int64 // bytes of one object
	total  int64 // bytes of all objects
}

// badPack says what is wrong with a pack.
func badPack(format string, args ...any) error {
	return fmt.Errorf("%w: pack: %s", vcs.ErrInvalid, fmt.Sprintf(format, args...))
}

// readPack goes through the objects of a pack that anybody may have written,
// after its checksum was found right. Only whole objects are taken: those who
// write packs here make no deltas, and a delta's result cannot be bounded by
// its head. The content is each's for the time of its call.
func readPack(pack []byte, lim packLimits, each func(t plumbing.ObjectType, h plumbing.Hash, content []byte) error) error {
	count, err := checkPack(pack)
	if err != nil {
		return err
	}
	r := &packReader{in: bytes.NewReader(pack[packHeader : len(pack)-packTrailer]), left: lim.total, object: lim.object}
	for i := range count {
		t, content, err := r.next()
		if err != nil {
			return fmt.Errorf("object %d: %w", i+1, err)
		}
		if err := each(t, plumbing.ComputeHash(t, content), content); err != nil {
			return err
		}
	}
	if r.in.Len() > 0 {
		return badPack("%d bytes behind the last object", r.in.Len())
	}
	return nil
}

// checkPack checks head and checksum and gives the number of objects.
func checkPack(pack []byte) (uint32, error) {
	if len(pack) < packHeader+packTrailer || string(pack[:4]) != packSignature {
		return 0, badPack("it is none")
	}
	if v := binary.BigEndian.Uint32(pack[4:8]); v != packVersion {
		return 0, badPack("version %d, want %d", v, packVersion)
	}
	body := pack[:len(pack)-packTrailer]
	h := hash.New(hash.CryptoType)
	_, _ = h.Write(body) // a hash takes everything
	if !bytes.Equal(h.Sum(nil), pack[len(body):]) {
		return 0, badPack("its checksum is wrong")
	}
	count := binary.BigEndian.Uint32(pack[8:packHeader])
	if int64(count) > int64(len(body)-packHeader)/leastObject {
		return 0, badPack("%d objects cannot be in %d bytes", count, len(pack))
	}
	return count, nil
}

// packReader reads one object after the other.
type packReader struct {
	in     *bytes.Reader
	zlib   io.ReadCloser
	buf    bytes.Buffer
	left   int64 // of the limit for all
	object int64
}

func (r *packReader) next() (plumbing.ObjectType, []byte, error) {
	t, size, err := r.head()
	if err != nil {
		return t, nil, err
	}
	if size > r.object || size > r.left {
		return t, nil, fmt.Errorf("%w: pack: object of %d bytes", ErrTooLarge, size)
	}
	r.left -= size
	if r.zlib == nil {
		r.zlib, err = zlib.NewReader(r.in)
	} else {
		err = r.zlib.(zlib.Resetter).Reset(r.in, nil)
	}
	if err != nil {
		return t, nil, badPack("%v", err)
	}
	r.buf.Reset()
	// One byte more than it may have, so that the end of the stream and its
	// checksum are seen.
	n, err := io.Copy(&r.buf, io.LimitReader(r.zlib, size+1))
	if err != nil || n != size {
		return t, nil, badPack("%d bytes of content, want %d: %v", n, size, err)
	}
	return t, r.buf.Bytes(), nil
}

// maxSizeBytes is how many bytes the size of an object may take: more than
// 2^60 is no size.
const maxSizeBytes = 9

// head reads an object's type and size: three bits and four, then seven a
// byte, the lowest first.
func (r *packReader) head() (plumbing.ObjectType, int64, error) {
	b, err := r.in.ReadByte()
	if err != nil {
		return 0, 0, badPack("it ends early")
	}
	t, size := plumbing.ObjectType(b>>4&7), int64(b&15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = r.in.ReadByte(); err != nil || shift > 4+7*(maxSizeBytes-2) {
			return 0, 0, badPack("an object's size cannot be read")
		}
		size |= int64(b&0x7f) << shift
	}
	switch t {
	case plumbing.BlobObject, plumbing.TreeObject, plumbing.CommitObject:
		return t, size, nil
	default:
		return 0, 0, badPack("an object of type %s", t)
	}
}

// maxPackMemory bounds a pack that is made in memory.
const maxPackMemory = 1 << 30

// encodePack writes objects as a pack without deltas, in the given order: the
// same objects make the same bytes.
func encodePack(o *objects, hashes []plumbing.Hash) ([]byte, error) {
	var out boundedBuffer
	if _, err := packfile.NewEncoder(&out, o.st, false).Encode(hashes, 0); err != nil {
		if errors.Is(err, ErrTooLarge) {
			return nil, err
		}
		return nil, fmt.Errorf("packing objects: %w: %w", ErrCorrupt, err)
	}
	return out.Bytes(), nil
}

// boundedBuffer refuses to grow beyond maxPackMemory.
type boundedBuffer struct{ bytes.Buffer }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxPackMemory {
		return 0, fmt.Errorf("%w: pack over %d bytes", ErrTooLarge, maxPackMemory)
	}
	return b.Buffer.Write(p)
}
