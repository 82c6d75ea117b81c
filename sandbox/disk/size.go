package disk

import "errors"

// ErrTooDeep says that the tree has more levels than MaxDepth. The Size that comes with
// it is what was counted so far.
var ErrTooDeep = errors.New("directories too deep")

// MaxDepth is how many levels are followed: what a walker must remember of
// each takes 80 bytes, so this is 80 MB.
const MaxDepth = 1 << 20

// Size is what a tree takes.
type Size struct {
	Bytes int64 // on the disk, as du counts: blocks, hard links once
	Files int64 // entries of all kinds with the top, hard links once
	// Hidden counts what could not be looked into, for want of permission or
	// because it was moved during the walk. What is in such directories is not
	// counted.
	Hidden int64
}

// Exceeds reports whether the size is beyond a limit; a zero field of the
// limit is none.
func (s Size) Exceeds(limit Size) bool {
	return (limit.Bytes > 0 && s.Bytes > limit.Bytes) || (limit.Files > 0 && s.Files > limit.Files)
}
