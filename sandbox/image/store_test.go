package image_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/greenwright/greenwright/sandbox/image"
)

func linkCount(t *testing.T, info os.FileInfo) string {
	t.Helper()
	return fmt.Sprint(info.Sys().(*syscall.Stat_t).Nlink)
}

func withArch(t *testing.T, img v1.Image, arch string) v1.Image {
	t.Helper()
	c, err := img.ConfigFile()
	must(t, err)
	c = c.DeepCopy()
	c.Architecture = arch
	img, err = mutate.ConfigFile(img, c)
	must(t, err)
	return img
}

func TestAnImageIsUnpackedOnce(t *testing.T) {
	s := newServer(t)
	ref := s.push(t, "once:1", built(t, layers{{file("a", "1")}, {file("b", "2")}}))
	cache := filepath.Join(t.TempDir(), "cache")
	var wg sync.WaitGroup
	roots := make([]string, 16)
	for i := range roots {
		wg.Go(func() {
			img, err := open(t, s, image.Config{Dir: cache}).Pull(t.Context(), ref)
			if err != nil {
				t.Errorf("Pull: %v", err)
				return
			}
			defer img.Release()
			roots[i] = img.Root
			if content, err := os.ReadFile(filepath.Join(img.Root, "b")); err != nil || string(content) != "2" {
				t.Errorf("%q, %v", content, err)
			}
		})
	}
	wg.Wait()
	for _, r := range roots {
		if r != roots[0] {
			t.Errorf("roots %v", roots)
		}
	}
	// Each Pull asks for the configuration; the two layers are fetched once.
	if n := s.count("blobs"); n != len(roots)+2 {
		t.Errorf("%d blobs fetched for %d pulls of 2 layers", n, len(roots))
	}
}

func TestADigestNeedsNoRegistry(t *testing.T) {
	s := newServer(t)
	img := built(t, layers{{file("a", "1")}})
	other := withArch(t, built(t, layers{{file("a", "other")}}), "s390x")
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: other, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}},
		mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}})
	ref, err := name.ParseReference(s.host + "/multi:1")
	must(t, err)
	must(t, remote.WriteIndex(ref, index, remote.WithTransport(s.transport)))
	indexDigest, err := index.Digest()
	must(t, err)
	digest, err := img.Digest()
	must(t, err)
	repo := s.host + "/multi"
	store := open(t, s, image.Config{})
	if got, err := store.Resolve(t.Context(), repo+":1"); err != nil || got != digest.String() {
		t.Errorf("Resolve: %s, %v, want %s", got, err, digest)
	}
	for _, down := range []bool{false, true} {
		s.set(nil, down)
		for _, ref := range []string{repo + "@" + indexDigest.String(), repo + "@" + digest.String()} {
			got, err := store.Pull(t.Context(), ref)
			if err != nil || got.Digest != digest.String() {
				t.Fatalf("down %v: %+v, %v", down, got, err)
			}
			if content, err := os.ReadFile(filepath.Join(got.Root, "a")); err != nil || string(content) != "1" {
				t.Errorf("%q, %v", content, err)
			}
			got.Release()
		}
	}
	if _, err := store.Pull(t.Context(), repo+":1"); err == nil {
		t.Error("a tag was answered while the registry is down")
	}
}

func TestConfiguration(t *testing.T) {
	s := newServer(t)
	img := imageOf(t, v1.Config{
		User: "node\x1b[2J", WorkingDir: "/usr/src/app",
		Env: []string{
			"PATH=/usr/local/go/bin::relative:/bin/../sbin", "GOPATH=/go", "EMPTY=", "A=b=c", "LANG=C.UTF-8",
			"HOME=/root", "http_proxy=http://evil", "HTTPS_PROXY=x", "No_Proxy=x", "USER=x", "noequals", "bad-name=x", "=x", "NUL=a\x00b", "BIG=" + strings.Repeat("x", 40<<10),
		},
	})
	got, err := open(t, s, image.Config{}).Pull(t.Context(), s.push(t, "config:1", img))
	must(t, err)
	defer got.Release()
	want := []any{[]string{"GOPATH=/go", "EMPTY=", "A=b=c", "LANG=C.UTF-8"}, []string{"/usr/local/go/bin", "/sbin"}, "node[2J", "/usr/src/app"}
	if d := cmp.Diff(want, []any{got.Env, got.Path, got.User, got.WorkDir}); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLocalForms(t *testing.T) {
	img := built(t, layers{{file("a", "1")}, {file(".wh.a", ""), file("b", "2")}})
	other := withArch(t, built(t, layers{{file("a", "other")}}), "s390x")
	base := t.TempDir()
	p, err := layout.Write(filepath.Join(base, "layout"), empty.Index)
	must(t, err)
	must(t, p.AppendImage(img, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH})))
	must(t, p.AppendImage(other, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: "s390x"})))
	tag, err := name.NewTag("example.com/x:1")
	must(t, err)
	must(t, tarball.WriteToFile(filepath.Join(base, "image.tar"), tag, img))
	store := open(t, nil, image.Config{})
	for _, ref := range []string{"oci:" + base + "/layout", "docker-archive:" + base + "/image.tar"} {
		got, err := store.Load(t.Context(), ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		if l := listing(t, got.Root); l["b"] != "file 2" || l["a"] != "" {
			t.Errorf("%s: %v", ref, l)
		}
		got.Release()
		if _, err := store.Pull(t.Context(), ref); err == nil {
			t.Errorf("Pull(%q) reads the host's files", ref)
		}
	}
	for _, ref := range []string{"oci:relative", "docker-archive:image.tar", "example.com/x:1", "oci:" + base + "/none", "oci:" + base + "/layout@sha256:" + strings.Repeat("0", 64)} {
		if _, err := store.Load(t.Context(), ref); err == nil {
			t.Errorf("Load(%q): no error", ref)
		}
	}
}

