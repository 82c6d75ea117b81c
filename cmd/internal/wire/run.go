package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
	"github.com/greenwright/greenwright/vcs/local"
)

// RunOptions are one job on a checkout.
type RunOptions struct {
	Repo   string // a directory, or an URL that is cloned first
	Task   string
	Verify []string
	Model  string
	// Watch is shown every change of status.
	Watch func(progress.Status)
	// Say prints one line for a person: a clone, a warning.
	Say func(format string, args ...any)
}

// RunResult is how it ended.
type RunResult struct {
	runner.Result
	Repo    string // the checkout
	Journal string // path of the journal's file
}

// Run does one job on a checkout, without a forge and without Redis.
func Run(ctx context.Context, cfg config.Config, opts RunOptions, version string, log *slog.Logger) (RunResult, error) {
	d, err := makeDirs(cfg.DataDir)
	if err != nil {
		return RunResult{}, err
	}
	modules := hostModules(ctx)
	places, err := makeReachable(d.sandbox, modules)
	if err != nil {
		return RunResult{}, err
	}
	defer leavePlaces(places)
	dir, err := checkout(ctx, opts)
	if err != nil {
		return RunResult{}, err
	}
	forge, err := local.Open(dir, local.WithTask(firstLine(opts.Task), opts.Task))
	if err != nil {
		return RunResult{}, err
	}
	warnDirty(ctx, forge.Root(), opts.Say)
	box, err := boxDriver(ctx, cfg.Sandbox, d.sandbox, log)
	if err != nil {
		return RunResult{}, err
	}
	cfg.Sandbox = mountModules(cfg.Sandbox, modules, places, forge.Root(), opts.Say)
	m, err := newModels(cfg, nil, log)
	if err != nil {
		return RunResult{}, err
	}
	archive, err := openArchive(ctx, cfg, log)
	if err != nil {
		return RunResult{}, err
	}
	defer archive.close()
	run, err := makeRunner(cfg, d, archive.Archive, box, map[vcs.ForgeName]vcs.Forge{vcs.Local: forge}, m, version, log, time.Now)
	if err != nil {
		return RunResult{}, err
	}
	if err := run.Sweep(); err != nil {
		opts.Say("note: what dead runs left could not be removed: %v", err)
	}
	res, err := runLocal(ctx, run, d, forge, opts)
	if copied := archive.keepFile(ctx, res.Journal); copied != nil {
		opts.Say("note: the journal is in %s alone: %v", res.Journal, copied)
	}
	return res, err
}

func runLocal(ctx context.Context, run *runner.Runner, d dirs, forge *local.Forge, opts RunOptions) (RunResult, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return RunResult{}, fmt.Errorf("making a run's id: %w", err)
	}
	runID := jobs.RunID(id.String())
	folder := journal.Folder{Dir: d.artifacts}
	file, err := folder.NewFileSink(runID)
	if err != nil {
		return RunResult{}, err
	}
	defer func() { _ = file.Close() }()
	job := jobs.Job{
		ID: jobs.JobID(strings.ToLower(rand.Text()[:12])), Kind: jobs.KindFix, Thread: forge.Thread(), Requester: forge.Operator(), Permission: vcs.PermissionAdmin,
		Command: jobs.Command{Verb: jobs.VerbFix, Text: opts.Task, Options: jobs.Options{Model: opts.Model}}, CreatedAt: time.Now(),
	}
	res, err := run.Run(ctx, job, runner.Control{Run: runID, Journal: file, Watch: opts.Watch, Verify: opts.Verify})
	return RunResult{Result: res, Repo: forge.Root(), Journal: folder.Path(runID)}, err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// scpLike is git's short form of an ssh address, user@host:path.
var scpLike = regexp.MustCompile(`^[\w.-]+@[\w.-]+:`)

// checkout is the directory to work on; an URL is cloned into the working
// directory first, with the operator's own git and credentials.
func checkout(ctx context.Context, opts RunOptions) (string, error) {
	if !strings.Contains(opts.Repo, "://") && !scpLike.MatchString(opts.Repo) {
		if st, err := os.Stat(opts.Repo); err != nil || !st.IsDir() {
			return "", fmt.Errorf("%w: --repo %q is neither a directory nor an URL", vcs.ErrInvalid, opts.Repo)
		}
		return opts.Repo, nil
	}
	name := strings.TrimSuffix(filepath.Base(strings.TrimRight(opts.Repo, "/")), ".git")
	if name == "" || name == "." || name == ".." || strings.HasPrefix(name, "-") {
		return "", fmt.Errorf("%w: --repo %q names no repository", vcs.ErrInvalid, opts.Repo)
	}
	if _, err := os.Stat(name); err == nil {
		return "", fmt.Errorf("%w: ./%s is there already: use --repo ./%s, or remove it", vcs.ErrInvalid, name, name)
	}
	opts.Say("cloning %s into ./%s", opts.Repo, name)
	cmd := exec.CommandContext(ctx, "git", "clone", "--quiet", "--", opts.Repo, name)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cloning %s: %w", opts.Repo, err)
	}
	return name, nil
}

// warnDirty says that uncommitted changes are not part of the job.
func warnDirty(ctx context.Context, root string, say func(string, ...any)) {
	paths, err := git.DirtyPaths(ctx, root)
	if errors.Is(err, git.ErrEmpty) || err != nil || len(paths) == 0 {
		return
	}
	say("note: the job works on the last commit; %d uncommitted changes are left out (first: %s)", len(paths), paths[0])
}

// moduleCache is where the host's Go module downloads appear inside.
const moduleCache = "/cache/go-mod"

// hostModules is where downloaded modules are on this machine, empty if
// nowhere.
func hostModules(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMODCACHE")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "GOTOOLCHAIN=local") // nothing of the checkout decides
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "cache", "download")
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return ""
	}
	return dir
}

// mountModules lets Go inside use the modules that were downloaded on this
// machine, read-only, since there is no network. It is the operator's own
// cache and the operator's own code.
func mountModules(cfg config.Sandbox, dir string, places map[string]string, root string, say func(string, ...any)) config.Sandbox {
	source := dir
	if place, bound := places[dir]; bound {
		source = place
	}
	if dir == "" {
		return cfg
	}
	if !passable(source) {
		if _, err := os.Stat(filepath.Join(root, "go.sum")); err == nil { // else nothing is missed
			say("note: the accounts that commands run under cannot reach the Go module cache %s: modules count as missing; set GOMODCACHE to a place where every account may pass, or run as another user than root", dir)
		}
		return cfg
	}
	cfg.Mounts = append(cfg.Mounts, sandbox.Mount{Source: source, Target: moduleCache})
	cfg.Env = append(cfg.Env, "GOPROXY=file://"+moduleCache, "GOSUMDB=off", "GOFLAGS=-modcacherw")
	return cfg
}
