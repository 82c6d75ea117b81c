package image_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/greenwright/greenwright/sandbox/image"
)

// naive unpacks as a careless program would. It is the control: what is
// refused below must be possible here.
func naive(root string, all []entry) {
	_ = os.MkdirAll(root, 0o755)
	for _, e := range all {
		path := filepath.Join(root, e.Name)
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		base := filepath.Base(e.Name)
		switch {
		case base == ".wh..wh..opq":
			children, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
			for _, c := range children {
				_ = os.RemoveAll(c)
			}
		case strings.HasPrefix(base, ".wh."):
			removeAsGiven(filepath.Dir(path) + "/" + strings.TrimPrefix(base, ".wh."))
		case e.Typeflag == tar.TypeDir:
			_ = os.MkdirAll(path, 0o755)
			_ = os.Chmod(path, os.FileMode(e.Mode))
		case e.Typeflag == tar.TypeSymlink:
			_ = os.Symlink(e.Linkname, path)
		case e.Typeflag == tar.TypeLink:
			_ = os.Link(filepath.Join(root, e.Linkname), path)
		default:
			_ = os.WriteFile(path, []byte(e.content), 0o644)
		}
	}
	for _, f := range []string{"passwd", "hosts"} { // its mount points
		_ = os.MkdirAll(filepath.Join(root, "etc"), 0o755)
		if _, err := os.Stat(filepath.Join(root, "etc", f)); err != nil {
			_ = os.WriteFile(filepath.Join(root, "etc", f), nil, 0o644)
		}
	}
}

// removeAsGiven leaves it to the kernel what ".." means behind a link.
func removeAsGiven(path string) {
	_ = exec.Command("sh", "-c", `find "$1" -mindepth 1 -delete; rmdir "$1" || rm -f "$1"`, "sh", path).Run()
}

// outside makes what no image may touch: a directory with a file, beside the
// place of roots, so that "../outside" from a root leads to it.
func outside(t *testing.T, base string) string {
	t.Helper()
	dir := filepath.Join(base, "outside")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "victim"), []byte("precious"), 0o644))
	return dir
}

// state is all that an attack could change: the content and permissions.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	s := listing(t, dir)
	for name := range s {
		info, err := os.Lstat(filepath.Join(dir, name))
		must(t, err)
		s[name] += " " + info.Mode().String()
		if info.Mode().IsRegular() {
			s[name] += " links " + linkCount(t, info)
		}
	}
	return s
}

func TestNoWayOut(t *testing.T) {
	for name, tt := range map[string]struct {
		// attack gets the outside directory, as an absolute path and as seen
		// from the root.
		attack func(abs, rel string) []entry
		err    error // nil where the image is harmless once understood
	}{
		"dots in a name":        {func(_, rel string) []entry { return []entry{file(rel+"/pwned", "x")} }, image.ErrHostile},
		"dots after a name":     {func(_, rel string) []entry { return []entry{dir("a"), file("a/../"+rel+"/pwned", "x")} }, image.ErrHostile},
		"dots in a directory":   {func(_, rel string) []entry { return []entry{mode(dir(rel+"/sub"), 0o700)} }, image.ErrHostile},
		"dots in a link's name": {func(_, rel string) []entry { return []entry{symlink(rel+"/pwned", "/")} }, image.ErrHostile},
		"dots in a whiteout":    {func(_, rel string) []entry { return []entry{file(rel+"/.wh.victim", "")} }, image.ErrHostile},
		"an absolute link as parent": {func(abs, _ string) []entry {
			return []entry{symlink("esc", abs), file("esc/pwned", "x")}
		}, nil},
		"a relative link as parent": {func(_, rel string) []entry {
			return []entry{symlink("esc", rel), file("esc/pwned", "x")}
		}, nil},
		"a chain of links as parent": {func(_, rel string) []entry {
			return []entry{dir("a"), symlink("a/up", ".."), symlink("b", "a/up/"+rel), file("b/pwned", "x")}
		}, nil},
		"a directory behind a link": {func(abs, _ string) []entry {
			return []entry{symlink("esc", abs), dir("esc/made")}
		}, nil},
		"a file over a link": {func(abs, _ string) []entry {
			return []entry{symlink("l", abs+"/victim"), file("l", "pwned")}
		}, nil},
		"permissions of a link": {func(abs, _ string) []entry {
			return []entry{symlink("esc", abs+"/sub"), mode(dir("esc"), 0o700)}
		}, nil},
		"a hard link out": {func(_, rel string) []entry {
			return []entry{hardlink("leak", rel+"/victim")}
		}, image.ErrHostile},
		"a hard link through a link": {func(abs, _ string) []entry {
			return []entry{symlink("esc", abs), hardlink("leak", "esc/victim")}
		}, os.ErrNotExist},
		"a hard link written through": {func(_, rel string) []entry {
			return []entry{hardlink("leak", rel+"/victim"), file("leak", "pwned")}
		}, image.ErrHostile},
		"a hard link to a link, written through": {func(abs, _ string) []entry {
			return []entry{symlink("l", abs+"/victim"), hardlink("m", "l"), file("m", "pwned")}
		}, nil},
		"a whiteout behind a link": {func(abs, _ string) []entry {
			return []entry{symlink("esc", abs), file("esc/.wh.victim", "")}
		}, nil},
		"an opaque whiteout behind a link": {func(abs, _ string) []entry {
			return []entry{symlink("esc", abs), file("esc/.wh..wh..opq", "")}
		}, nil},
		"a whiteout of the parent": {func(_, rel string) []entry {
			return []entry{symlink("esc", rel+"/sub"), file("esc/.wh...", "")}
		}, image.ErrHostile},
		"mount points behind links": {func(abs, _ string) []entry {
			return []entry{symlink("etc", abs)}
		}, nil},
		"mount points that are links": {func(abs, _ string) []entry {
			return []entry{dir("etc"), symlink("etc/hosts", abs+"/made")}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			// The control: a careless program is caught, also over two layers.
			base := t.TempDir()
			abs := outside(t, base)
			before := state(t, abs)
			naive(filepath.Join(base, "root"), tt.attack(abs, "../outside"))
			if cmp.Equal(before, state(t, abs)) {
				t.Fatal("the attack does nothing even to a careless program")
			}
			// One layer, and a layer for each entry.
			abs = outside(t, t.TempDir())
			before = state(t, abs)
			// From the unpacked root: DIR/tmp/KEY.N/root.
			rel := "../../../../outside"
			one := tt.attack(abs, rel)
			var each layers
			for _, e := range one {
				each = append(each, []entry{e})
			}
			for _, all := range []layers{{one}, each} {
				cache := filepath.Join(filepath.Dir(abs), "cache")
				img, err := pull(t, image.Config{Dir: cache}, all)
				if !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
				if d := cmp.Diff(before, state(t, abs)); d != "" {
					t.Errorf("changed outside (-before +after):\n%s", d)
				}
				if err != nil {
					assertNothing(t, cache)
					continue
				}
				for path, what := range listing(t, img.Root) {
					if strings.Contains(what, "precious") {
						t.Errorf("%s shows what is outside", path)
					}
				}
			}
		})
	}
}

