package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/journal"
)

func loadKeeping(t *testing.T, text string) (config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "greenwright.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(file)
}

func TestArtifacts(t *testing.T) {
	t.Setenv("GREENWRIGHT_DATA_DIR", "/data")
	for text, want := range map[string]string{
		"":                         "/data/artifacts",
		"artifacts: /srv/a":        "/srv/a",
		"artifacts: file:///srv/a": "file:///srv/a",
		"artifacts: s3://bucket?region=eu-central-1&prefix=x/": "s3://bucket?region=eu-central-1&prefix=x/",
	} {
		c, err := loadKeeping(t, text)
		if err != nil || c.ArtifactsPlace() != want {
			t.Errorf("%q: %q, %v", text, c.ArtifactsPlace(), err)
		}
	}
	for _, place := range []string{"relative", "gs://b", "mem://", "s3://key:secret@b", "s3://"} {
		if _, err := loadKeeping(t, "artifacts: "+place); err == nil || !strings.Contains(err.Error(), "artifacts: ") || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v", place, err)
		}
	}
	t.Setenv("GREENWRIGHT_ARTIFACTS", "s3://from-the-environment")
	if c, err := loadKeeping(t, "artifacts: /srv/a"); err != nil || c.Artifacts != "s3://from-the-environment" {
		t.Errorf("the environment: %q, %v", c.Artifacts, err)
	}
}

func TestRetention(t *testing.T) {
	t.Setenv("GREENWRIGHT_DATA_DIR", "/data")
	const day = 24 * time.Hour
	for text, want := range map[string]journal.Rules{
		"":                           {Journals: 90 * day, Snapshots: 7 * day, MaxBytes: 20 << 30},
		"retention: {journals: 10d}": {Journals: 10 * day, Snapshots: 7 * day, MaxBytes: 20 << 30},
		"retention: {journals: 0, snapshots: 1h30m, max_bytes: 0}":     {Snapshots: 90 * time.Minute},
		"retention: {journals: 0d, snapshots: 36h, max_bytes: 1000}":   {Snapshots: 36 * time.Hour, MaxBytes: 1000},
		"retention:\n  mirrors: 1d\n  journals: 8760h\n  max_bytes: 1": {Journals: 365 * day, Snapshots: 7 * day, MaxBytes: 1},
	} {
		c, err := loadKeeping(t, text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, c.Retention.Rules()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"retention: {journals: -1d}":            "retention.journals: must not be negative",
		"retention: {max_bytes: -1}":            "retention.max_bytes: must not be negative",
		"retention: {journals: soon}":           "want a duration such as 90d or 12h",
		"retention: {journals: 9999999999999d}": "want a duration such as 90d or 12h",
		"retention: {journal: 1d}":              `did you mean "journals"`,
	} {
		if _, err := loadKeeping(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
