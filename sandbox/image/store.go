package image

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
)

// Sentinels that errors wrap.
var (
	// ErrHostile is wrapped where an image asks for what none may have, such
	// as a file outside its root.
	ErrHostile = errors.New("image refused")
	// ErrTooLarge is wrapped where an image exceeds a limit of the Config.
	ErrTooLarge = errors.New("image too large")
	// ErrCorrupt is wrapped where content does not match its digest, unless
	// the registry client has noticed that first.
	ErrCorrupt = errors.New("image does not match its digest")
)

// Config is what a Store works with.
type Config struct {
	// Dir is the cache's directory, an absolute path; it is made if missing.
	// Every account must be able to reach it, since runs read images as
	// accounts of their own.
	Dir string
	// MaxBytes limits what all layers of one image unpack to; zero is 16 GiB.
	MaxBytes int64
	// MaxFiles limits the entries of all its layers; zero is a million.
	MaxFiles int64
	// DockerLogins uses the logins of the worker's Docker configuration; else
	// registries are asked without any.
	DockerLogins bool
	// PlainHTTP names registries (host or host:port) that are reached without
	// TLS. Those on loopback addresses always are.
	PlainHTTP []string
	// Transport carries the requests to registries; nil is the default one.
	Transport http.RoundTripper
	// Log takes notes on what was unpacked and removed; nil is silent.
	Log *slog.Logger
}

// The defaults hold the largest public tool images (10 GB, 600,000 files).
const (
	defaultMaxBytes = 16 << 30
	defaultMaxFiles = 1_000_000
)

// Store is a cache of unpacked images. It is safe for concurrent use, also by
// several processes on one machine.
type Store struct {
	dir string
	cfg Config
	log *slog.Logger
}

// Open opens a cache and makes its directories.
func Open(c Config) (*Store, error) {
	if !filepath.IsAbs(c.Dir) || filepath.Clean(c.Dir) != c.Dir {
		return nil, fmt.Errorf("image cache %q: want a clean absolute path", c.Dir)
	}
	c.MaxBytes = cmp.Or(max(c.MaxBytes, 0), defaultMaxBytes)
	c.MaxFiles = cmp.Or(max(c.MaxFiles, 0), defaultMaxFiles)
	s := &Store{dir: c.Dir, cfg: c, log: c.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for dir, mode := range map[string]os.FileMode{"": 0o755, "roots": 0o755, "tmp": 0o700, "locks": 0o700, "aliases": 0o700} {
		path := filepath.Join(c.Dir, dir)
		if err := os.MkdirAll(path, mode); err != nil {
			return nil, fmt.Errorf("making the image cache: %w", err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			return nil, fmt.Errorf("making the image cache: %w", err)
		}
	}
	return s, nil
}

func (s *Store) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}