func TestWhiteoutsOfDotsAreRefused(t *testing.T) {
	for name, want := range map[string]error{"a/.wh.": image.ErrHostile, "a/.wh..": image.ErrHostile, "a/.wh...": image.ErrHostile, "a/.wh....": nil, "a/.wh.b": nil} {
		_, err := pull(t, image.Config{}, layers{{file("a/b", "1"), file("c", "1")}, {file(name, "")}})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// TestTheRegistryLies changes what is sent for each kind of content.
func TestTheRegistryLies(t *testing.T) {
	s := newServer(t)
	good := built(t, layers{{file("a", strings.Repeat("good", 1000))}})
	ref := s.push(t, "lies:1", good)
	digest, err := good.Digest()
	must(t, err)
	config, err := good.ConfigName()
	must(t, err)
	evil := layerOf(t, archive(t, []entry{file("a", strings.Repeat("evil", 1000))}))
	evilBytes, err := evil.Compressed()
	must(t, err)
	evilLayer, err := io.ReadAll(evilBytes)
	must(t, err)
	pinned := strings.TrimSuffix(ref, ":1") + "@" + digest.String()
	for name, change := range map[string]func(path string, body []byte) []byte{
		"another layer": func(path string, body []byte) []byte {
			if strings.Contains(path, "/blobs/") && !strings.Contains(path, config.Hex) {
				return evilLayer
			}
			return body
		},
		"another configuration": func(path string, body []byte) []byte {
			if strings.Contains(path, config.Hex) {
				return bytes.Replace(body, []byte(`"linux"`), []byte(`"linuy"`), 1)
			}
			return body
		},
		"another manifest": func(path string, body []byte) []byte {
			if strings.Contains(path, "/manifests/") {
				return append(body, ' ')
			}
			return body
		},
		"a longer layer": func(path string, body []byte) []byte {
			if strings.Contains(path, "/blobs/") && !strings.Contains(path, config.Hex) {
				return append(body, 0)
			}
			return body
		},
	} {
		s.set(change, false)
		c := image.Config{Dir: filepath.Join(t.TempDir(), "cache")}
		if _, err := open(t, s, c).Pull(t.Context(), pinned); err == nil {
			t.Errorf("%s: no error", name)
		}
		assertNothing(t, c.Dir)
	}
	s.set(nil, false)
	img, err := open(t, s, image.Config{}).Pull(t.Context(), pinned)
	must(t, err)
	img.Release()
}

func TestLayersFromElsewhereAreRefused(t *testing.T) {
	s := newServer(t)
	l := layerOf(t, archive(t, []entry{file("a", "1")}))
	for urls, want := range map[string]error{"http://127.0.0.1:9/secret": image.ErrHostile, "": nil} {
		add := mutate.Addendum{Layer: l}
		if urls != "" {
			add.URLs = []string{urls}
		}
		img, err := mutate.Append(imageOf(t, v1.Config{}), add)
		must(t, err)
		got, err := open(t, s, image.Config{}).Pull(t.Context(), s.push(t, "foreign:1", img))
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", urls, err, want)
		}
		if err == nil {
			got.Release()
		}
	}
}

// systemTar unpacks one layer with the system's tar.
func systemTar(t *testing.T, all layers) map[string]string {
	t.Helper()
	root := t.TempDir()
	cmd := exec.Command("tar", "-x", "-C", root)
	cmd.Stdin = bytes.NewReader(archive(t, all[0]))
	if out, err := cmd.CombinedOutput(); err != nil && os.Getuid() == 0 {
		t.Fatalf("tar: %v: %s", err, out)
	}
	return listing(t, root)
}

func systemSparse(t *testing.T, size int64) []byte {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "sparse"), nil, 0o644))
	must(t, os.Truncate(filepath.Join(dir, "sparse"), size))
	out, err := exec.Command("tar", "-c", "-S", "-C", dir, "sparse").Output()
	must(t, err)
	if size > 1<<30 && len(out) > 1<<20 {
		t.Fatalf("the archive has %d bytes", len(out))
	}
	return out
}
