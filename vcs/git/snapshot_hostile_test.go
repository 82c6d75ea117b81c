package git_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// packed is a pack of blobs.
func packed(blobs ...string) []byte {
	var body []byte
	for _, b := range blobs {
		body = append(body, packEntry(3, b)...)
	}
	return git.SealPack(uint32(len(blobs)), body)
}

// packEntry is one object of a pack.
func packEntry(kind byte, content string) []byte {
	size := len(content)
	head := []byte{kind<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(size&0x7f))
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write([]byte(content))
	_ = w.Close()
	return append(head, z.Bytes()...)
}

func blobID(content string) string { return hexOf("blob", content) }

// forged is a manifest over a base with the lines.
func forged(tree, id string, lines ...string) []byte {
	return git.Canonical(fmt.Appendf(nil, `{"version":1,"id":%q,"label":"","base":%q,"modes":{"file":420,"exec":493,"dir":493},"paths":[%s]}`, id, tree, strings.Join(lines, ",")))
}

func fileLine(path, content string) string {
	return fmt.Sprintf(`{"path":%q,"kind":"file","mode":420,"hash":%q}`, path, blobID(content))
}

// TestForgedExports: a bucket that lies is found out before anything is kept.
func TestForgedExports(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{MaxFileBytes: 4096, MaxBytes: 8192}, func(dir string) {
		fillSmall(t)(dir)
		write(t, dir, "big", strings.Repeat("x", 5000))
	}, nil)
	tree := s.ws.BaseTree()
	store := filepath.Join(t.TempDir(), "probe")
	x := func(n int) string { return strings.Repeat("x", n) }
	one := func(lines ...string) []git.Kept {
		return []git.Kept{{ID: "s1", Manifest: forged(tree, "s1", lines...), Pack: packed("a", "b")}}
	}
	raw := func(m string) []git.Kept { return []git.Kept{{ID: "s1", Manifest: []byte(m)}} }
	link := func(path, target string) string {
		return fmt.Sprintf(`{"path":%q,"kind":"link","hash":%q}`, path, blobID(target))
	}
	big := func(ids ...string) (out []git.Kept) {
		for i, id := range ids {
			out = append(out, git.Kept{ID: id, Manifest: forged(tree, id), Pack: packed(fmt.Sprint(i) + x(3000))})
		}
		return out
	}
	for _, c := range []struct {
		name  string
		given []git.Kept
		want  error
	}{
		{"in .git", one(fileLine(".git/config", "a")), vcs.ErrInvalid},
		{"in .GIT of below", one(fileLine("src/.GIT/hooks/x", "a")), vcs.ErrInvalid},
		{"outside", one(fileLine("../x", "a")), vcs.ErrInvalid},
		{"absolute", one(fileLine("/etc/x", "a")), vcs.ErrInvalid},
		{"not clean", one(fileLine("src//x", "a")), vcs.ErrInvalid},
		{"raw way out", one(fmt.Sprintf(`{"raw":"Li4v/w==","kind":"file","mode":420,"hash":%q}`, blobID("a"))), vcs.ErrInvalid},
		{"raw that is text", one(fmt.Sprintf(`{"raw":"eA==","kind":"file","mode":420,"hash":%q}`, blobID("a"))), vcs.ErrInvalid},
		{"two names", one(fmt.Sprintf(`{"path":"x","raw":"/w==","kind":"file","mode":420,"hash":%q}`, blobID("a"))), vcs.ErrInvalid},
		{"deep", one(fileLine(strings.Repeat("d/", 200)+"x", "a")), vcs.ErrInvalid},
		{"below a link", one(fileLine("src/link/x", "a")), vcs.ErrInvalid},
		{"below a file", one(fileLine("new", "a"), fileLine("new/x", "b")), vcs.ErrInvalid},
		{"over a directory", one(fileLine("src", "a")), vcs.ErrInvalid},
		{"out of order", one(fileLine("b", "a"), fileLine("a", "a")), vcs.ErrInvalid},
		{"twice", one(fileLine("a", "a"), fileLine("a", "b")), vcs.ErrInvalid},
		{"no difference", one(`{"path":"none","kind":"absent"}`), vcs.ErrInvalid},
		{"set-user-id", one(fmt.Sprintf(`{"path":"x","kind":"file","mode":2541,"hash":%q}`, blobID("a"))), vcs.ErrInvalid},
		{"unknown kind", one(`{"path":"x","kind":"device"}`), vcs.ErrInvalid},
		{"file without content", one(`{"path":"x","kind":"file","mode":420}`), vcs.ErrInvalid},
		{"hash that is none", one(`{"path":"x","kind":"file","mode":420,"hash":"../../x"}`), vcs.ErrInvalid},
		{"directory with content", one(fmt.Sprintf(`{"path":"x","kind":"dir","mode":493,"hash":%q}`, blobID("a"))), vcs.ErrInvalid},
		{"missing object", one(fileLine("x", "c")), git.ErrIncomplete},
		{"object of a later pack", []git.Kept{
			{ID: "s1", Manifest: forged(tree, "s1", fileLine("x", "a"))}, {ID: "s2", Manifest: forged(tree, "s2"), Pack: packed("a")},
		}, git.ErrIncomplete},
		{"link of too much", []git.Kept{{ID: "s1", Manifest: forged(tree, "s1", link("l", "/"+x(4096))), Pack: packed("/" + x(4095))}}, vcs.ErrInvalid},
		{"link with a zero byte", []git.Kept{{ID: "s1", Manifest: forged(tree, "s1", link("l", "a\x00b")), Pack: packed("a\x00b")}}, vcs.ErrInvalid},
		{"link of the base's that is too long", one(link("l", x(5000))), vcs.ErrInvalid},
		{"other base", []git.Kept{{ID: "s1", Manifest: forged(strings.Repeat("a", 40), "s1")}}, vcs.ErrInvalid},
		{"other id", []git.Kept{{ID: "s2", Manifest: forged(tree, "s1")}}, vcs.ErrInvalid},
		{"id that leads away", []git.Kept{{ID: "../s1", Manifest: forged(tree, "../s1")}}, vcs.ErrInvalid},
		{"id twice", append(one(fileLine("x", "a")), one()...), vcs.ErrInvalid},
		{"version", raw(strings.Replace(string(forged(tree, "s1")), `"version":1`, `"version":2`, 1)), vcs.ErrInvalid},
		{"unknown member", raw(strings.Replace(string(forged(tree, "s1")), `"version":1`, `"version":1,"x":1`, 1)), vcs.ErrInvalid},
		{"doubled member", raw(strings.Replace(string(forged(tree, "s1")), `"version":1`, `"version":1,"version":1`, 1)), vcs.ErrInvalid},
		{"no JSON", raw("{"), vcs.ErrInvalid},
		{"nothing", raw(""), vcs.ErrInvalid},
		{"too large a file", []git.Kept{{ID: "s1", Manifest: forged(tree, "s1"), Pack: packed(x(5000))}}, git.ErrTooLarge},
		{"too much in one pack", []git.Kept{{ID: "s1", Manifest: forged(tree, "s1"), Pack: packed(x(4000), x(4001), x(4002))}}, git.ErrTooLarge},
		{"too much in all", big("s1", "s2", "s3"), git.ErrTooLarge},
		{"tree in the pack", []git.Kept{{ID: "s1", Manifest: forged(tree, "s1"), Pack: git.SealPack(1, packEntry(2, ""))}}, vcs.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := s.elsewhereShared(t, store, git.SnapshotOptions{MaxFileBytes: 4096, MaxBytes: 8192})
			defer to.Close()
			before := names(t, store)
			if err := to.Import(testContext(t), c.given); !errors.Is(err, c.want) {
				t.Fatalf("error is %v, want %v", err, c.want)
			}
			if diff := cmp.Diff(before, names(t, store)); diff != "" || len(to.List()) != 1 {
				t.Errorf("kept %v, stored (-want +got):\n%s", to.List(), diff)
			}
		})
	}
	// The same makers, without a lie, are taken.
	to := s.elsewhereShared(t, store, git.SnapshotOptions{})
	defer to.Close()
	must(t, to.Import(testContext(t), slices.Concat(one(fileLine("x", "a"), fileLine("y", "b")), big("s2", "s3"), one(fileLine("x", "a"), fileLine("y", "b")))))
	if list := to.List(); len(list) != 4 {
		t.Errorf("kept %v", list)
	}
	if _, err := to.Take(testContext(t), ""); err != nil {
		t.Error(err)
	}
	if err := to.Import(testContext(t), nil); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("a second import: %v", err)
	}
}

