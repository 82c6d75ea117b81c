package e2e_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/egress/egresstest"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// needsModule is a Go project with a dependency that nobody has downloaded,
// and with a fault in its format.
func needsModule(t *testing.T, registry *egresstest.Server) map[string]string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":  "module example.com/greets\n\ngo 1.21\n\nrequire " + egresstest.ModulePath + " " + egresstest.ModuleVersion + "\n",
		"main.go": "package main\n\nimport \"" + egresstest.ModulePath + "\"\n\nfunc main() {\nprintln(hello.Greeting)\n}\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "mod", "tidy")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY="+strings.Replace(registry.URL, registry.Host, "127.0.0.1", 1), "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	files["go.sum"] = string(sum)
	files[".github/workflows/ci.yml"] = "on: push\njobs:\n  test:\n    steps:\n      - run: test -z \"$(gofmt -l .)\"\n      - run: go vet ./...\n"
	return files
}

// TestSetupReachesTheListAlone: the set-up command downloads through the
// allow-list, the verifying commands run without network, and the journal and
// the summary say what was reached.
func TestSetupReachesTheListAlone(t *testing.T) {
	registry, err := egresstest.StartGoProxy("modules.test")
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	files := needsModule(t, registry)
	files[".greenwright.yml"] = "setup:\n  - go mod download\n  - '! curl -sS --max-time 5 https://elsewhere.test/'\nverify:\n  - test -z \"$(gofmt -l .)\"\n  - go vet ./...\n  - '! curl -sS --max-time 5 " + registry.URL + "/'\n"
	rule, err := egress.ParseRule(fmt.Sprintf("%s:%d", registry.Host, registry.Port))
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, files, nil, func(c *config.Config) {
		c.Sandbox.Egress = egress.Policy{Allow: []egress.Rule{rule}, AllowPrivate: []string{registry.Host}}
		c.Sandbox.Resolver = egresstest.Loopback(registry.Host, "elsewhere.test")
		c.Sandbox.Env = []string{"GOPROXY=" + registry.URL, "GOSUMDB=off"}
	})
	number, _ := w.issue("Formatting is wrong", "", "/agent fix")
	last := w.awaitText(number, "journal head")
	r := w.reports()
	if len(r) != 1 || r[0].State != jobs.Verified {
		t.Fatalf("got %+v\n%s", r, last.Body)
	}
	reached, refused := false, false
	for _, s := range r[0].Setups {
		for _, c := range s.Connections {
			reached = reached || c.Host == registry.Host && c.Verdict == "allowed" && c.BytesIn > 0
			refused = refused || c.Host == "elsewhere.test" && c.Verdict == "refused"
		}
		if !s.Green() {
			t.Errorf("set-up command %q in %s: %+v", s.Command, s.Room, s)
		}
	}
	if !reached || !refused {
		t.Errorf("the journal lacks what was reached (%t) or refused (%t): %+v", reached, refused, r[0].Setups)
	}
	if !strings.Contains(last.Body, "set-up commands only, which reached `"+registry.Host) || !strings.Contains(last.Body, "refused `elsewhere.test") {
		t.Errorf("the summary lacks the network's part:\n%s", last.Body)
	}
}

// TestSetupOfLockFiles: a repository that says nothing gets what its lock file
// suggests, where the operator allows the preset.
func TestSetupOfLockFiles(t *testing.T) {
	registry, err := egresstest.StartGoProxy("proxy.golang.org")
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	files := needsModule(t, registry)
	rule, err := egress.ParseRule(fmt.Sprintf("%s:%d", registry.Host, registry.Port))
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, files, nil, func(c *config.Config) {
		c.Sandbox.Egress = egress.Policy{Presets: []string{"go"}, Allow: []egress.Rule{rule}, AllowPrivate: []string{registry.Host}}
		c.Sandbox.Resolver = egresstest.Loopback(registry.Host)
		c.Sandbox.Env = []string{"GOPROXY=" + registry.URL, "GOSUMDB=off"}
	})
	number, _ := w.issue("Formatting is wrong", "", "/agent fix")
	last := w.awaitText(number, "journal head")
	r := w.reports()
	if len(r) != 1 || r[0].State != jobs.Verified || len(r[0].Setups) == 0 || r[0].Setups[0].Command != "go mod download" {
		t.Errorf("got %+v\n%s", r, last.Body)
	}
}

