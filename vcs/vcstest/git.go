package vcstest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// gitTimeout bounds one git command on a small repository.
const gitTimeout = 30 * time.Second

// gitCommand runs git without the configuration of the machine.
type gitCommand struct {
	path    string
	backend string
	env     []string
}

func newGitCommand() (gitCommand, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return gitCommand{}, fmt.Errorf("the simulated forge needs git: %w", err)
	}
	g := gitCommand{path: path, env: []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "PATH=" + os.Getenv("PATH"),
	}}
	dir, err := g.run("", nil, "--exec-path")
	if err != nil {
		return gitCommand{}, err
	}
	g.backend = filepath.Join(dir, "git-http-backend")
	if _, err := os.Stat(g.backend); err != nil {
		return gitCommand{}, fmt.Errorf("the simulated forge needs git-http-backend: %w", err)
	}
	return g, nil
}

// run runs git in dir and returns its trimmed output.
func (g gitCommand) run(dir string, stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, g.env, bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// updateHook refuses, in GitHub's words, pushes to the branches listed beside
// it, and changes of workflow files by an App without the permission.
const updateHook = `#!/bin/sh
if grep -qxF "$1" "$GIT_DIR/protected" 2>/dev/null; then
	echo "error: GH006: Protected branch update failed for $1." >&2
	exit 1
fi
case "$3" in *[!0]*) ;; *) exit 0 ;; esac
if [ -n "$NO_WORKFLOWS" ]; then
	case "$2" in *[!0]*) old=$2 ;; *) old=$(git merge-base HEAD "$3") ;; esac
	if [ -n "$(git diff --name-only "$old" "$3" -- .github/workflows)" ]; then
		echo "refusing to allow a GitHub App to create or update workflow without \"workflows\" permission" >&2
		exit 1
	fi
fi
`

// initBare makes a bare repository that is served as GitHub serves one.
func (g gitCommand) initBare(dir, branch string) error {
	if _, err := g.run("", nil, "init", "--quiet", "--bare", "--initial-branch", branch, dir); err != nil {
		return err
	}
	for _, kv := range [][2]string{
		{"http.receivepack", "true"}, {"uploadpack.allowFilter", "true"}, {"uploadpack.allowAnySHA1InWant", "true"},
		{"gc.auto", "0"}, {"receive.autogc", "false"},
	} {
		if _, err := g.run(dir, nil, "config", kv[0], kv[1]); err != nil {
			return err
		}
	}
	hook := filepath.Join(dir, "hooks", "update")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		return fmt.Errorf("making the hooks' directory: %w", err)
	}
	if err := os.WriteFile(hook, []byte(updateHook), 0o755); err != nil {
		return fmt.Errorf("writing the update hook: %w", err)
	}
	return nil
}

// commit writes files on top of the branch's tip, or of from when the branch
// is new, and returns the commit. A nil content deletes the file.
func (g gitCommand) commit(dir, branch, from string, files map[string]*string, message, author string, at time.Time) (string, error) {
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter %s <%s@users.noreply.example> %d +0000\ndata %d\n%s\n",
		branch, author, author, at.Unix(), len(message), message)
	if from != "" {
		fmt.Fprintf(&in, "from %s\n", from)
	}
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		if files[p] == nil {
			fmt.Fprintf(&in, "D %s\n", p)
			continue
		}
		fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", mode(*files[p]), p, len(*files[p]), *files[p])
	}
	in.WriteString("done\n")
	if _, err := g.run(dir, in.Bytes(), "fast-import", "--quiet", "--done", "--force"); err != nil {
		return "", err
	}
	return g.run(dir, nil, "rev-parse", "refs/heads/"+branch)
}

// mode makes scripts executable.
func mode(content string) string {
	if strings.HasPrefix(content, "#!") {
		return "100755"
	}
	return "100644"
}

// branches are the tips by name.
func (g gitCommand) branches(dir string) (map[string]string, error) {
	out, err := g.run(dir, nil, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
	if err != nil {
		return nil, err
	}
	tips := map[string]string{}
	for line := range strings.Lines(out) {
		name, sha, _ := strings.Cut(strings.TrimSpace(line), " ")
		tips[name] = sha
	}
	return tips, nil
}