func TestAChangedLayoutIsNoticed(t *testing.T) {
	base := t.TempDir()
	img := built(t, layers{{file("a", "good")}})
	p, err := layout.Write(base, empty.Index)
	must(t, err)
	must(t, p.AppendImage(img))
	m, err := img.Manifest()
	must(t, err)
	digest, err := img.Digest()
	must(t, err)
	for name, h := range map[string]v1.Hash{"layer": m.Layers[0].Digest, "configuration": m.Config.Digest, "manifest": digest} {
		path := filepath.Join(base, "blobs", h.Algorithm, h.Hex)
		good, err := os.ReadFile(path)
		must(t, err)
		bad := append([]byte(nil), good...)
		bad[len(bad)/2] ^= 1
		if name != "layer" {
			bad = append(good, ' ')
		}
		must(t, os.WriteFile(path, bad, 0o644))
		if _, err := open(t, nil, image.Config{}).Load(t.Context(), "oci:"+base); err == nil {
			t.Errorf("a changed %s: no error", name)
		}
		must(t, os.WriteFile(path, good, 0o644))
	}
	got, err := open(t, nil, image.Config{}).Load(t.Context(), "oci:"+base)
	must(t, err)
	got.Release()
}

func TestWhatDiedHalfWayIsRemoved(t *testing.T) {
	s := newServer(t)
	img := built(t, layers{{file("a", "1")}})
	ref := s.push(t, "half:1", img)
	h, err := img.Digest()
	must(t, err)
	c := image.Config{Dir: filepath.Join(t.TempDir(), "cache")}
	store := open(t, s, c)
	half := filepath.Join(c.Dir, "tmp", h.Algorithm+"-"+h.Hex+".123")
	must(t, os.MkdirAll(filepath.Join(half, "root/a"), 0o755))
	got, err := store.Pull(t.Context(), ref)
	must(t, err)
	if _, err := os.Stat(half); err == nil {
		t.Error("what was half done is still there")
	}
	if listing(t, got.Root)["a"] != "file 1" {
		t.Error("not the image")
	}
	// Sweep removes such remains too, but not while somebody is at work.
	must(t, os.MkdirAll(half, 0o755))
	if _, err := store.Sweep(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(half); err != nil {
		t.Error("removed while the image is in use")
	}
	got.Release()
	if _, err := store.Sweep(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("what was half done is still there")
	}
}

func TestSweepSparesWhatIsUsed(t *testing.T) {
	s := newServer(t)
	c := image.Config{Dir: filepath.Join(t.TempDir(), "cache")}
	store := open(t, s, c)
	var imgs []*image.Image
	for i := range 3 {
		img, err := store.Pull(t.Context(), s.push(t, fmt.Sprintf("sweep:%d", i), built(t, layers{{file("a", strconv.Itoa(i))}})))
		must(t, err)
		imgs = append(imgs, img)
	}
	imgs[0].Release()
	imgs[0].Release()
	imgs[1].Release()
	old := time.Now().Add(-48 * time.Hour)
	for _, i := range []int{0, 2} {
		must(t, os.Chtimes(filepath.Join(filepath.Dir(imgs[i].Root), "used"), old, old))
	}
	// 0 is old, 1 was used today, 2 is old but in use.
	if n, err := open(t, s, c).Sweep(t.Context(), 24*time.Hour); err != nil || n != 1 {
		t.Errorf("Sweep: %d, %v", n, err)
	}
	for i, want := range []bool{false, true, true} {
		if _, err := os.Stat(imgs[i].Root); (err == nil) != want {
			t.Errorf("image %d: %v", i, err)
		}
	}
	imgs[2].Release()
	if n, err := store.Sweep(t.Context(), 24*time.Hour); err != nil || n != 0 {
		t.Errorf("after Release, which is a use: %d, %v", n, err)
	}
	if n, err := store.Sweep(t.Context(), 0); err != nil || n != 2 {
		t.Errorf("Sweep of all: %d, %v", n, err)
	}
	assertNothing(t, c.Dir)
	img, err := store.Pull(t.Context(), s.host+"/sweep:0")
	must(t, err)
	img.Release()
}

func TestPullAndSweepAtTheSameTime(t *testing.T) {
	s := newServer(t)
	store := open(t, s, image.Config{})
	ref := s.push(t, "race:1", built(t, layers{{file("a", "1")}}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				img, err := store.Pull(t.Context(), ref)
				if err != nil {
					t.Errorf("Pull: %v", err)
					return
				}
				if content, err := os.ReadFile(filepath.Join(img.Root, "a")); err != nil || string(content) != "1" {
					t.Errorf("%q, %v", content, err)
				}
				img.Release()
				if _, err := store.Sweep(t.Context(), 0); err != nil {
					t.Errorf("Sweep: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestPullEndsWithItsContext(t *testing.T) {
	s := newServer(t)
	ref := s.push(t, "slow:1", built(t, layers{{file("a", "1")}}))
	release := make(chan struct{})
	s.set(func(path string, body []byte) []byte {
		if strings.Contains(path, "/blobs/") {
			<-release
		}
		return body
	}, false)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := open(t, s, image.Config{}).Pull(ctx, ref); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	close(release)
}

func TestOpenRefusesRelativeDirectories(t *testing.T) {
	for _, dir := range []string{"", "cache", "/a/../b"} {
		if _, err := image.Open(image.Config{Dir: dir}); err == nil {
			t.Errorf("Open(%q): no error", dir)
		}
	}
}