// TestWhatTheOperatorDoesNotAllow: a repository can narrow and never widen.
func TestWhatTheOperatorDoesNotAllow(t *testing.T) {
	for text, want := range map[string]string{
		"egress: [\"evil.example:443\"]\n":      "the operator does not allow evil.example",
		"egress: [npn]\n":                       "did you mean|nearest is",
		"image: evil.example/image:latest\n":    "is not among those that repositories may choose",
		"image: oci:/etc\n":                     "which no repository may name",
		"image: docker-archive:/etc/shadow\n":   "which no repository may name",
		"setup: [\"curl https://a.example\"]\n": "",
	} {
		t.Run(strings.TrimSpace(text), func(t *testing.T) {
			files := project()
			files[".greenwright.yml"] = text
			w := start(t, files, repair(), scripted, func(c *config.Config) {
				c.Sandbox.Egress = egress.Policy{Presets: []string{"go"}}
				c.Sandbox.Images = []string{"**"}
				if strings.Contains(text, "evil.example/image") {
					c.Sandbox.Images = []string{"ghcr.io/acme/*"}
				}
			})
			number, _ := w.issue("Adding is wrong", "", "/agent fix")
			last := w.awaitText(number, "journal head")
			if want == "" {
				if r := w.reports(); len(r) != 1 || r[0].State != jobs.Verified || !strings.Contains(last.Body, "refused `a.example:443`") {
					t.Errorf("a set-up command that fails ends the run, or is not told:\n%s", last.Body)
				}
				return
			}
			if !strings.Contains(last.Body, "Refused") || !regexp.MustCompile(want).MatchString(last.Body) {
				t.Errorf("the last word lacks %q:\n%s", want, last.Body)
			}
		})
	}
}

// TestInGVisor: the main job in the other driver.
func TestInGVisor(t *testing.T) {
	binary := sandboxtest.Runsc()
	if binary == "" {
		sandboxtest.Missing(t, "runsc", fmt.Errorf("bin/runsc is not built: make setup"))
	}
	guest := sandboxtest.Guest(t)
	w := start(t, project(), repair(), scripted, func(c *config.Config) {
		c.Sandbox.Driver, c.Sandbox.Runsc.Binary, c.Sandbox.Runsc.Guest = "runsc", binary, guest
	})
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	last := w.awaitText(number, "journal head")
	if r := w.reports(); len(r) != 1 || r[0].State != jobs.Verified || r[0].Started.Sandbox != "runsc" {
		t.Errorf("got %+v\n%s", r, last.Body)
	}
	if !strings.Contains(last.Body, "| runsc, network closed |") {
		t.Errorf("the summary does not name the sandbox:\n%s", last.Body)
	}
}

// TestWithoutASandboxIsTold: the operator's word is in every summary.
func TestWithoutASandboxIsTold(t *testing.T) {
	w := start(t, project(), repair(), scripted, func(c *config.Config) { c.Sandbox.Driver, c.Sandbox.Unsafe = "none", true })
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	last := w.awaitText(number, "journal head")
	if !strings.Contains(last.Body, "No sandbox.") || !strings.Contains(last.Body, "none, network open") {
		t.Errorf("the summary does not say so:\n%s", last.Body)
	}
}

