package verify

import (
	"path"
	"slices"
	"strings"
)

// checkers are programs that check. An empty list means whatever follows; else
// the first word that is no option has to be one of it.
var checkers = map[string][]string{
	"gofmt": nil, "goimports": nil, "gofumpt": nil, "golangci-lint": nil, "staticcheck": nil,
	"go":   {"vet", "test", "build", "mod"},
	"make": {"test", "tests", "check", "lint", "vet", "build", "verify", "fmt-check", "format-check", "typecheck", "unit", "unit-test"},
	"npm":  {"test", "t", "run", "run-script"}, "yarn": {"test", "lint", "run", "build"}, "pnpm": {"test", "lint", "run", "build"},
	"npx":      {"prettier", "eslint", "tsc", "jest", "vitest", "mocha", "biome", "stylelint"},
	"prettier": nil, "eslint": nil, "tsc": nil, "jest": nil, "vitest": nil, "mocha": nil,
	"pytest": nil, "ruff": nil, "black": nil, "isort": nil, "mypy": nil, "flake8": nil, "tox": nil, "pyright": nil,
	"python": {"-m"}, "python3": {"-m"},
	"cargo": {"test", "fmt", "clippy", "build", "check"}, "rustfmt": nil,
	"mvn": {"test", "verify", "compile", "package"}, "mvnw": nil, "gradle": nil, "gradlew": nil,
	"bundle": {"exec"}, "rspec": nil, "rubocop": nil, "rake": {"test", "spec"},
	"phpunit": nil, "ctest": nil, "shellcheck": nil, "shfmt": nil, "yamllint": nil, "deno": {"test", "lint", "fmt", "check"},
}

// changers are programs that install, publish or reach outside: a step that
// calls one is no check, whatever else it does.
var changers = map[string][]string{
	"apt-get": nil, "apt": nil, "brew": nil, "sudo": nil, "curl": nil, "wget": nil, "docker": nil, "docker-compose": nil, "kubectl": nil, "helm": nil,
	"aws": nil, "gcloud": nil, "az": nil, "gh": nil, "ssh": nil, "scp": nil, "rsync": nil, "terraform": {"apply", "destroy", "init"},
	"go":  {"install", "get", "generate"},
	"npm": {"ci", "install", "i", "publish", "login"}, "yarn": {"install", "add", "publish"}, "pnpm": {"install", "i", "add", "publish"},
	"pip": nil, "pip3": nil, "pipx": nil, "poetry": {"install", "publish"}, "uv": {"sync", "pip", "publish"}, "gem": nil, "bundle": {"install"},
	"cargo": {"install", "publish", "login"}, "mvn": {"deploy", "install"}, "rustup": nil, "goreleaser": nil, "codecov": nil,
	"git": {"push", "commit", "tag", "fetch", "clone", "config"}, "make": {"install", "deploy", "release", "publish", "push"},
}

// listed reports whether a call is in a table.
func listed(table map[string][]string, call []string) bool {
	subs, known := table[path.Base(call[0])]
	if !known {
		return false
	}
	if len(subs) == 0 {
		return true
	}
	for _, w := range call[1:] {
		if slices.Contains(subs, w) {
			return true
		}
		if !strings.HasPrefix(w, "-") {
			return false
		}
	}
	return false
}

// isCheck reports whether a script checks something and changes nothing
// outside.
func isCheck(script string) bool {
	checks := false
	for _, call := range calls(script) {
		if call[0] == "" {
			return false // a program whose name is computed
		}
		if listed(changers, call) {
			return false
		}
		checks = checks || listed(checkers, call)
	}
	return checks
}
