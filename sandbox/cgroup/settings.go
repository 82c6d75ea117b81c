package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// setting is a value for a file of a group; an optional one may lack its file.
type setting struct {
	file     string
	value    string
	optional bool
}

func (c *Controller) apply(dir string, settings []setting) error {
	for _, s := range settings {
		err := c.files.WriteFile(filepath.Join(dir, s.file), s.value)
		if err != nil && (!s.optional || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("setting %s to %s: %w", s.file, s.value, err)
		}
	}
	return nil
}

// The scheduler's period in microseconds is the kernel's default; it takes no
// quota below a millisecond.
const (
	period   = 100_000
	minQuota = 1_000
)

func quota(cpus float64) int64 {
	return max(int64(cpus*period), minQuota)
}