// TestSecretsDoNotLeaveInOutput: a key of the worker that a command prints
// reaches neither the thread, nor the journal, nor the model.
func TestSecretsDoNotLeaveInOutput(t *testing.T) {
	const key = "key-of-the-model-0123456789abcdef"
	files := project()
	files["test.sh"] = "echo first " + key + "\necho $(printf %s " + key + " | base64)\n" + files["test.sh"]
	w := start(t, files, repair(), scripted, func(c *config.Config) { c.Models.Anthropic.Key = model.Key(key) })
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "journal head")
	dir := filepath.Join(w.cfg.DataDir, "artifacts")
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".patch" || strings.HasPrefix(d.Name(), "snap-") { // files, as the repository has them
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), "first "+key) || strings.Contains(string(content), "a2V5LW9mLXRoZS1tb2RlbC0wMTIz") {
			t.Errorf("%s holds the key", path)
		}
		if !strings.Contains(string(content), "[redacted model key]") {
			t.Errorf("%s does not show that something is left out", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range w.ours(number) {
		if strings.Contains(c.Body, key) {
			t.Errorf("the thread holds the key:\n%s", c.Body)
		}
	}
}

// TestInAnImage: a repository's image, from a registry, with what its commands
// need and the worker's own system does not have.
func TestInAnImage(t *testing.T) {
	srv := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError))))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	ref, err := name.ParseReference(host+"/acme/tools:1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, toolImage(t)); err != nil {
		t.Fatal(err)
	}
	files := project()
	files["test.sh"] = "test -e /opt/of-the-image || { echo not in the image; exit 1; }\n" + files["test.sh"]
	files[".greenwright.yml"] = "image: " + ref.Name() + "\nverify: [sh ./test.sh]\n"
	steps := repair()
	steps[2] = modeltest.Do(command("sh ./test.sh && ls /opt"))
	w := start(t, files, steps, scripted, func(c *config.Config) { c.Sandbox.Images = []string{host + "/acme/*"} })
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	last := w.awaitText(number, "journal head")
	r := w.reports()
	if len(r) != 1 || r[0].State != jobs.Verified || r[0].Box.Image != ref.Name() || !strings.HasPrefix(r[0].Box.Digest, "sha256:") {
		t.Errorf("got %+v\n%s", r, last.Body)
	}
	if ran := r[0].Checks; len(ran) != 1 || ran[0].Before == nil || strings.Contains(ran[0].Before.Output, "not in the image") {
		t.Errorf("checks ran outside of the image: %+v", ran)
	}
}

// toolImage has the host's shell and ls with the libraries that they need.
func toolImage(t *testing.T) v1.Image {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	add := func(path string, mode int64, content []byte) {
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(path, "/"), Mode: mode, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	add("/opt/of-the-image", 0o644, nil)
	seen := map[string]bool{}
	for _, program := range []string{"/bin/sh", "/bin/ls"} {
		out, err := exec.Command("ldd", program).Output()
		if err != nil {
			t.Fatalf("ldd %s: %v", program, err)
		}
		for _, file := range append(regexp.MustCompile(`/\S+`).FindAllString(string(out), -1), program) {
			if seen[file] {
				continue
			}
			seen[file] = true
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			add(file, 0o755, content)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	img, err = mutate.Config(img, v1.Config{Env: []string{"PATH=/bin:/usr/bin", "FROM_IMAGE=1"}})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestCachesGoOneWay: the agent begins with the caches that the baseline has
// filled, and what it leaves in them does not reach the commands that prove.
func TestCachesGoOneWay(t *testing.T) {
	files := project()
	files[".greenwright.yml"] = "verify: [sh ./test.sh]\n"
	files["test.sh"] = "grep -q poison ~/.cache/x/y 2>/dev/null && exit 7\nmkdir -p ~/.cache/x; echo warm > ~/.cache/x/y\n" + files["test.sh"]
	steps := repair()
	steps[2] = modeltest.Do(command("tr a-z A-Z < ~/.cache/x/y; echo poison > ~/.cache/x/y"))
	w := start(t, files, steps, scripted)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	last := w.awaitText(number, "journal head")
	if r := w.reports(); len(r) != 1 || r[0].State != jobs.Verified {
		t.Errorf("got %+v\n%s", r, last.Body)
	}
	warm := false
	err := filepath.WalkDir(filepath.Join(w.cfg.DataDir, "artifacts"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		warm = warm || strings.Contains(string(content), "WARM")
		return err
	})
	if err != nil || !warm {
		t.Errorf("the agent's cache was cold (%v)", err)
	}
}

// TestASecondRunDoesNotFix: a command that fails the first time it runs in a
// home and passes the second time is not fixed by anything.
func TestASecondRunDoesNotFix(t *testing.T) {
	files := project()
	files[".greenwright.yml"] = "verify:\n  - sh ./test.sh\n  - 'for d in ~ /tmp ~/.cache ~/.npm; do mkdir -p $d; test -e $d/seen && ok=1; touch $d/seen; done; test -n \"$ok\"'\n"
	steps := repair()
	for range 4 {
		steps = append(steps, modeltest.Do(finish("no better idea")))
	}
	w := start(t, files, steps, scripted)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	last := w.awaitText(number, "journal head")
	if r := w.reports(); len(r) != 1 || r[0].State != jobs.Unverified || r[0].Verdict == nil || len(r[0].Verdict.StillRed) != 1 {
		t.Errorf("got %+v\n%s", r, last.Body)
	}
}
