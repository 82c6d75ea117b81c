package bench_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// The person waits for the eyes at most so long (rule P1 of the design).
const targetReaction = 2000.0 // milliseconds

const (
	reactions     = 40
	reactionPause = 500 * time.Millisecond
	reactionLimit = 20 * time.Second
)

// BenchmarkReaction measures from the moment a person's comment is written to
// the moment the eyes have arrived on it, with the whole of `serve` in one
// process: spaced while earlier jobs run, and all at once.
func BenchmarkReaction(b *testing.B) {
	gh, dir := newGitHub(b), dataDir(b)
	repo := seed(b, gh)
	p, err := serve(build(b), dir, "all", "", gh)
	if err != nil {
		b.Fatal(err)
	}
	gh.AddHook("http://" + p.addr + "/webhooks/github")
	for _, c := range []struct {
		name  string
		pause time.Duration
	}{{"spaced", reactionPause}, {"burst", 0}} {
		b.Run(c.name, func(b *testing.B) {
			reportReactions(b, comments(b, gh, repo, c.pause))
		})
	}
	if err := p.stop(); err != nil {
		b.Errorf("serve: %v", err)
	}
}

// seed is a repository whose one check is green, so that jobs end soon.
func seed(b *testing.B, gh *vcstest.GitHub) *vcstest.Repo {
	b.Helper()
	gh.CreateUser("ada")
	repo, err := gh.CreateRepo("acme", "widgets", map[string]string{
		"go.mod": "module example.com/widgets\n\ngo 1.22\n", "mean.go": "package widgets\n",
		".github/workflows/ci.yml": "on: push\njobs:\n  lint:\n    runs-on: ubuntu-latest\n    steps:\n      - run: gofmt -l .\n",
	})
	if err == nil {
		err = repo.SetPermission("ada", vcs.PermissionWrite)
	}
	if err != nil {
		b.Fatal(err)
	}
	return repo
}

// comments writes one command on each of as many issues, and gives for each
// how long its reaction took.
func comments(b *testing.B, gh *vcstest.GitHub, repo *vcstest.Repo, pause time.Duration) []time.Duration {
	written := map[int64]time.Time{}
	for i := range reactions {
		issue, err := repo.OpenIssue("ada", fmt.Sprintf("Fault %d", i), "It is red.")
		if err != nil {
			b.Fatal(err)
		}
		at := time.Now()
		c, err := repo.Comment(issue.Number, "ada", "/agent fix")
		if err != nil {
			b.Fatal(err)
		}
		written[c.ID] = at
		if err := rest(b.Context(), pause); err != nil {
			b.Fatal(err)
		}
	}
	return reacted(b, gh, written)
}

// reacted waits for the reactions and takes their times from the server.
func reacted(b *testing.B, gh *vcstest.GitHub, written map[int64]time.Time) []time.Duration {
	until := time.Now().Add(reactionLimit)
	for {
		took := map[int64]time.Duration{}
		for _, r := range gh.Requests() {
			var id int64
			_, tail, _ := strings.Cut(r.Path, "/issues/comments/")
			if n, _ := fmt.Sscanf(tail, "%d/reactions", &id); n == 1 && r.Method == http.MethodPost && r.Status == http.StatusCreated && !written[id].IsZero() {
				took[id] = r.At.Sub(written[id])
			}
		}
		if len(took) == len(written) {
			all := make([]time.Duration, 0, len(took))
			for _, d := range took {
				all = append(all, d)
			}
			slices.Sort(all)
			return all
		}
		if time.Now().After(until) {
			b.Fatalf("%d of %d comments got a reaction", len(took), len(written))
		}
		if err := rest(b.Context(), 50*time.Millisecond); err != nil {
			b.Fatal(err)
		}
	}
}

func reportReactions(b *testing.B, sorted []time.Duration) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(millis(quantile(sorted, 0.5)), "p50-ms")
	b.ReportMetric(millis(quantile(sorted, 0.95)), "p95-ms")
	b.ReportMetric(millis(sorted[len(sorted)-1]), "max-ms")
	verdicts(b, verdict{what: "comment to reaction, the slowest", got: millis(sorted[len(sorted)-1]), target: targetReaction, unit: "ms"})
}
