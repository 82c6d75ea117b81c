package image_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/greenwright/greenwright/sandbox/image"
)

func TestLayersAddUp(t *testing.T) {
	for name, tt := range map[string]struct {
		layers layers
		want   map[string]string
	}{
		"files of several layers": {
			layers{{dir("a"), file("a/x", "1"), file("y", "1")}, {file("a/x", "2"), file("./b/c/z", "2")}},
			map[string]string{"a": "dir", "a/x": "file 2", "y": "file 1", "b": "dir", "b/c": "dir", "b/c/z": "file 2"},
		},
		"absolute names": {layers{{file("/a/x", "1")}}, map[string]string{"a": "dir", "a/x": "file 1"}},
		"whiteouts": {
			layers{
				{file("a/x", "1"), file("a/y", "1"), file("d/e/f", "1"), symlink("l", "a/x")},
				{file("a/.wh.x", ""), file(".wh.d", ""), file(".wh.l", ""), file(".wh.nothing", ""), file("none/.wh.x", "")},
			},
			map[string]string{"a": "dir", "a/y": "file 1"},
		},
		"a whiteout spares its own layer": {
			layers{{file("a/old", "1")}, {file("a/new", "2"), file(".wh.a", ""), file("b", "2"), file(".wh.b", "")}},
			map[string]string{"a": "dir", "a/new": "file 2", "b": "file 2"},
		},
		"opaque before and after": {
			layers{
				{file("a/old", "1"), file("a/sub/old", "1"), file("b/old", "1")},
				{file("a/.wh..wh..opq", ""), file("a/sub/new", "2"), file("b/sub/new", "2"), file("b/.wh..wh..opq", "")},
			},
			map[string]string{"a": "dir", "a/sub": "dir", "a/sub/new": "file 2", "b": "dir", "b/sub": "dir", "b/sub/new": "file 2"},
		},
		"notes of storage drivers": {layers{{file(".wh..wh.plnk/1.2", ""), file(".wh..wh.aufs", "")}}, map[string]string{".wh..wh.plnk": "dir", ".wh..wh.plnk/1.2": "file "}},
		"kinds replace each other": {
			layers{
				{file("f", "1"), file("d/x", "1"), symlink("l", "d"), file("p", "1")},
				{file("f/x", "2"), file("d", "2"), dir("l"), dir("p")},
			},
			map[string]string{"f": "dir", "f/x": "file 2", "d": "file 2", "l": "dir", "p": "dir"},
		},
		"a file replaces a link and not its target": {
			layers{{file("x", "1"), symlink("l", "x")}, {file("l", "2")}},
			map[string]string{"x": "file 1", "l": "file 2"},
		},
		"through links of an earlier layer": {
			layers{
				{dir("usr/lib"), symlink("lib", "usr/lib"), symlink("abs", "/usr/lib"), symlink("up", "../../../usr/lib")},
				{file("lib/a", "2"), file("abs/b", "2"), file("up/c/d", "2")},
			},
			map[string]string{
				"usr": "dir", "usr/lib": "dir", "lib": "-> usr/lib", "abs": "-> /usr/lib", "up": "-> ../../../usr/lib",
				"usr/lib/a": "file 2", "usr/lib/b": "file 2", "usr/lib/c": "dir", "usr/lib/c/d": "file 2",
			},
		},
		"a link that changes its meaning": {
			layers{{dir("a"), dir("b"), symlink("l", "a"), file("l/1", "")}, {file("l/2", ""), symlink("l", "b"), file("l/3", "")}},
			map[string]string{"a": "dir", "b": "dir", "l": "-> b", "a/1": "file ", "a/2": "file ", "b/3": "file "},
		},
		"hard links": {
			layers{{file("x", "1"), hardlink("y", "x"), symlink("l", "x"), hardlink("m", "l")}, {hardlink("/z", "/x"), hardlink("x", "./x")}},
			map[string]string{"x": "file 1", "y": "file 1", "z": "file 1", "l": "-> x", "m": "-> x"},
		},
		"names": {
			layers{{file("\xff\xfe/\x80", "1"), file("a b/\n", "1"), file(strings.Repeat("n", 255), "1"), file("wh.x", "1")}},
			map[string]string{
				"\xff\xfe": "dir", "\xff\xfe/\x80": "file 1", "a b": "dir", "a b/\n": "file 1",
				strings.Repeat("n", 255): "file 1", "wh.x": "file 1",
			},
		},
		"no layers": {layers{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			img, err := pull(t, image.Config{}, tt.layers)
			must(t, err)
			want := maps.Clone(mountPoints)
			maps.Copy(want, tt.want)
			if d := cmp.Diff(want, listing(t, img.Root)); d != "" {
				t.Errorf("root (-want +got):\n%s", d)
			}
		})
	}
}

