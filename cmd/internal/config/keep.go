package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/greenwright/greenwright/jobs/journal"
)

// Retention says how long what runs leave is kept. Zero is for ever, or
// without limit; what is live or was never ended is always kept.
type Retention struct {
	// Journals go with everything else of a run.
	Journals Age `yaml:"journals"`
	// Snapshots are what another worker can go on with a run from.
	Snapshots Age `yaml:"snapshots"`
	// Mirrors are copies of repositories that no job has used for so long.
	Mirrors Age `yaml:"mirrors"`
	// MaxBytes is of all artifacts together.
	MaxBytes int64 `yaml:"max_bytes"`
}

// day is Age's unit besides Go's.
const day = 24 * time.Hour

// defaultRetention: a quarter for the audit record, a week to go on with what
// has stopped.
func defaultRetention() Retention {
	return Retention{Journals: Age(90 * day), Snapshots: Age(7 * day), Mirrors: Age(30 * day), MaxBytes: 20 << 30}
}

// Rules are those for the archive.
func (r Retention) Rules() journal.Rules {
	return journal.Rules{Journals: time.Duration(r.Journals), Snapshots: time.Duration(r.Snapshots), MaxBytes: r.MaxBytes}
}

// Age is a duration that can be written in days, too: 90d, 12h, 1h30m.
type Age time.Duration

// maxDays is what a time.Duration can hold, in days.
const maxDays = int64(1<<63-1) / int64(day)

// UnmarshalText reads an age.
func (a *Age) UnmarshalText(text []byte) error {
	s := string(text)
	if n, ok := strings.CutSuffix(s, "d"); ok {
		days, err := strconv.ParseInt(n, 10, 64)
		if err == nil && days >= -maxDays && days <= maxDays {
			*a = Age(time.Duration(days) * day)
			return nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q: want a duration such as 90d or 12h", s)
	}
	*a = Age(d)
	return nil
}

// ArtifactsPlace is where artifacts are kept.
func (c Config) ArtifactsPlace() string {
	if c.Artifacts == "" {
		return filepath.Join(c.DataDir, "artifacts")
	}
	return c.Artifacts
}

func (c Config) validateKeeping(f *faults) {
	if c.Artifacts != "" {
		if strings.HasPrefix(c.Artifacts, "mem:") { // ends with the process
			f.add("artifacts: %q keeps nothing: want an absolute directory or s3://bucket?region=…", c.Artifacts)
		} else if err := journal.ValidateURL(c.Artifacts); err != nil {
			f.add("artifacts: %w", err)
		}
	}
	for name, v := range map[string]int64{
		"journals": int64(c.Retention.Journals), "snapshots": int64(c.Retention.Snapshots), "mirrors": int64(c.Retention.Mirrors), "max_bytes": c.Retention.MaxBytes,
	} {
		if v < 0 {
			f.add("retention.%s: must not be negative (0 keeps for ever)", name)
		}
	}
}
