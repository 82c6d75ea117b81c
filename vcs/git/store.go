package git

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// Defaults of Config.
const (
	defaultMaxBytes     = 20 << 30 // disk budget of all mirrors
	defaultMaxPackBytes = 4 << 30  // larger than any shallow clone we want to serve
	defaultDepth        = 1
	defaultFetchTimeout = 15 * time.Minute
)

// NoBinary as Config.GitBinary keeps the store from using a git binary.
const NoBinary = "-"

// ErrEmpty says that the remote repository has no commit yet.
var ErrEmpty = errors.New("repository is empty")

// ErrCorrupt says that objects of a mirror are missing or damaged. The next
// Fetch rebuilds the mirror.
var ErrCorrupt = errors.New("mirror is damaged")

// ErrTooLarge says that a repository, workspace or file is over a cap.
var ErrTooLarge = errors.New("too large")

// Config is what an operator sets for the mirrors.
type Config struct {
	// Dir holds the mirrors; nothing else may write there.
	Dir string
	// MaxBytes is the disk budget of all mirrors together; 0 is 20 GiB.
	MaxBytes int64
	// MaxPackBytes caps what one fetch may bring; 0 is 4 GiB.
	MaxPackBytes int64
	// Depth is the number of commits a fetch brings per ref; 0 is 1.
	Depth int
	// FetchTimeout bounds one fetch or push; 0 is 15 minutes.
	FetchTimeout time.Duration
	// GitBinary fetches into mirrors, which is faster and leaner than go-git.
	// Empty looks for git in PATH; NoBinary always uses go-git.
	GitBinary string
	// AllowFile permits file remotes for forges other than vcs.Local.
	AllowFile bool
	// HTTP replaces the base transport of http remotes; nil is a private one.
	// The git binary does not use it.
	HTTP http.RoundTripper
}

func (c Config) withDefaults() Config {
	if c.MaxBytes <= 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if c.MaxPackBytes <= 0 {
		c.MaxPackBytes = defaultMaxPackBytes
	}
	if c.Depth <= 0 {
		c.Depth = defaultDepth
	}
	if c.FetchTimeout <= 0 {
		c.FetchTimeout = defaultFetchTimeout
	}
	return c
}

// Store is a directory of mirrors. It is safe for concurrent use, also by
// several processes that share Config.Dir.
type Store struct {
	cfg    Config
	log    *slog.Logger
	binary string // absolute path of git, or ""
	ways   ways
}

// New opens the store, creating its directory.
func New(cfg Config, log *slog.Logger) (*Store, error) {
	cfg = cfg.withDefaults()
	if cfg.Dir == "" {
		return nil, fmt.Errorf("%w: no directory for mirrors", vcs.ErrInvalid)
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolving mirror directory: %w", err)
	}
	cfg.Dir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating mirror directory: %w", err)
	}
	s := &Store{cfg: cfg, log: log, ways: ways{known: map[string]way{}}}
	s.binary, err = findBinary(cfg.GitBinary)
	return s, err
}

func findBinary(name string) (string, error) {
	optional := name == ""
	switch name {
	case NoBinary:
		return "", nil
	case "":
		name = "git"
	}
	path, err := exec.LookPath(name)
	if err != nil && optional {
		return "", nil // go-git does the work
	}
	if err != nil {
		return "", fmt.Errorf("looking for the git binary: %w", err)
	}
	return filepath.Abs(path)
}

// Mirror returns the handle of a repository's mirror, without touching disk
// or network. Its error wraps vcs.ErrInvalid.
func (s *Store) Mirror(repo vcs.RepoRef) (*Mirror, error) {
	if err := repo.Validate(); err != nil {
		return nil, err
	}
	dir := filepath.Join(s.cfg.Dir, string(repo.Forge), filepath.FromSlash(repo.Owner), repo.Name+mirrorSuffix)
	return &Mirror{store: s, repo: repo, dir: dir}, nil
}

// withTimeout bounds one conversation with a remote.
func (s *Store) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.cfg.FetchTimeout)
}
