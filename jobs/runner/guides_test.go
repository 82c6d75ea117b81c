package runner_test

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// committed puts files into a repository's only commit, and its mirror.
func committed(t *testing.T, files map[string]string) (*git.Mirror, string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git binary to make a repository with")
	}
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A", "-f"}, {"commit", "-q", "-m", "c"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	info, err := git.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := git.New(git.Config{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	m, err := store.Mirror(vcs.RepoRef{Forge: vcs.Local, Owner: "local", Name: "guides"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fetch(t.Context(), vcs.Remote{URL: dir}, info.Head); err != nil {
		t.Fatal(err)
	}
	return m, info.Head
}

// guides reads them, and says what was recorded.
func guides(t *testing.T, files map[string]string, also ...string) (text string, records []journal.Record) {
	t.Helper()
	m, commit := committed(t, files)
	sink, err := journal.Folder{Dir: t.TempDir()}.NewFileSink("run")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	w := journal.NewWriter("run", sink, time.Now, nil)
	text, err = runner.Guides(t.Context(), m, commit, w, also...)
	if err != nil {
		t.Fatal(err)
	}
	return text, w.Records()
}

func TestGuides(t *testing.T) {
	text, _ := guides(t, map[string]string{
		"AGENTS.md": "Top rules. @docs/more.md\n", "CLAUDE.md": "Top rules. @docs/more.md\n", ".github/copilot-instructions.md": "Copilot rules <!-- hidden -->\n",
		"docs/more.md": "IMPORTED\n", "b/AGENTS.md": "Rules of b\n", "a/deep/CLAUDE.md": "Rules of a/deep\n",
		"vendor/x/AGENTS.md": "THEIRS\n", "STYLE.md": "Named rules\n", "a/README.md": "NO GUIDE\n",
	}, "STYLE.md", "missing.md")
	want := []string{"## AGENTS.md\n\nTop rules.", "## .github/copilot-instructions.md\n\nCopilot rules [hidden HTML comment:", "## STYLE.md\n\nNamed rules",
		"## a/deep/CLAUDE.md (for work below a/deep)\n\nRules of a/deep", "## b/AGENTS.md (for work below b)\n\nRules of b"}
	at := 0
	for _, w := range want {
		i := strings.Index(text[at:], w)
		if i < 0 {
			t.Fatalf("%q is missing, or out of order, in:\n%s", w, text)
		}
		at += i
	}
	for _, not := range []string{"IMPORTED", "THEIRS", "NO GUIDE", "## CLAUDE.md", "<!--"} {
		if strings.Contains(text, not) {
			t.Errorf("%q in:\n%s", not, text)
		}
	}
}

func TestGuidesAreBounded(t *testing.T) {
	long := strings.Repeat("rule\n", 3000)
	text, records := guides(t, map[string]string{
		"AGENTS.md": strings.Repeat("x", 30<<10), "a/AGENTS.md": "a" + long, "b/AGENTS.md": "b" + long, "c/AGENTS.md": "short\n",
	})
	if !strings.Contains(text, "## a/AGENTS.md") || !strings.Contains(text, "## c/AGENTS.md") || strings.Contains(text, "## b/AGENTS.md") {
		t.Error("not the files that fit")
	}
	if !strings.Contains(text, "Read these before") || !strings.Contains(text, "- b/AGENTS.md\n") {
		t.Errorf("what is left out is not named: %s", text[len(text)-200:])
	}
	if len(records) != 1 || !strings.Contains(string(records[0].Data), "AGENTS.md was not read") {
		t.Errorf("a file that is too large was passed over in silence: %v", records)
	}
}

func TestNoGuides(t *testing.T) {
	if text, _ := guides(t, map[string]string{"f": "f"}); text != "" {
		t.Errorf("%q", text)
	}
}