func TestHardLinksAreOneFile(t *testing.T) {
	img, err := pull(t, image.Config{}, layers{{file("x", "1"), hardlink("y", "x")}})
	must(t, err)
	a, err := os.Stat(filepath.Join(img.Root, "x"))
	must(t, err)
	b, err := os.Stat(filepath.Join(img.Root, "y"))
	must(t, err)
	if !os.SameFile(a, b) {
		t.Error("two files")
	}
}

func TestPermissions(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	stamp := time.Unix(1_600_000_000, 0)
	timed := mode(file("plain", "x"), 0o600)
	timed.ModTime = stamp
	owned := file("owned", "x")
	owned.Uid, owned.Gid = 1234, 1234
	owned.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02"}
	owned.Format = tar.FormatPAX
	img, err := pull(t, image.Config{}, layers{{
		timed, owned, mode(file("su", "x"), 0o6755), mode(file("sticky", "x"), 0o1777), mode(file("closed", "x"), 0),
		mode(file("tool", "x"), 0o711), mode(dir("private"), 0o700), mode(dir("open"), 0o1777), mode(dir("group"), 0o2775), file("private/x", "x"),
	}})
	must(t, err)
	for name, want := range map[string]os.FileMode{
		"plain": 0o644, "owned": 0o644, "su": 0o755, "sticky": 0o755, "closed": 0o444, "tool": 0o755, "private/x": 0o644,
		"private": os.ModeDir | 0o755, "open": os.ModeDir | 0o755, "group": os.ModeDir | 0o755, ".": os.ModeDir | 0o755,
		"home/agent": os.ModeDir | 0o755, "etc/passwd": 0o644, "../..": os.ModeDir | 0o755, "..": os.ModeDir | 0o755,
	} {
		info, err := os.Lstat(filepath.Join(img.Root, name))
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s: %v, want %v", name, info.Mode(), want)
		}
		if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != os.Getuid() {
			t.Errorf("%s belongs to %d", name, st.Uid)
		}
	}
	if info, err := os.Stat(filepath.Join(img.Root, "plain")); err != nil || !info.ModTime().Equal(stamp) {
		t.Errorf("time %v, %v", info.ModTime(), err)
	}
	buf := make([]byte, 100)
	if n, err := syscall.Getxattr(filepath.Join(img.Root, "owned"), "security.capability", buf); err == nil {
		t.Errorf("a capability of %d bytes was kept", n)
	}
}

func TestSpecialFilesAreSkipped(t *testing.T) {
	all := []entry{file("a", "1"), special("dev/null", tar.TypeChar), special("disk", tar.TypeBlock), special("fifo", tar.TypeFifo), file("b", "1")}
	// The control: the system's tar makes the FIFO, and as root the devices.
	if made := systemTar(t, layers{all}); made["fifo"] != "special" {
		t.Errorf("tar made %v", made)
	}
	img, err := pull(t, image.Config{}, layers{all})
	must(t, err)
	want := maps.Clone(mountPoints)
	maps.Copy(want, map[string]string{"a": "file 1", "b": "file 1"})
	if d := cmp.Diff(want, listing(t, img.Root)); d != "" {
		t.Errorf("root (-want +got):\n%s", d)
	}
	if img.Skipped != 3 {
		t.Errorf("skipped %d", img.Skipped)
	}
}

func TestMountPointsReplaceLinks(t *testing.T) {
	img, err := pull(t, image.Config{}, layers{{
		symlink("workspace", "/elsewhere"), symlink("home", "/var/home"), file("tmp", "a file"), symlink("run", "run"),
		symlink("etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf"), dir("etc/hosts"), file("etc/passwd", "root:x:0:0::/:/bin/sh\n"),
	}})
	must(t, err)
	want := maps.Clone(mountPoints)
	want["etc/passwd"] = "file root:x:0:0::/:/bin/sh\n"
	if d := cmp.Diff(want, listing(t, img.Root)); d != "" {
		t.Errorf("root (-want +got):\n%s", d)
	}
}

