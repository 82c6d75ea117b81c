package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/cmd/internal/cli"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// TestSetupGitLabExitCodes: what is missing makes the command fail.
func TestSetupGitLabExitCodes(t *testing.T) {
	lab, err := vcstest.NewGitLab(vcstest.GitLabConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lab.Close() }()
	if _, err := lab.CreateRepo("acme", "widgets", map[string]string{"README.md": "x\n"}); err != nil {
		t.Fatal(err)
	}
	owner, err := lab.AddToken("acme")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(owner.Reveal()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GREENWRIGHT_GITLAB_URL", lab.URL())
	t.Setenv("GREENWRIGHT_GITLAB_TOKEN", lab.Token().Reveal())
	t.Setenv("GREENWRIGHT_GITLAB_WEBHOOK_SECRET", "ours")
	setup := func(more ...string) (int, string) {
		var out, errs bytes.Buffer
		args := append([]string{"setup", "gitlab", "--project", "acme/widgets", "--url", "https://bot.example.com"}, more...)
		code := cli.Main(t.Context(), "v0.0.0-test", args, &out, &errs)
		return code, out.String() + errs.String()
	}
	if code, text := setup(); code != 1 || !strings.Contains(text, "--token-file with the token of a maintainer") {
		t.Errorf("as a developer: exit code %d: %s", code, text)
	}
	if code, text := setup("--token-file", file, "--dry-run"); code != 0 || !strings.Contains(text, "would create a hook to https://bot.example.com/webhooks/gitlab") {
		t.Errorf("dry run: exit code %d: %s", code, text)
	}
	code, text := setup("--token-file", file, "--json")
	var findings []wire.Finding
	if err := json.Unmarshal([]byte(text), &findings); err != nil || code != 0 || len(findings) != 3 {
		t.Errorf("with a token of the owner: exit code %d, %v: %s", code, err, text)
	}
	if strings.Contains(text, owner.Reveal()) || strings.Contains(text, "ours") {
		t.Errorf("shows a secret: %s", text)
	}
}
