package config_test

import (
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/cmd/internal/config"
)

// written is a file of a fresh directory.
func written(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGitLabFromFileAndEnvironment(t *testing.T) {
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	ca := written(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})))
	file := written(t, "greenwright.yml", `public_url: https://bot.example.com
forges:
  gitlab:
    base_url: https://git.example.com/gitlab
    ca_file: `+ca+`
    webhooks:
      - secret_file: `+written(t, "one", "first\n")+`
        projects: [acme/**]
      - signing_key_file: `+written(t, "two", "whsec_a2V5\n")+`
`)
	t.Setenv("GREENWRIGHT_GITLAB_TOKEN", "glpat-x")
	t.Setenv("GREENWRIGHT_GITLAB_WEBHOOK_SECRET", "second, third")
	c, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.ValidateServe(), c.Validate()); err != nil {
		t.Error(err)
	}
	g := c.Forges.GitLab
	if c.Forges.GitHub != nil || g.Token.Reveal() != "glpat-x" || len(g.CA) == 0 || c.PublicURL != "https://bot.example.com" {
		t.Errorf("forges are %+v", c.Forges)
	}
	var secrets []string
	for _, h := range g.Webhooks {
		secrets = append(secrets, h.Secret.Reveal()+h.SigningKey.Reveal())
	}
	if !slices.Equal(secrets, []string{"first", "whsec_a2V5", "second", "third"}) || !slices.Equal(g.Webhooks[0].Projects, []string{"acme/**"}) {
		t.Errorf("webhooks are %v, the first for %v", secrets, g.Webhooks[0].Projects)
	}
}

func TestGitLabFromTheEnvironmentAlone(t *testing.T) {
	t.Setenv("GREENWRIGHT_GITLAB_TOKEN", "glpat-x")
	t.Setenv("GREENWRIGHT_GITLAB_WEBHOOK_SECRET", "s")
	c, err := config.Load(written(t, "greenwright.yml", ""))
	if err != nil || c.Forges.GitLab == nil || c.Forges.GitHub != nil {
		t.Fatalf("forges are %+v, %v", c.Forges, err)
	}
	if err := c.ValidateServe(); err != nil {
		t.Error(err)
	}
}

func TestGitLabFaultsAreNamed(t *testing.T) {
	cases := map[string]struct{ file, want string }{
		"no secret":         {"forges: {gitlab: {}}", "no webhook secret: set GREENWRIGHT_GITLAB_WEBHOOK_SECRET"},
		"no token":          {"forges: {gitlab: {}}", "no credential: set GREENWRIGHT_GITLAB_TOKEN"},
		"webhook of naught": {"forges: {gitlab: {webhooks: [{projects: [a/b]}]}}", "want secret_file or signing_key_file"},
		"pattern":           {"forges: {gitlab: {webhooks: [{secret_file: x, projects: ['[']}]}}", "is no glob"},
		"certificate":       {"forges: {gitlab: {ca_file: " + written(t, "ca", "hello") + "}}", "holds no certificate"},
		"proxy":             {"forges: {gitlab: {proxy: 'localhost:1'}}", "want http://host:port"},
		"public url":        {"public_url: bot.example.com", "want https://host"},
		"unsafe and public": {"forges: {gitlab: {}}\nsandbox: {driver: none}", "none is refused with a forge that can be reached from outside"},
		"misspelt":          {"forges: {gitlab: {tokn_file: x}}", `did you mean "token_file"?`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Load(written(t, "greenwright.yml", c.file), func(c *config.Config) { c.Sandbox.Unsafe = true })
			if err == nil {
				err = cfg.ValidateServe()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}