func TestLimits(t *testing.T) {
	deep := func(n int) entry { return file(strings.Repeat("d/", n)+"f", "") }
	var many []entry
	for i := range 300 {
		many = append(many, file(strconv.Itoa(i), ""))
	}
	var growing []entry // each link makes the next path longer than its name
	for i := range 60 {
		n := strconv.Itoa(i)
		prev := "l" + strconv.Itoa(i-1)
		if i == 0 {
			prev = "start"
		}
		growing = append(growing, dir(prev+"/"+strings.Repeat("x/", 20)+"y"), symlink("l"+n, prev+"/"+strings.Repeat("x/", 20)+"y"))
	}
	skipped := make([]entry, 300)
	for i := range skipped {
		skipped[i] = special("fifo", tar.TypeFifo)
	}
	config := image.Config{MaxBytes: 4 << 20, MaxFiles: 200}
	for name, tt := range map[string]struct {
		ok, over layers
		err      error
	}{
		"bytes": {
			layers{{file("a", strings.Repeat("x", 3<<20))}},
			layers{{file("a", strings.Repeat("x", 5<<20))}}, image.ErrTooLarge,
		},
		"bytes of several layers": {
			layers{{file("a", strings.Repeat("x", 1<<20))}, {file("a", strings.Repeat("y", 1<<20))}},
			layers{{file("a", strings.Repeat("x", 3<<20))}, {file("a", strings.Repeat("y", 3<<20))}}, image.ErrTooLarge,
		},
		"entries":         {layers{many[:150]}, layers{many}, image.ErrTooLarge},
		"skipped entries": {layers{skipped[:100]}, layers{skipped}, image.ErrTooLarge},
		"implied directories": {
			layers{{deep(100)}}, layers{{deep(100)}, {file("e/"+strings.Repeat("d/", 110)+"f", "")}}, image.ErrTooLarge,
		},
		"depth":              {layers{{deep(127)}}, layers{{deep(128)}}, image.ErrTooLarge},
		"depth behind links": {layers{growing[:8]}, layers{growing}, image.ErrTooLarge},
		"a long component":   {layers{{file(strings.Repeat("n", 255), "")}}, layers{{file(strings.Repeat("n", 256), "")}}, image.ErrHostile},
		"a long path": {
			layers{{file(strings.Repeat(strings.Repeat("n", 200)+"/", 10)+"f", "")}},
			layers{{file(strings.Repeat(strings.Repeat("n", 200)+"/", 11)+"f", "")}}, image.ErrTooLarge,
		},
		"a long target":   {layers{{symlink("l", strings.Repeat("n", 4000))}}, layers{{symlink("l", strings.Repeat("n", 5000))}}, image.ErrHostile},
		"a loop of links": {layers{{symlink("a", "b"), symlink("b", "c"), dir("c"), file("a/x", "")}}, layers{{symlink("a", "b"), symlink("b", "a"), file("a/x", "")}}, image.ErrHostile},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := pull(t, config, tt.ok); err != nil {
				t.Errorf("within the limit: %v", err)
			}
			c := config
			c.Dir = filepath.Join(t.TempDir(), "cache")
			_, err := pull(t, c, tt.over)
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			assertNothing(t, c.Dir)
		})
	}
}

// assertNothing looks for roots, whole or not.
func assertNothing(t *testing.T, cache string) {
	t.Helper()
	for _, sub := range []string{"roots", "tmp"} {
		left, err := os.ReadDir(filepath.Join(cache, sub))
		must(t, err)
		if len(left) > 0 {
			t.Errorf("left in %s: %v", sub, left)
		}
	}
}

