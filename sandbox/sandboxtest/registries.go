package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/egress/egresstest"
)

// registries: the usual tools fetch through the allow-list, and not without.
func (s *suite) registries(t *testing.T) {
	t.Run("go mod download", s.goModules)
	t.Run("npm install", s.npm)
}

// closedAndOpen are sandboxes whose gateways let nobody and one server through.
func (s *suite) closedAndOpen(t *testing.T, site *egresstest.Server, files map[string]string) (closed, open fixture) {
	t.Helper()
	rule, err := egress.ParseRule(site.Rule())
	if err != nil {
		t.Fatal(err)
	}
	names := egress.WithResolver(egresstest.Loopback(site.Host))
	start := func(p egress.Policy) fixture {
		box := s.start(t, func(sp *sandbox.Spec) { sp.Gateway = egress.New(p, names) })
		uid, gid := box.Owner()
		for name, text := range files {
			file := filepath.Join(box.ws, name)
			write(t, file, text, 0o644)
			if err := os.Lchown(file, uid, gid); err != nil {
				t.Fatal(err)
			}
		}
		return box
	}
	return start(egress.Policy{}), start(egress.Policy{Allow: []egress.Rule{rule}, AllowPrivate: []string{site.Host}})
}

func (s *suite) goModules(t *testing.T) {
	Programs(t, "go")
	site, err := egresstest.StartGoProxy("goproxy.test")
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	closed, open := s.closedAndOpen(t, site, map[string]string{
		"go.mod":  "module example.test/user\n\ngo 1.21\n\nrequire " + egresstest.ModulePath + " " + egresstest.ModuleVersion + "\n",
		"main.go": "package main\n\nimport \"" + egresstest.ModulePath + "\"\n\nfunc main() { println(hello.Greeting) }\n",
	})
	cmd := sandbox.Cmd{Script: "go mod download -x all", Network: true, Env: []string{"GOPROXY=" + site.URL, "GOSUMDB=off", "GOFLAGS=-modcacherw -mod=mod"}}
	if res := closed.exec(t, cmd); res.OK() || !strings.Contains(res.Output.String(), "403") {
		t.Errorf("without the allow-list: %d, %s", res.ExitCode, res.Output)
	}
	offline := cmd
	offline.Network = false
	if res := open.exec(t, offline); res.OK() || site.Hits() != 0 {
		t.Errorf("without the network: %d, %s; %d requests came", res.ExitCode, res.Output, site.Hits())
	}
	if res := open.exec(t, cmd); !res.OK() {
		t.Fatalf("through the allow-list: %d, %s", res.ExitCode, res.Output)
	}
	cmd.Network, cmd.Script = false, "find \"$(go env GOMODCACHE)\" -name hello.go"
	if res := open.exec(t, cmd); !strings.Contains(res.Output.String(), "hello.go") || site.Hits() == 0 {
		t.Errorf("what was fetched: %q, %d requests", res.Output, site.Hits())
	}
}

func (s *suite) npm(t *testing.T) {
	Programs(t, "npm")
	site, err := egresstest.StartNPM("npm.test")
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	closed, open := s.closedAndOpen(t, site, map[string]string{
		"package.json": `{"name":"user","version":"1.0.0","dependencies":{"` + egresstest.PackageName + `":"^1.0.0"}}`,
	})
	cmd := sandbox.Cmd{Script: "npm install", Network: true, Env: []string{
		"npm_config_registry=" + site.URL, "npm_config_audit=false", "npm_config_fund=false", "npm_config_fetch_retries=0",
	}}
	if res := closed.exec(t, cmd); res.OK() || !strings.Contains(res.Output.String(), "403") {
		t.Errorf("without the allow-list: %d, %s", res.ExitCode, res.Output)
	}
	if res := open.exec(t, cmd); !res.OK() {
		t.Fatalf("through the allow-list: %d, %s", res.ExitCode, res.Output)
	}
	if got := readFile(t, filepath.Join(open.ws, "node_modules", egresstest.PackageName, "index.js")); !strings.Contains(got, "hello from afar") {
		t.Errorf("what was fetched: %q", got)
	}
}
