package cli_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/greenwright/greenwright/cmd/internal/cli"
	"github.com/greenwright/greenwright/sandbox/guest"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	if guest.Asked(os.Args) {
		os.Exit(guest.Main())
	}
	testscript.Main(m, map[string]func(){
		"greenwright": func() {
			os.Exit(cli.Main(context.Background(), "v0.0.0-test", os.Args[1:], os.Stdout, os.Stderr))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			// A run's own account passes through the data directory and the work directory of a script.
			data, err := os.MkdirTemp("", "clitest-")
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(data) })
			env.Setenv("GREENWRIGHT_DATA_DIR", data)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			for _, kv := range []string{"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com"} {
				k, v, _ := strings.Cut(kv, "=")
				env.Setenv(k, v)
			}
			return os.Chmod(data, 0o711)
		},
		Condition: func(cond string) (bool, error) {
			if program, ok := strings.CutPrefix(cond, "has:"); ok {
				_, err := exec.LookPath(program)
				if err != nil && strings.Contains(os.Getenv(sandboxtest.RequireVar), program) {
					return false, err
				}
				return err == nil, nil
			}
			return false, nil
		},
	})
}
