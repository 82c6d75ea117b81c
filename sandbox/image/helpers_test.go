package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"go.uber.org/goleak"

	"github.com/greenwright/greenwright/sandbox/image"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Entries of layers.
type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}, content}
}

func dir(name string) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}}
}

func symlink(name, target string) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}}
}

func hardlink(name, target string) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target}}
}

func special(name string, kind byte) entry {
	return entry{Header: tar.Header{Typeflag: kind, Name: name, Mode: 0o666, Devmajor: 1, Devminor: 3}}
}

func mode(e entry, m int64) entry {
	e.Mode = m
	return e
}

type layers [][]entry

// archive writes one layer.
func archive(t testing.TB, entries []entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		must(t, w.WriteHeader(&e.Header))
		_, err := io.WriteString(w, e.content)
		must(t, err)
	}
	must(t, w.Close())
	return buf.Bytes()
}

func layerOf(t testing.TB, archive []byte, options ...tarball.LayerOption) v1.Layer {
	t.Helper()
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }, options...)
	must(t, err)
	return l
}

func imageOf(t testing.TB, c v1.Config, ls ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: c})
	must(t, err)
	img, err = mutate.AppendLayers(img, ls...)
	must(t, err)
	return img
}

func built(t testing.TB, all layers) v1.Image {
	t.Helper()
	var ls []v1.Layer
	for _, entries := range all {
		ls = append(ls, layerOf(t, archive(t, entries)))
	}
	return imageOf(t, v1.Config{}, ls...)
}

// server is a registry in this process that counts its requests.
type server struct {
	host      string
	transport *http.Transport
	mu        sync.Mutex
	gets      map[string]int // by kind: blobs, manifests
	change    func(path string, body []byte) []byte
	down      bool
}

func newServer(t testing.TB) *server {
	t.Helper()
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)))
	s := &server{gets: map[string]int{}, transport: &http.Transport{}}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		change, down := s.change, s.down
		if r.Method == http.MethodGet {
			for _, kind := range []string{"blobs", "manifests"} {
				if strings.Contains(r.URL.Path, "/"+kind+"/") {
					s.gets[kind]++
				}
			}
		}
		s.mu.Unlock()
		if down {
			http.Error(w, "down", http.StatusForbidden)
			return
		}
		if change == nil || r.Method != http.MethodGet {
			inner.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		body := change(r.URL.Path, rec.Body.Bytes())
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	}))
	s.host = strings.TrimPrefix(ts.URL, "http://")
	t.Cleanup(func() { s.transport.CloseIdleConnections(); ts.Close() })
	return s
}

func (s *server) count(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gets[kind]
}

func (s *server) set(change func(path string, body []byte) []byte, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change, s.down = change, down
}

func (s *server) push(t testing.TB, repo string, img v1.Image) string {
	t.Helper()
	ref, err := name.ParseReference(s.host + "/" + repo)
	must(t, err)
	must(t, remote.Write(ref, img, remote.WithTransport(s.transport)))
	return ref.String()
}

func open(t testing.TB, s *server, c image.Config) *image.Store {
	t.Helper()
	if c.Dir == "" {
		c.Dir = filepath.Join(t.TempDir(), "cache")
	}
	if s != nil {
		c.Transport = s.transport
	}
	store, err := image.Open(c)
	must(t, err)
	return store
}

// pull unpacks layers by way of a registry.
func pull(t testing.TB, c image.Config, all layers) (*image.Image, error) {
	t.Helper()
	s := newServer(t)
	ref := s.push(t, "test/image:tag", built(t, all))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	img, err := open(t, s, c).Pull(ctx, ref)
	if err == nil {
		t.Cleanup(img.Release)
	}
	return img, err
}

// listing is a root as text: kind, path, and content or target.
func listing(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel := strings.TrimPrefix(path, root+"/")
		switch {
		case d.IsDir():
			found[rel] = "dir"
		case d.Type() == os.ModeSymlink:
			target, err := os.Readlink(path)
			must(t, err)
			found[rel] = "-> " + target
		case d.Type().IsRegular():
			content, err := os.ReadFile(path)
			must(t, err)
			found[rel] = "file " + string(content)
		default:
			found[rel] = "special"
		}
		return nil
	}))
	return found
}

// mountPoints are in every root.
var mountPoints = map[string]string{
	"workspace": "dir", "home": "dir", "home/agent": "dir", "tmp": "dir", "proc": "dir", "dev": "dir",
	"run": "dir", "run/greenwright": "dir", "etc": "dir", "etc/passwd": "file ", "etc/group": "file ",
	"etc/hosts": "file ", "etc/nsswitch.conf": "file ", "etc/resolv.conf": "file ",
}
