package outline_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/outline"
)

// memory is a Tree of files in memory.
type memory map[string]string

func (m memory) Walk(ctx context.Context, visit func(outline.Entry) error) error {
	paths := make([]string, 0, len(m))
	for p := range m {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(outline.Entry{Path: p, Size: int64(len(m[p]))}); err != nil {
			return err
		}
	}
	return nil
}

func (m memory) Read(path string) ([]byte, error) {
	if text, ok := m[path]; ok {
		return []byte(text), nil
	}
	return nil, os.ErrNotExist
}

// BenchmarkRecall takes past commits as tasks: message in, files out. The tree
// is that of the commit's parent, and only files that existed there count.
// RECALL_REPO names another repository, RECALL_COMMITS how many commits; without
// them it is this project's own history.
func BenchmarkRecall(b *testing.B) {
	repo := cmp.Or(os.Getenv("RECALL_REPO"), "../..")
	limit, err := strconv.Atoi(cmp.Or(os.Getenv("RECALL_COMMITS"), "40"))
	if err != nil {
		b.Fatal(err)
	}
	commits := history(repo, limit)
	if len(commits) == 0 {
		b.Fatalf("%s has no history to measure on", repo)
	}
	for range b.N {
		var with, without figures
		builder := outline.NewBuilder(256<<20, nil)
		for _, c := range commits {
			x, err := builder.Build(context.Background(), c.tree)
			if err != nil {
				b.Fatal(err)
			}
			with.count(c, outline.Seed(c.subject+"\n"+c.body, x, nil))
			_, bare, ok := strings.Cut(c.subject, ": ")
			if !ok {
				bare = c.subject
			}
			without.count(c, outline.Seed(bare+"\n"+c.body, x, nil))
		}
		b.Logf("%d commits, message as written: %s", len(commits), with)
		b.Logf("without the folder in the subject: %s", without)
		b.ReportMetric(without.share(without.at5), "recall-at-5")
		b.ReportMetric(without.share(without.at10), "recall-at-10")
	}
}

// figures are sums of recall over tasks.
type figures struct {
	tasks, codeTasks         int
	at5, at10, code5, code10 float64
	any5, any10              int
}

func (f *figures) share(sum float64) float64 { return sum / float64(max(1, f.tasks)) }

func (f figures) String() string {
	n, c := float64(max(1, f.tasks)), float64(max(1, f.codeTasks))
	return strings.Join([]string{
		"all files: recall at 5 " + percent(f.at5/n) + ", at 10 " + percent(f.at10/n),
		"without tests and documents: at 5 " + percent(f.code5/c) + ", at 10 " + percent(f.code10/c),
		"at least one: at 5 " + percent(float64(f.any5)/n) + ", at 10 " + percent(float64(f.any10)/n),
	}, "; ")
}

func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }

func (f *figures) count(c commit, found []outline.Candidate) {
	var paths []string
	for _, k := range found {
		paths = append(paths, k.Path)
	}
	var code []string
	for _, g := range c.gold {
		if !strings.Contains(g, "_test.") && !strings.HasSuffix(g, ".md") && !strings.Contains(g, "testdata/") && !strings.Contains(g, "tests/") && !strings.HasSuffix(g, ".rst") {
			code = append(code, g)
		}
	}
	f.tasks++
	f.at5 += hits(c.gold, paths, 5)
	f.at10 += hits(c.gold, paths, 10)
	if hits(c.gold, paths, 5) > 0 {
		f.any5++
	}
	if hits(c.gold, paths, 10) > 0 {
		f.any10++
	}
	if len(code) > 0 {
		f.codeTasks++
		f.code5 += hits(code, paths, 5)
		f.code10 += hits(code, paths, 10)
	}
}

// hits is the share of gold among the first n paths.
func hits(gold, paths []string, n int) float64 {
	found := 0
	for _, g := range gold {
		if slices.Contains(paths[:min(n, len(paths))], g) {
			found++
		}
	}
	return float64(found) / float64(min(len(gold), n))
}

type commit struct {
	subject, body string
	gold          []string
	tree          memory
}

// history is the last commits that change between one and eight files that
// their parent has.
func history(repo string, limit int) []commit {
	out, err := exec.Command("git", "-C", repo, "log", "--no-merges", "--format=%H", "-n", strconv.Itoa(5*limit)).Output()
	if err != nil {
		return nil
	}
	var commits []commit
	for _, hash := range strings.Fields(string(out)) {
		if len(commits) == limit {
			break
		}
		if c, err := load(repo, hash); err == nil && len(c.gold) > 0 && len(c.gold) <= 8 {
			commits = append(commits, c)
		}
	}
	return commits
}

func load(repo, hash string) (commit, error) {
	message, err := exec.Command("git", "-C", repo, "log", "-1", "--format=%s%x00%b", hash).Output()
	if err != nil {
		return commit{}, err
	}
	changed, err := exec.Command("git", "-C", repo, "diff", "--name-only", "-z", "--no-renames", hash+"^", hash).Output()
	if err != nil {
		return commit{}, err
	}
	paths := strings.Split(strings.Trim(string(changed), "\x00"), "\x00")
	if len(paths) > 8 {
		return commit{}, errors.New("too many files")
	}
	archive, err := exec.Command("git", "-C", repo, "archive", "--format=tar", hash+"^").Output()
	if err != nil {
		return commit{}, err
	}
	c := commit{tree: memory{}}
	c.subject, c.body, _ = strings.Cut(string(message), "\x00")
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		if h.Typeflag == tar.TypeReg && h.Size < 2<<20 {
			text, _ := io.ReadAll(r)
			c.tree[h.Name] = string(text)
		}
	}
	for _, p := range paths {
		if _, ok := c.tree[p]; ok {
			c.gold = append(c.gold, p)
		}
	}
	return c, nil
}