// elsewhereShared begins other snapshots of the same workspace.
func (s *shot) elsewhereShared(tb testing.TB, dir string, opts git.SnapshotOptions) *git.Snapshots {
	tb.Helper()
	opts.Dir = dir
	return value(s.ws.Snapshots(testContext(tb), opts))(tb)
}

func names(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	must(tb, filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		out = append(out, p)
		return err
	}))
	return out
}

// TestDamagedPacks: every byte of a pack counts, and its end.
func TestDamagedPacks(t *testing.T) {
	good := packed("first", strings.Repeat("second ", 40), "third")
	if sizes, err := git.ReadPack(good, 1000, 1000); err != nil || !slices.Equal(sizes, []int{5, 280, 5}) {
		t.Fatalf("%v %v", sizes, err)
	}
	for i := range good {
		for _, mask := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[i] ^= mask
			if _, err := git.ReadPack(bad, 1000, 1000); !errors.Is(err, vcs.ErrInvalid) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
		if _, err := git.ReadPack(good[:i], 1000, 1000); !errors.Is(err, vcs.ErrInvalid) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	body := good[12 : len(good)-20]
	short := packEntry(3, "short")
	short[0]++ // says one byte more than there is
	for name, bad := range map[string][]byte{
		"more than there are": git.SealPack(4, body),
		"fewer":               git.SealPack(2, body),
		"very many":           git.SealPack(1<<31, body),
		"wrong size":          git.SealPack(1, short),
		"delta":               git.SealPack(1, packEntry(6, "x")),
		"tag":                 git.SealPack(1, packEntry(4, "x")),
		"endless size":        git.SealPack(1, bytes.Repeat([]byte{0xff}, 64)),
	} {
		if _, err := git.ReadPack(bad, 1000, 1000); !errors.Is(err, vcs.ErrInvalid) && !errors.Is(err, git.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := git.ReadPack(packed(strings.Repeat("\x00", 1<<20)), 1000, 1000); !errors.Is(err, git.ErrTooLarge) {
		t.Errorf("a bomb: %v", err)
	}
}

// FuzzReadPack: whatever is read stays within the limits.
func FuzzReadPack(f *testing.F) {
	f.Add(uint32(2), packed("a", "b")[12:])
	f.Add(uint32(1), packEntry(1, "tree "))
	f.Add(uint32(1), []byte{0xbf, 0xff, 0x01, 0x78, 0x9c})
	f.Fuzz(func(t *testing.T, count uint32, body []byte) {
		sizes, err := git.ReadPack(git.SealPack(count, body), 512, 1024)
		total := 0
		for _, n := range sizes {
			if total += n; n > 512 {
				t.Errorf("object of %d bytes", n)
			}
		}
		if total > 1024 || err == nil && uint32(len(sizes)) != count {
			t.Errorf("%d objects of %d bytes, count %d: %v", len(sizes), total, count, err)
		}
	})
}

// FuzzImport: what is taken up can be restored and leads nowhere else.
func FuzzImport(f *testing.F) {
	needGit(f)
	s := snapshots(f, git.SnapshotOptions{}, fillSmall(f), nil)
	outside := f.TempDir()
	write(f, outside, "secret", secret)
	want, start := disk(f, outside), disk(f, s.dir)
	tree, dir := s.ws.BaseTree(), filepath.Join(f.TempDir(), "fuzz")
	for _, lines := range []string{
		fileLine("x", "a") + "," + fileLine("y", "b"),
		`{"path":"src/a.go","kind":"absent"},{"path":"src/b.go","kind":"absent"}`,
		fmt.Sprintf(`{"path":"l","kind":"link","hash":%q},{"path":"l/x","kind":"dir","mode":493}`, blobID(outside)),
		`{"raw":"/w==","kind":"dir","mode":448}`, fileLine(".git/x", "a"),
	} {
		f.Add(forged(tree, "s1", lines), packed("a", "b", outside))
	}
	f.Fuzz(func(t *testing.T, manifest, pack []byte) {
		if m := git.Canonical(manifest); m != nil {
			manifest = m
		}
		snaps := s.elsewhereShared(t, dir, git.SnapshotOptions{MaxBytes: 1 << 20})
		defer snaps.Close()
		if snaps.Import(t.Context(), []git.Kept{{ID: "s1", Manifest: manifest, Pack: pack}}) != nil {
			return
		}
		value(snaps.Resume(t.Context(), "s1"))(t)
		if diff := cmp.Diff(want, disk(t, outside)); diff != "" {
			t.Errorf("outside (-want +got):\n%s", diff)
		}
		value(snaps.Restore(t.Context(), git.FirstSnapshot, nil))(t)
		if diff := cmp.Diff(start, disk(t, s.dir)); diff != "" {
			t.Errorf("back again (-want +got):\n%s", diff)
		}
	})
}

// hexOf is an object's id.
func hexOf(kind, content string) string {
	return hex.EncodeToString([]byte(idOf(kind, content)))
}

// idOf is an object's id as trees hold it.
func idOf(kind, content string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content))
	return string(sum[:])
}
