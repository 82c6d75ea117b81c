package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Image is an unpacked image. It stays in the cache until Release.
type Image struct {
	// Digest names the content: of the manifest for this platform, or for a
	// docker-archive of the image's configuration.
	Digest string `json:"digest"`
	// Root is the host directory with the files.
	Root string `json:"-"`
	// Env is what the image's configuration adds to the environment, without
	// PATH and without what belongs to the sandbox (home, account, proxy).
	Env []string `json:"env,omitempty"`
	// Path is its PATH: absolute directories inside.
	Path []string `json:"path,omitempty"`
	// User and WorkDir are as configured; a sandbox need not follow them.
	User    string `json:"user,omitempty"`
	WorkDir string `json:"work_dir,omitempty"`
	// Skipped counts devices, FIFOs and sockets that were left out.
	Skipped int `json:"skipped,omitempty"`

	release func()
}

// Release lets the image go from the cache when it has not been used for a
// while. It is idempotent.
func (i *Image) Release() {
	if i.release != nil {
		i.release()
	}
}

// load reads an image that is in the cache. The lock is held until its Release.
func (s *Store) load(key string, l *lock) (*Image, error) {
	dir := s.path("roots", key)
	content, err := os.ReadFile(s.path("roots", key, "image.json")) //nolint:gosec // a key is the name of a digest that was parsed
	if err != nil {
		return nil, fmt.Errorf("reading a cached image: %w", err)
	}
	img := &Image{}
	if err := json.Unmarshal(content, img); err != nil {
		return nil, fmt.Errorf("reading a cached image: %w", err)
	}
	img.Root = path.Join(dir, "root")
	touch(dir)
	img.release = sync.OnceFunc(func() {
		touch(dir)
		l.close()
	})
	return img, nil
}

// touch notes the time of use for Sweep.
func touch(dir string) {
	used, now := path.Join(dir, "used"), time.Now()
	if err := os.Chtimes(used, now, now); errors.Is(err, os.ErrNotExist) {
		_ = os.WriteFile(used, nil, 0o600) //nolint:gosec // as above; without it the directory's own time counts
	}
}

// Limits of what is taken from an image's configuration.
const (
	maxEnv      = 256
	maxEnvBytes = 32 << 10
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ownEnv are the variables that the sandbox sets itself, in lower case.
var ownEnv = map[string]bool{
	"home": true, "user": true, "logname": true, "shell": true, "pwd": true, "oldpwd": true, "hostname": true,
	"term": true, "tmpdir": true, "http_proxy": true, "https_proxy": true, "ftp_proxy": true, "all_proxy": true,
	"no_proxy": true,
}

// describe takes from an image's configuration what a sandbox may use.
func describe(digest string, c v1.Config) *Image {
	img := &Image{Digest: digest, User: printable(c.User), WorkDir: printable(c.WorkingDir)}
	for _, kv := range c.Env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || !envName.MatchString(name) || len(kv) > maxEnvBytes || strings.ContainsRune(value, 0) {
			continue
		}
		if name == "PATH" {
			img.Path = searchPath(value)
			continue
		}
		if len(img.Env) < maxEnv && !ownEnv[strings.ToLower(name)] {
			img.Env = append(img.Env, kv)
		}
	}
	return img
}

func searchPath(value string) []string {
	var dirs []string
	for dir := range strings.SplitSeq(value, ":") {
		if path.IsAbs(dir) {
			dirs = append(dirs, path.Clean(dir))
		}
	}
	return dirs
}

// printable keeps control codes out of what people will be shown.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s[:min(len(s), 256)])
}
