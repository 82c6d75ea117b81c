package vcstest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// bare is a bare repository of a simulated forge.
type bare struct {
	git gitCommand
	dir string
	// tips are the branches as last seen, to tell what a push moved; the
	// forge's lock guards them.
	tips map[string]string
}

// Dir is the bare repository on disk, for assertions with git.
func (b *bare) Dir() string { return b.dir }

// Branches are the tips by name.
func (b *bare) Branches() (map[string]string, error) { return b.git.branches(b.dir) }

// File reads a file at a branch or commit.
func (b *bare) File(rev, path string) (string, error) {
	return b.git.run(b.dir, nil, "show", rev+":"+path)
}

// Log is the subjects of the commits of rev, the latest first.
func (b *bare) Log(rev string) ([]string, error) {
	out, err := b.git.run(b.dir, nil, "log", "--format=%s", rev)
	return strings.Split(out, "\n"), err
}

// create makes the repository with one commit on its default branch.
func (b *bare) create(branch string, files map[string]string, author string, at time.Time) error {
	if err := b.git.initBare(b.dir, branch); err != nil {
		return err
	}
	if _, err := b.git.commit(b.dir, branch, "", pointers(files), "Initial commit", author, at); err != nil {
		return err
	}
	_, _, err := b.look()
	return err
}

// copy makes the repository with the branches of another.
func (b *bare) copy(from bare, branch string) error {
	if err := b.git.initBare(b.dir, branch); err != nil {
		return err
	}
	if _, err := b.git.run(b.dir, nil, "fetch", "--quiet", from.dir, "+refs/heads/*:refs/heads/*"); err != nil {
		return err
	}
	_, _, err := b.look()
	return err
}

// write commits on a branch; a new one starts at the fallback's tip.
func (b *bare) write(branch, fallback string, files map[string]*string, message, author string, at time.Time) (sha string, err error) {
	if err := vcs.ValidateBranch(branch); err != nil {
		return "", err
	}
	from := b.tips[branch]
	if from == "" {
		from = b.tips[fallback]
	}
	return b.git.commit(b.dir, branch, from, files, message, author, at)
}

// look reads the branches, and returns those before and the names of the moved
// and new ones.
func (b *bare) look() (before map[string]string, moved []string, err error) {
	tips, err := b.git.branches(b.dir)
	if err != nil {
		return nil, nil, err
	}
	before, b.tips = b.tips, tips
	for _, name := range slices.Sorted(maps.Keys(tips)) {
		if before[name] != tips[name] {
			moved = append(moved, name)
		}
	}
	return before, moved, nil
}

// oldTip is where a branch was before; zeros where it was not.
func oldTip(before map[string]string, name, tip string) string {
	if old := before[name]; old != "" {
		return old
	}
	return strings.Repeat("0", len(tip))
}

// keep makes a ref to a commit that may be another repository's.
func (b *bare) keep(ref, sha string, from bare) error {
	if from.dir != b.dir {
		if _, err := b.git.run(b.dir, nil, "fetch", "--quiet", from.dir, sha); err != nil {
			return err
		}
	}
	_, err := b.git.run(b.dir, nil, "update-ref", ref, sha)
	return err
}

// pointers are files to write; a nil one would be deleted.
func pointers(files map[string]string) map[string]*string {
	out := make(map[string]*string, len(files))
	for p, c := range files {
		out[p] = &c
	}
	return out
}

// removals are paths to delete.
func removals(paths []string) map[string]*string {
	out := map[string]*string{}
	for _, p := range paths {
		out[p] = nil
	}
	return out
}