// TestASparseFile is 1 TB in a few hundred bytes.
func TestASparseFile(t *testing.T) {
	sparse := systemSparse(t, 1<<40)
	s := newServer(t)
	ref := s.push(t, "sparse:1", imageOf(t, v1.Config{}, layerOf(t, sparse)))
	began := time.Now()
	_, err := open(t, s, image.Config{}).Pull(t.Context(), ref)
	if !errors.Is(err, image.ErrTooLarge) || time.Since(began) > 5*time.Second {
		t.Errorf("a terabyte: %v after %v", err, time.Since(began))
	}
	ref = s.push(t, "sparse:2", imageOf(t, v1.Config{}, layerOf(t, systemSparse(t, 1<<20))))
	img, err := open(t, s, image.Config{}).Pull(t.Context(), ref)
	must(t, err)
	defer img.Release()
	if info, err := os.Stat(filepath.Join(img.Root, "sparse")); err != nil || info.Size() != 1<<20 {
		t.Errorf("a megabyte: %v, %v", info, err)
	}
}

// TestABomb is a layer of which 64 MB of nothing follow the end.
func TestABomb(t *testing.T) {
	padded := func(n int) []byte { return append(archive(t, []entry{file("a", "1")}), make([]byte, n)...) }
	s := newServer(t)
	store := open(t, s, image.Config{MaxBytes: 1 << 20, MaxFiles: 100})
	img, err := store.Pull(t.Context(), s.push(t, "bomb:1", imageOf(t, v1.Config{}, layerOf(t, padded(10_000)))))
	must(t, err)
	img.Release()
	_, err = store.Pull(t.Context(), s.push(t, "bomb:2", imageOf(t, v1.Config{}, layerOf(t, padded(64<<20)))))
	if !errors.Is(err, image.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

func TestCompressions(t *testing.T) {
	plain := archive(t, []entry{file("a", strings.Repeat("1", 100_000))})
	enc, err := zstd.NewWriter(nil)
	must(t, err)
	packed := enc.EncodeAll(plain, nil)
	must(t, enc.Close())
	s := newServer(t)
	for name, l := range map[string]v1.Layer{
		"gzip": layerOf(t, plain),
		"none": static.NewLayer(plain, types.OCIUncompressedLayer),
		"zstd": stored{static.NewLayer(packed, types.OCILayerZStd), static.NewLayer(plain, types.OCIUncompressedLayer)},
	} {
		img, err := open(t, s, image.Config{}).Pull(t.Context(), s.push(t, "comp:"+name, imageOf(t, v1.Config{}, l)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if content, err := os.ReadFile(filepath.Join(img.Root, "a")); err != nil || !bytes.Equal(content, bytes.Repeat([]byte("1"), 100_000)) {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
		img.Release()
	}
}

// stored is a layer that is stored in another form than its content.
type stored struct {
	v1.Layer
	content v1.Layer
}

func (s stored) DiffID() (v1.Hash, error) { return s.content.Digest() }

func TestBrokenArchives(t *testing.T) {
	whole := archive(t, []entry{file("a", strings.Repeat("x", 5000))})
	s := newServer(t)
	for name, content := range map[string][]byte{"cut": whole[:3000], "garbage": []byte(strings.Repeat("garbage ", 200)), "broken gzip": {0x1f, 0x8b, 1, 2, 3}} {
		l := static.NewLayer(content, types.OCIUncompressedLayer)
		ref := s.push(t, "broken:"+strings.ReplaceAll(name, " ", "-"), imageOf(t, v1.Config{}, l))
		c := image.Config{Dir: filepath.Join(t.TempDir(), "cache")}
		if _, err := open(t, s, c).Pull(t.Context(), ref); err == nil {
			t.Errorf("%s: no error", name)
		}
		assertNothing(t, c.Dir)
	}
	l := static.NewLayer(whole, types.OCIUncompressedLayer)
	img, err := open(t, s, image.Config{}).Pull(t.Context(), s.push(t, "broken:control", imageOf(t, v1.Config{}, l)))
	must(t, err)
	img.Release()
}

func TestAnotherArchitecture(t *testing.T) {
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	s := newServer(t)
	for arch, ok := range map[string]bool{other: false, runtime.GOARCH: true} {
		img := withArch(t, built(t, layers{{file("a", "1")}}), arch)
		got, err := open(t, s, image.Config{}).Pull(t.Context(), s.push(t, "arch:"+arch, img))
		if (err == nil) != ok {
			t.Errorf("%s: %v", arch, err)
		}
		if err == nil {
			got.Release()
		}
	}
}
