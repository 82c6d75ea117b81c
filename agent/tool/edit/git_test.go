package edit_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

func git(t *testing.T, dir string, input []byte, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "LC_ALL=C"}
	cmd.Stdin = bytes.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("git %v: %w: %s", args, err, errs.String())
	}
	return out.String(), nil
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed")
	}
}

type gitCase struct{ before, after gitTree }

// gitDiffs lets git write the differences of many pairs of trees at once.
func gitDiffs(t *testing.T, cases []gitCase, args ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var in bytes.Buffer
	for i, c := range cases {
		for half, tree := range []gitTree{c.before, c.after} {
			mark := 2*i + half + 1
			fmt.Fprintf(&in, "commit refs/heads/x%d\nmark :%d\ncommitter a <a@example.com> 0 +0000\ndata 0\n", i, mark)
			if half == 1 {
				fmt.Fprintf(&in, "from :%d\n", mark-1)
			}
			in.WriteString("deleteall\n")
			for _, name := range tree.names() {
				mode := "100644"
				if tree[name].Exec {
					mode = "100755"
				}
				fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", mode, fastImportPath(name), len(tree[name].Text), tree[name].Text)
			}
		}
	}
	for _, step := range []struct {
		in   []byte
		args []string
	}{{nil, []string{"init", "-q", "--bare", "."}}, {in.Bytes(), []string{"fast-import", "--quiet", "--export-marks=marks"}}} {
		if _, err := git(t, dir, step.in, step.args...); err != nil {
			t.Fatal(err)
		}
	}
	marks, err := os.ReadFile(filepath.Join(dir, "marks"))
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]string)
	for line := range strings.Lines(string(marks)) {
		mark, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		ids[mark] = id
	}
	var commits strings.Builder
	for i := range cases {
		commits.WriteString(ids[fmt.Sprintf(":%d", 2*i+2)] + "\n")
	}
	out, err := git(t, dir, []byte(commits.String()), append([]string{"diff-tree", "--stdin", "-r", "-p", "--always"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?m)^[0-9a-f]{40}\n`).Split(out, -1)[1:]
	if len(parts) != len(cases) {
		t.Fatalf("%d diffs of %d cases", len(parts), len(cases))
	}
	return parts
}

func fastImportPath(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

// fastDir is a directory in memory where there is one: every edit waits for
// the disk otherwise.
func fastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "greenwright-edit-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// lay writes a tree to a directory of its own.
func lay(t *testing.T, root string, n int, tree gitTree) string {
	t.Helper()
	dir := filepath.Join(root, fmt.Sprint(n))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, f := range tree {
		full := filepath.Join(dir, name)
		mode := os.FileMode(0o644)
		if f.Exec {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(f.Text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readTree(t *testing.T, dir string) gitTree {
	t.Helper()
	tree := make(gitTree)
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(dir, p)
		tree[rel] = gitFile{string(data), info.Mode().Perm()&0o100 != 0}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// applyPatch runs the tool in a directory all of whose files were read.
func applyPatch(t *testing.T, dir, patch string, tree gitTree) tool.Result {
	t.Helper()
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for name, f := range tree {
		ws.Reads().Show(name, decoded(t, f.Text), 0, len(f.Text))
	}
	registry, err := tool.NewRegistry(edit.NewPatch(ws))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, registry: registry}
	return b.call("apply_patch", map[string]any{"patch": patch, "confirm_large_delete": true})
}

// TestGitDiffRoundTrip lets git describe random changes of random trees and
// wants apply_patch to make exactly the changed tree.
func TestGitDiffRoundTrip(t *testing.T) {
	needGit(t)
	count := 500
	if testing.Short() {
		count = 100
	}
	for i, args := range [][]string{{"-M"}, {"--no-renames"}, {"-M", "-C", "-B", "-U1"}, {"-M", "--no-prefix", "-U5"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			w := wild{rand.New(rand.NewPCG(uint64(i), 7))}
			cases := make([]gitCase, count)
			for n := range cases {
				before := w.tree()
				cases[n] = gitCase{before, w.changed(before)}
			}
			root := fastDir(t)
			for n, patch := range gitDiffs(t, cases, args...) {
				checkRoundTrip(t, lay(t, root, n, cases[n].before), cases[n], patch)
			}
		})
	}
}

func checkRoundTrip(t *testing.T, dir string, c gitCase, patch string) {
	t.Helper()
	res := applyPatch(t, dir, patch, c.before)
	if patch == "" && res.Code == tool.CodeParse {
		return
	}
	if diff := cmp.Diff(c.after, readTree(t, dir)); !res.OK || diff != "" {
		t.Fatalf("%s: %s\n%s\npatch:\n%s\ntree:\n%s", dir, res.Code, res.Text, patch, diff)
	}
}

// FuzzGitDiffRoundTrip is TestGitDiffRoundTrip for other random numbers.
func FuzzGitDiffRoundTrip(f *testing.F) {
	f.Add(uint64(1), false)
	f.Add(uint64(2), true)
	f.Fuzz(func(t *testing.T, seed uint64, copies bool) {
		needGit(t)
		w := wild{rand.New(rand.NewPCG(seed, 11))}
		args := []string{"-M"}
		if copies {
			args = append(args, "-C", "-B")
		}
		cases := make([]gitCase, 20) // so that starting git is not most of the work
		for n := range cases {
			before := w.tree()
			cases[n] = gitCase{before, w.changed(before)}
		}
		root := fastDir(t)
		for n, patch := range gitDiffs(t, cases, args...) {
			checkRoundTrip(t, lay(t, root, n, cases[n].before), cases[n], patch)
		}
	})
}

// TestAgainstGitApply holds apply_patch against git apply on trees that are no
// longer the ones that the patch was made for.
//
// Where git applies, so do we, to the same tree, unless the old lines stand at
// several places and not at the line that the patch names: git takes the
// nearest, we refuse. Where git refuses and we apply, it is by one of our rules:
// the old lines were found by a lenient step, or the hunk is at an end of the
// file as the patch knew it and git holds it there, or the newline at the end
// of the file is not as the patch has it.
func TestAgainstGitApply(t *testing.T) {
	needGit(t)
	count := 600
	if testing.Short() {
		count = 60
	}
	w := wild{rand.New(rand.NewPCG(3, 5))}
	cases := make([]gitCase, count)
	targets := make([]gitTree, count)
	for n := range cases {
		before := gitTree{"a": {Text: w.text(40)}, "dir/b": {Text: w.text(20)}}
		after := maps.Clone(before)
		for _, name := range before.names() {
			after[name] = gitFile{Text: w.edited(before[name].Text)}
		}
		cases[n] = gitCase{before, after}
		targets[n] = maps.Clone(before)
		for _, name := range before.names() {
			if w.IntN(3) > 0 {
				targets[n][name] = gitFile{Text: w.edited(before[name].Text)}
			}
		}
	}
	seen := make(map[string]int)
	root := fastDir(t)
	for n, patch := range gitDiffs(t, cases) {
		if patch == "" {
			continue
		}
		theirs, ours := lay(t, root, 2*n, targets[n]), lay(t, root, 2*n+1, targets[n])
		_, err := git(t, theirs, []byte(patch), "apply", "--whitespace=nowarn")
		res := applyPatch(t, ours, patch, targets[n])
		outcome := compareWithGit(err == nil, res, cmp.Diff(readTree(t, theirs), readTree(t, ours)))
		if outcome == unexplained {
			// With this option git does not hold hunks at the ends of a file.
			if _, err := git(t, theirs, []byte(patch), "apply", "--whitespace=nowarn", "--unidiff-zero"); err == nil && cmp.Equal(readTree(t, theirs), readTree(t, ours)) {
				outcome = "git refuses because the hunk is no longer at an end of the file, we apply"
			} else if lacksNewline(patch, targets[n]) {
				outcome = "git refuses because of the newline at the end of the file, we apply"
			}
		}
		seen[outcome]++
		if strings.HasPrefix(outcome, "WRONG") {
			t.Errorf("case %d: %s: git: %v\n%s\npatch:\n%s\ntarget: %+v", n, outcome, err, res.Text, patch, targets[n])
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%5d %s", seen[outcome], outcome)
	}
}

func compareWithGit(gitOK bool, res tool.Result, diff string) string {
	switch {
	case gitOK && res.OK && diff == "":
		return "both apply, same tree"
	case gitOK && res.OK:
		return "WRONG: both apply, other trees: " + diff
	case gitOK && res.Code == tool.CodeAmbiguous:
		return "git takes the nearest of several places, we refuse"
	case gitOK:
		return "WRONG: git applies, we do not"
	case !res.OK && diff == "":
		return "both refuse"
	case !res.OK:
		return "WRONG: refused, but the tree changed"
	case strings.Contains(res.Text, "they were matched by"):
		return "git refuses, we apply by a lenient step"
	}
	return unexplained
}

const unexplained = "WRONG: git refuses, we apply"

// lacksNewline says that a file ends without a newline of which the patch does
// not know.
func lacksNewline(patch string, tree gitTree) bool {
	for _, f := range tree {
		if f.Text != "" && !strings.HasSuffix(f.Text, "\n") {
			return !strings.Contains(patch, "\n\\ No newline")
		}
	}
	return false
}
