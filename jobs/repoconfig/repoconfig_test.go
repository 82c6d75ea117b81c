package repoconfig_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs/repoconfig"
)

func TestParse(t *testing.T) {
	got, err := repoconfig.Parse([]byte("verify:\n  - make test\ndraft: true\n"))
	if diff := cmp.Diff(repoconfig.Config{Verify: []string{"make test"}, Draft: true}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := repoconfig.Parse(nil); err != nil || len(got.Verify) != 0 {
		t.Errorf("empty file: %+v, %v", got, err)
	}
	if got, err := repoconfig.Parse([]byte("tier: test")); err != nil || got.Tier != "test" {
		t.Errorf("tier: %+v, %v", got, err)
	}
	for text, part := range map[string]string{
		"verify: [a]\nverfiy: b": "line 2",
		"verify: {a: b}":         "line 1",
		"a: [":                   "known keys: verify",
		"branch: ../x":           "branch",
		"tier: root":             "want read, patch, test or run",
	} {
		if _, err := repoconfig.Parse([]byte(text)); !errors.Is(err, repoconfig.ErrInvalid) || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
