package image_test

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/sandbox/image"
)

// FuzzUnpack holds that whatever two layers say, nothing beside the root
// changes and nothing in it has a forbidden kind or permission.
func FuzzUnpack(f *testing.F) {
	for _, s := range [][2][]entry{
		{{symlink("esc", "../outside")}, {file("esc/pwned", "x"), file("esc/.wh.victim", "")}},
		{{hardlink("leak", "../outside/victim"), file("../outside/pwned", "x")}, {file("a/.wh..", ""), file(".wh..wh..opq", "")}},
		{{dir("a"), symlink("a/b", "/a"), special("n", tar.TypeChar), mode(file("s", "x"), 0o6777)}, {file("a/b/c", "1"), hardlink("h", "s"), symlink("etc", "../outside")}},
	} {
		f.Add(archive(f, s[0]), archive(f, s[1]))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		base := t.TempDir()
		before := state(t, outside(t, base))
		root := filepath.Join(base, "root")
		err := image.Unpack(t.Context(), root, image.Config{MaxBytes: 1 << 20, MaxFiles: 200}, one, two)
		if d := cmp.Diff(before, state(t, filepath.Join(base, "outside"))); d != "" {
			t.Fatalf("changed outside (-before +after):\n%s", d)
		}
		if entries, rerr := os.ReadDir(base); rerr != nil || len(entries) != 2 {
			t.Fatalf("beside the root: %v, %v", entries, rerr)
		}
		if err != nil {
			return
		}
		must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			must(t, err)
			info, err := d.Info()
			must(t, err)
			m := info.Mode()
			ok := m.IsRegular() && m&^0o755 == 0 && m&0o444 == 0o444 || m == fs.ModeDir|0o755 || m.Type() == fs.ModeSymlink
			if !ok {
				return fmt.Errorf("%s has mode %v", path, m)
			}
			return nil
		}))
	})
}

func BenchmarkUnpack10k(b *testing.B) {
	var entries []entry
	for i := range 10_000 {
		entries = append(entries, file(fmt.Sprintf("usr/lib/d%d/f%d", i%300, i), "some content\n"))
	}
	layer := archive(b, entries)
	base, n := b.TempDir(), 0
	for b.Loop() {
		n++
		if err := image.Unpack(b.Context(), filepath.Join(base, fmt.Sprint(n)), image.Config{MaxBytes: 1 << 30, MaxFiles: 100_000}, layer); err != nil {
			b.Fatal(err)
		}
	}
}
