package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// maxGitText is the largest of git's small text files that is read.
	maxGitText = 4 << 10
	// hashLen is how much of the path's hash goes into a repository's name:
	// enough that two checkouts of one name do not share a mirror.
	hashLen = 8
	// maxName leaves room for the hash within what vcs.RepoRef accepts.
	maxName = 80
	// owner is the made-up owner of every local repository.
	owner = "local"
)

// checkout is what Open finds out.
type checkout struct {
	root   string // top of the work tree, or the bare repository
	gitDir string
}

// find looks for a repository at path and in the directories above it.
func find(path string) (checkout, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return checkout{}, fmt.Errorf("resolving %s: %w", path, err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return checkout{}, fmt.Errorf("%w: %s: %w", vcs.ErrNotFound, path, err)
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		gitDir, err := gitDirOf(dir)
		if err != nil {
			return checkout{}, err
		}
		if gitDir != "" {
			return checkout{root: dir, gitDir: gitDir}, nil
		}
		if dir == filepath.Dir(dir) {
			return checkout{}, fmt.Errorf("%w: %s is not in a git repository", vcs.ErrNotFound, path)
		}
	}
}

// gitDirOf returns the repository's own directory if dir is its top: a .git
// directory, the directory that a .git file of a linked work tree or
// submodule names, or dir itself when bare. "" when it is none.
func gitDirOf(dir string) (string, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if isGitDir(dir) {
			return dir, nil
		}
		return "", nil
	case err != nil:
		return "", fmt.Errorf("looking at %s: %w", dot, err)
	case info.IsDir():
		if !isGitDir(dot) {
			return "", nil
		}
		return dot, nil
	}
	text, err := readText(dot)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%w: %s does not name a git directory", vcs.ErrInvalid, dot)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	if _, err := os.Stat(filepath.Join(target, "HEAD")); err != nil {
		return "", fmt.Errorf("%w: %s names %s, which is no git directory", vcs.ErrInvalid, dot, target)
	}
	return target, nil
}

// isGitDir is git's own test: HEAD, objects and refs.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// readText reads one of git's one-line files.
func readText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxGitText))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// branch is the branch HEAD names; "" when HEAD is detached.
func (c checkout) branch() (string, error) {
	text, err := readText(filepath.Join(c.gitDir, "HEAD"))
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(text, "ref: refs/heads/")
	if !ok {
		return "", nil
	}
	return name, vcs.ValidateBranch(name)
}

// ref names the repository: its directory's name as far as a RepoRef can hold
// it, and a hash of the path.
func (c checkout) ref() vcs.RepoRef {
	sum := sha256.Sum256([]byte(c.root))
	name := strings.TrimSuffix(filepath.Base(c.root), ".git")
	name = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, name), "-.")
	if name == "" {
		name = "repo"
	}
	name = name[:min(len(name), maxName)]
	return vcs.RepoRef{Forge: vcs.Local, Owner: owner, Name: name + "-" + hex.EncodeToString(sum[:])[:hashLen]}
}
