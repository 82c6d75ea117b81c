package outline

import (
	"context"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"
)

// Tree is the files of a repository as an index wants them. Names are
// slash-separated and relative; ignored files are left out.
//
// Walk calls visit for every regular file; an error of visit ends it and is
// returned. Read returns the whole of a file and is called from several
// goroutines at once; an error skips the file.
type Tree interface {
	Walk(ctx context.Context, visit func(Entry) error) error
	Read(path string) ([]byte, error)
}

// Entry is one file of a [Tree].
type Entry struct {
	Path string
	Size int64
	// Hash names the content, where the tree knows it without reading (a
	// git blob); empty otherwise.
	Hash string
	// Info is what the file system says, nil where there is none. It saves
	// reading a file again only when it proves that nothing was written.
	Info fs.FileInfo
}

// stamp is a state of a file on disk. The change time cannot be set by those
// who write the file.
type stamp struct {
	size, mtime, ctime int64
	device, inode      uint64
}

// settled is how long ago a file must have been changed for its stamp to be
// believed: clocks of file systems tick in steps, and what is written twice in
// one step looks the same.
const settled = 2 * time.Second

// stampOf is the stamp of an entry; ok is false when it proves nothing.
func stampOf(e Entry, now time.Time) (stamp, bool) {
	if e.Info == nil {
		return stamp{}, false
	}
	st, ok := e.Info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	s := stamp{size: e.Info.Size(), mtime: e.Info.ModTime().UnixNano(), ctime: st.Ctim.Nano(), device: st.Dev, inode: st.Ino}
	age := now.UnixNano() - max(s.ctime, s.mtime)
	return s, age > int64(settled)
}

// class is what a path is for, in order of how soon it is read.
type class int

const (
	classSource class = iota
	classTest
	classOther   // configuration, documents
	classForeign // copied in or generated
)

// classOf judges by the name alone.
func classOf(name string) class {
	lower := "/" + strings.ToLower(name)
	for _, dir := range []string{"/vendor/", "/node_modules/", "/third_party/", "/thirdparty/", "/dist/", "/build/", "/.yarn/", "/site-packages/"} {
		if strings.Contains(lower, dir) {
			return classForeign
		}
	}
	base := path.Base(lower)
	for _, part := range []string{".min.", ".pb.go", "_pb2.", ".generated.", "package-lock.json", "yarn.lock", "go.sum", ".lock", "pnpm-lock"} {
		if strings.Contains(base, part) {
			return classForeign
		}
	}
	switch l := languageOf(name); {
	case l == nil || l.name == "markdown":
		return classOther
	case isTest(lower, base):
		return classTest
	}
	return classSource
}

func isTest(lower, base string) bool {
	for _, dir := range []string{"/test/", "/tests/", "/testdata/", "/__tests__/", "/spec/", "/fixtures/"} {
		if strings.Contains(lower, dir) {
			return true
		}
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	return strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") ||
		strings.HasSuffix(stem, "_spec") || strings.HasPrefix(base, "test_")
}
