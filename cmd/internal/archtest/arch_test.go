package archtest_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/greenwright/greenwright/"

type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func (p pkg) rel() string { return strings.TrimPrefix(p.ImportPath, module) }

func load(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Name,GoFiles,Imports,Deps"}, args...)...)
	cmd.Dir = filepath.Join("..", "..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		t.Fatal("no packages")
	}
	return pkgs
}

// mayImport says which of the top-level folders a folder's packages may import.
var mayImport = map[string][]string{
	"cmd":     {"cmd", "webhook", "jobs", "agent", "vcs", "sandbox"},
	"webhook": {"webhook", "vcs"},
	"jobs":    {"jobs", "vcs", "agent", "sandbox"},
	"agent":   {"agent"},
	"vcs":     {"vcs"},
	"sandbox": {"sandbox"},
}

func TestTopLevelImports(t *testing.T) {
	for _, p := range load(t, "./...") {
		top, _, _ := strings.Cut(p.rel(), "/")
		allowed, known := mayImport[top]
		if !known {
			t.Errorf("%s: %q is not one of the top-level folders", p.rel(), top)
		}
		for _, imp := range p.Imports {
			rel, ours := strings.CutPrefix(imp, module)
			if !ours || forTests(p.rel()) && forTests(rel) {
				continue // the simulated forge sends what the payload builders build
			}
			if dep, _, _ := strings.Cut(rel, "/"); !slices.Contains(allowed, dep) {
				t.Errorf("%s imports %s: %s may import only %v", p.rel(), rel, top, allowed)
			}
		}
	}
}

// forTests reports packages that only tests and the demonstration use.
func forTests(rel string) bool { return strings.HasSuffix(rel, "test") }

// vocabulary packages are leaves: their children import them, never the
// other way round.
func TestVocabularyIsALeaf(t *testing.T) {
	for _, p := range load(t, "./vcs", "./sandbox", "./webhook", "./jobs") {
		for _, imp := range p.Imports {
			if rel, ours := strings.CutPrefix(imp, module); ours && strings.HasPrefix(rel, p.rel()+"/") {
				t.Errorf("%s imports its child %s", p.rel(), rel)
			}
		}
	}
	for _, p := range load(t, "./vcs", "./sandbox") {
		for _, imp := range p.Imports {
			if strings.Contains(strings.Split(imp, "/")[0], ".") {
				t.Errorf("%s imports %s: the vocabulary needs only the standard library", p.rel(), imp)
			}
		}
	}
}

// joins lists the packages whose purpose is to join siblings.
var joins = map[string]bool{
	"jobs/control": true, "jobs/dispatch": true, "jobs/runner": true, "jobs/publish": true, "jobs/jobstest": true,
}

// leaves may be imported by any sibling: pure vocabulary of their subject, and
// for the sandbox drivers what they all are built over.
var leaves = map[string]bool{
	"webhook/scan":  true,
	"vcs/transport": true, "vcs/markdown": true, "vcs/sticky": true, "vcs/gitlabwire": true,
	"sandbox/account": true, "sandbox/box": true, "sandbox/cgroup": true, "sandbox/disk": true, "sandbox/layout": true, "sandbox/link": true,
	"sandbox/output": true, "sandbox/redact": true,
	"jobs/command": true, "jobs/journal": true, "jobs/workflow": true, "jobs/progress": true, "jobs/policy": true, "jobs/actions": true,
}

func TestSiblingsDoNotImportEachOther(t *testing.T) {
	for _, p := range load(t, "./vcs/...", "./webhook/...", "./jobs/...", "./sandbox/...") {
		if joins[p.rel()] || forTests(p.rel()) || strings.Count(p.rel(), "/") != 1 {
			continue
		}
		for _, imp := range p.Imports {
			rel, ours := strings.CutPrefix(imp, module)
			if ours && path.Dir(rel) == path.Dir(p.rel()) && !leaves[rel] {
				t.Errorf("%s imports its sibling %s", p.rel(), rel)
			}
		}
	}
}

// oneImporter names, for each third-party client, the only packages that may
// import it.
var oneImporter = map[string][]string{
	"github.com/google/go-github":             {"vcs/github", "webhook/githubhook"},
	"github.com/bradleyfalzon/ghinstallation": {"vcs/github"},
	"github.com/xanzy/go-gitlab":              {"vcs/gitlab", "webhook/gitlabhook"},
	"github.com/go-git/":                      {"vcs/git"},
	"github.com/hibiken/asynq":                {"jobs/queue"},
	"github.com/redis/go-redis":               {"jobs/store", "jobs/queue"},
	"github.com/anthropics/anthropic-sdk-go":  {"agent/model/anthropic"},
	"github.com/openai/openai-go":             {"agent/model/openai"},
	"gocloud.dev":                             {"jobs/journal"},
	"github.com/aws/":                         {"jobs/journal"},
	"github.com/spf13/cobra":                  {"cmd/internal/cli"},
	"github.com/evanw/esbuild":                {"agent/tool/syntax"},
	"github.com/pelletier/go-toml":            {"agent/tool/syntax"},
}

func TestOneImporterPerClient(t *testing.T) {
	for _, p := range load(t, "./...") {
		for _, imp := range p.Imports {
			for client, homes := range oneImporter {
				if strings.HasPrefix(imp, client) && !slices.Contains(homes, p.rel()) {
					t.Errorf("%s imports %s: only %v may", p.rel(), imp, homes)
				}
			}
		}
	}
}

func TestPackagesHaveComments(t *testing.T) {
	for _, p := range load(t, "./...") {
		documented := false
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			documented = documented || f.Doc != nil && len(f.Doc.Text()) > 40
		}
		if !documented && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package comment", p.rel())
		}
	}
}

// refusedNames say nothing of what a package provides.
var refusedNames = []string{"util", "utils", "common", "helpers", "helper", "types", "models", "shared", "base", "core", "misc"}

func TestPackageNames(t *testing.T) {
	for _, p := range load(t, "./...") {
		if slices.Contains(refusedNames, p.Name) {
			t.Errorf("%s: name it for what it provides", p.rel())
		}
	}
}

func TestNothingForTestsInTheProgram(t *testing.T) {
	for _, p := range load(t, "./cmd/greenwright") {
		for _, dep := range p.Deps {
			rel, ours := strings.CutPrefix(dep, module)
			if dep == "testing" || dep == "net/http/httptest" || ours && forTests(rel) {
				t.Errorf("the program links %s", dep)
			}
		}
	}
}
