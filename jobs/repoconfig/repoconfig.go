// Package repoconfig reads .greenwright.yml, the repository's own settings,
// from its default (or base) branch. They can narrow what the operator allows
// and never widen it.
//
// It is pure: text in, a Config or an error that names line and remedy.
package repoconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/greenwright/greenwright/jobs/policy"
)

// Path is where the file is, and MaxBytes how much of it is read.
const (
	Path     = ".greenwright.yml"
	MaxBytes = 64 << 10
)

// ErrInvalid is wrapped by the error of a file that cannot be used.
var ErrInvalid = errors.New(Path + " cannot be used")

// Config is the repository's settings. The zero value asks for nothing.
type Config struct {
	// Verify are the commands that prove a change, instead of those found in
	// the CI's files.
	Verify []string `yaml:"verify"`
	// Setup are commands that run before the verifying ones, with the network
	// open to what Egress names; everything after them runs without. Nil takes
	// what the lock files suggest.
	Setup []string `yaml:"setup"`
	// Egress are the presets and hosts that Setup needs, of those that the
	// operator allows; nil is all of them.
	Egress []string `yaml:"egress"`
	// Image is the container image that commands see, of those that the
	// operator allows.
	Image string `yaml:"image"`
	// Draft opens every pull request as a draft.
	Draft bool `yaml:"draft"`
	// Branch is the prefix of branch names instead of the operator's.
	Branch string `yaml:"branch"`
	// Instructions are files with rules for whoever writes code here, besides
	// AGENTS.md, CLAUDE.md and .github/copilot-instructions.md.
	Instructions []string `yaml:"instructions"`
	// Tier is the most that a run may do: read, patch, test or run. It narrows
	// what the operator allows.
	Tier string `yaml:"tier"`
}

// Parse reads the file; unknown keys are errors.
func Parse(content []byte) (Config, error) {
	var c Config
	dec := yaml.NewDecoder(bytes.NewReader(content))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, fmt.Errorf("%w: %s (known keys: verify, setup, egress, image, draft, branch, instructions, tier)", ErrInvalid, strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	if strings.Contains(c.Branch, "..") || strings.HasPrefix(c.Branch, "-") || strings.HasPrefix(c.Branch, "/") {
		return Config{}, fmt.Errorf("%w: branch: %q is no prefix for branch names", ErrInvalid, c.Branch)
	}
	if _, err := policy.ParseTier(c.Tier); c.Tier != "" && err != nil {
		return Config{}, fmt.Errorf("%w: tier: %w", ErrInvalid, err)
	}
	return c, nil
}
