package git

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/json"

	"github.com/go-git/go-git/v5/plumbing"
)

// Ignored applies a top-level .gitignore to a file's path, looking at every
// directory above it first, as a walk does.
func Ignored(rules, path string) bool {
	stack := ignoreStack{}.with(parseIgnore("", []byte(rules)))
	for i := range len(path) {
		if path[i] == '/' && stack.ignored(path[:i], true) {
			return true
		}
	}
	return stack.ignored(path, false)
}

// Attr looks up one attribute of a path under a top-level .gitattributes.
func Attr(file, path, name string) (string, bool) {
	a := newAttributes()
	a.parse("", []byte(file))
	v, ok := a.lookup(path)[name]
	return v, ok
}

// DiffText prints the hunks between two texts.
func DiffText(a, b string) string { return hunks(splitLines([]byte(a)), splitLines([]byte(b))) }

// Escapes is the judgement on a link.
func Escapes(path, target string) bool { return linkEscapes(path, target) }

// Canonical rewrites a manifest the way manifests are written; nil for what is
// none.
func Canonical(data []byte) []byte {
	var m manifest
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	out, err := m.encode()
	if err != nil {
		return nil
	}
	return out
}

// ReadPack goes through a pack and gives the sizes of its objects.
func ReadPack(pack []byte, object, total int64) (sizes []int, err error) {
	err = readPack(pack, packLimits{object: object, total: total}, func(_ plumbing.ObjectType, _ plumbing.Hash, content []byte) error {
		sizes = append(sizes, len(content))
		return nil
	})
	return sizes, err
}

// SealPack puts the right count and checksum to the objects of a pack.
func SealPack(count uint32, body []byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), count)
	out = append(out, body...)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}
