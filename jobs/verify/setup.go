package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/vcs"
)

// setups are what brings the dependencies that a lock file names, and the
// egress preset that it needs.
var setups = []struct{ file, unless, preset, script string }{
	{"go.sum", "vendor/modules.txt", "go", "go mod download"},
	{"package-lock.json", "", "npm", "npm ci --no-audit --no-fund"},
	{"Cargo.lock", "", "crates", "cargo fetch --locked"},
}

// Setup are the commands that bring a repository's dependencies, found by its
// lock files, where allowed says that the network is open to the preset.
func Setup(ctx context.Context, tree Tree, allowed func(preset string) bool) ([]Command, error) {
	var out []Command
	for _, s := range setups {
		if !allowed(s.preset) {
			continue
		}
		has, err := exists(ctx, tree, s.file)
		if err == nil && has && s.unless != "" {
			var vendored bool
			vendored, err = exists(ctx, tree, s.unless)
			has = !vendored
		}
		if err != nil {
			return nil, fmt.Errorf("looking for set-up commands: %w", err)
		}
		if has {
			out = append(out, Command{Name: s.script, Script: s.script, Source: s.file})
		}
	}
	return out, nil
}

// exists asks for the first byte: a file of any size is there.
func exists(ctx context.Context, tree Tree, name string) (bool, error) {
	_, err := tree.ReadFile(ctx, name, maxLock)
	if errors.Is(err, vcs.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// maxLock is more than any lock file has.
const maxLock = 64 << 20
