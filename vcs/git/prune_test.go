package git_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// TestPruneUnused removes what was not used for long, and a dry run only says
// so; what is in use stays.
func TestPruneUnused(t *testing.T) {
	ctx := testContext(t)
	r := newRemote(t)
	write(t, r.work, "f", "x\n")
	base := r.commit(t, "main")
	s := newStore(t, git.Config{})
	for _, name := range []string{"old", "new", "held"} {
		m := value(s.Mirror(vcs.RepoRef{Forge: vcs.GitHub, Owner: "o", Name: name}))(t)
		value(m.Fetch(ctx, r.remote(), "refs/heads/main"))(t)
		if name == "held" {
			ws := value(m.Checkout(ctx, base, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{}))(t)
			defer ws.Close()
		}
	}
	now := time.Now()
	for _, dry := range []bool{true, false} {
		gone := value(s.PruneUnused(ctx, now.Add(-time.Hour), dry))(t)
		if len(gone) > 0 {
			t.Errorf("removed %v, which was used a moment ago", gone)
		}
	}
	for _, dry := range []bool{true, false} {
		gone := value(s.PruneUnused(ctx, now.Add(time.Hour), dry))(t)
		var names []string
		for _, m := range gone {
			if names = append(names, m.Name); m.Bytes == 0 || m.Used.IsZero() {
				t.Errorf("%+v", m)
			}
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"github/o/new", "github/o/old"}, names); diff != "" {
			t.Errorf("dry %t (-want +got):\n%s", dry, diff)
		}
	}
	if gone := value(s.PruneUnused(ctx, now.Add(time.Hour), false))(t); len(gone) > 0 {
		t.Errorf("again: %v", gone)
	}
}
