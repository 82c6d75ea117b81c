package egress_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/egress/egresstest"
)

// needs skips loudly, or fails where GREENWRIGHT_TEST_REQUIRE (see
// sandboxtest.RequireVar) names the program.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if strings.Contains(os.Getenv("GREENWRIGHT_TEST_REQUIRE"), program) {
			t.Fatalf("%s is required on this machine: %v", program, err)
		}
		t.Skipf("this machine has no working %s: %v", program, err)
	}
}

// run runs a program in a directory with an environment of its own.
func run(t *testing.T, dir string, env []string, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestGoModDownload(t *testing.T) {
	needs(t, "go")
	s, err := egresstest.StartGoProxy("goproxy.test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := start(t, egress.Policy{Allow: rules(t, s.Rule()), AllowPrivate: []string{s.Host}}, loopback(s.Host))
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.test/user\n\ngo 1.21\n\nrequire "+egresstest.ModulePath+" "+egresstest.ModuleVersion+"\n")
	write(t, dir, "main.go", "package main\n\nimport \""+egresstest.ModulePath+"\"\n\nfunc main() { println(hello.Greeting) }\n")
	env := []string{
		"GOPROXY=" + s.URL, "GOSUMDB=off", "GOTOOLCHAIN=local", "GOMODCACHE=" + filepath.Join(dir, "mod"), "GOCACHE=" + filepath.Join(dir, "cache"),
		"GOFLAGS=-modcacherw -mod=mod",
	}
	if out, err := run(t, dir, env, "go", "mod", "download"); err == nil {
		t.Fatalf("without the proxy's environment: %s", out)
	}
	hits := s.Hits()
	if out, err := run(t, dir, append(env, w.env...), "go", "mod", "download", "-x", "all"); err != nil {
		t.Fatalf("through the proxy: %v\n%s", err, out)
	}
	if s.Hits() == hits {
		t.Error("nothing reached the module proxy")
	}
	if _, err := os.Stat(filepath.Join(dir, "mod", egresstest.ModulePath+"@"+egresstest.ModuleVersion, "hello.go")); err != nil {
		t.Error(err)
	}
	closed := start(t, egress.Policy{})
	_ = os.RemoveAll(filepath.Join(dir, "mod"))
	out, err := run(t, dir, append(env, closed.env...), "go", "mod", "download")
	if err == nil || !strings.Contains(out, "403") {
		t.Errorf("with an empty policy: %v\n%s", err, out)
	}
}

func TestNPMInstall(t *testing.T) {
	needs(t, "npm")
	s, err := egresstest.StartNPM("npm.test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := start(t, egress.Policy{Allow: rules(t, s.Rule()), AllowPrivate: []string{s.Host}}, loopback(s.Host))
	dir := t.TempDir()
	write(t, dir, "package.json", `{"name":"user","version":"1.0.0","dependencies":{"`+egresstest.PackageName+`":"^1.0.0"}}`)
	env := []string{
		"npm_config_registry=" + s.URL, "npm_config_cache=" + filepath.Join(dir, "cache"), "npm_config_audit=false", "npm_config_fund=false",
		"npm_config_update_notifier=false", "npm_config_fetch_retries=0",
	}
	closed := start(t, egress.Policy{})
	if out, err := run(t, dir, append(env, closed.env...), "npm", "install"); err == nil || !strings.Contains(out, "403") {
		t.Fatalf("with an empty policy: %v\n%s", err, out)
	}
	if out, err := run(t, dir, append(env, w.env...), "npm", "install"); err != nil {
		t.Fatalf("through the proxy: %v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "node_modules", egresstest.PackageName, "index.js"))
	if err != nil || !strings.Contains(string(content), "hello from afar") {
		t.Errorf("%s, %v", content, err)
	}
}

// TestCurlAndGit: curl learns what was refused, and git, which asks without
// the token first, comes through. TLS itself is tested in Go.
func TestCurlAndGit(t *testing.T) {
	needs(t, "curl")
	needs(t, "git")
	s, err := egresstest.Start("files.test", http.FileServer(http.Dir(bareRepository(t))))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := start(t, egress.Policy{Allow: rules(t, s.Rule()), AllowPrivate: []string{s.Host}}, loopback(s.Host))
	dir := t.TempDir()
	for _, args := range [][]string{{"--fail"}, {"--fail", "--proxy-anyauth"}, {"--fail", "--proxytunnel"}, {"--http1.0", "--fail"}} {
		argv := append([]string{"curl", "-sS", s.URL + "/HEAD"}, args...)
		if out, err := run(t, dir, w.env, argv...); err != nil || out != "ref: refs/heads/main\n" {
			t.Errorf("curl %v: %v, %q", args, err, out)
		}
	}
	if out, err := run(t, dir, w.env, "git", "ls-remote", s.URL+"/"); err != nil || !strings.Contains(out, "refs/heads/main") {
		t.Errorf("git: %v, %s", err, out)
	}
	out, _ := run(t, dir, w.env, "curl", "-sS", "http://other.test/")
	if out != "greenwright: other.test:80 is not on the allow-list; add it to sandbox.egress.allow\n" {
		t.Errorf("curl is told %q", out)
	}
	if out, err := run(t, dir, w.env, "curl", "-sS", "-v", "https://other.test/"); err == nil || !strings.Contains(out, "other.test:443 is not on the allow-list") {
		t.Errorf("curl -v is told %q, %v", out, err)
	}
}

// bareRepository is one that git reads over plain HTTP.
func bareRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"info", "objects", "refs"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "HEAD", "ref: refs/heads/main\n")
	write(t, dir, "info/refs", strings.Repeat("1", 40)+"\trefs/heads/main\n")
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
