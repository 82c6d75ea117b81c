package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/tool/workspace"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/bwrap"
	"github.com/greenwright/greenwright/sandbox/disk"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/sandbox/runsc"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// What a reader of a trapped workspace may take.
const (
	trapTime   = 30 * time.Second
	trapMemory = 256 << 20
)

// TestWorkspaceTraps: what commands leave in a workspace neither leads the
// worker's own readers out, nor hangs them, nor bursts them, nor is run; plain
// tools are caught by each.
func TestWorkspaceTraps(t *testing.T) {
	sandboxtest.Programs(t, "git")
	var outcomes []sandboxtest.Outcome
	for name, driver := range trapDrivers(t) {
		for _, trap := range sandboxtest.WorkspaceTraps() {
			t.Run(name+"/"+trap.Name, func(t *testing.T) {
				if trap.Slow && (testing.Short() || name != "bwrap") {
					t.Skip("takes seconds")
				}
				r := newTrapRoom(t, driver)
				r.spring(trap)
				if name == "bwrap" {
					outcomes = append(outcomes, sandboxtest.Outcome{Group: sandboxtest.Traps, Name: trap.Name, Verdict: sandboxtest.Blocked})
				}
			})
		}
	}
	if dir := os.Getenv(sandboxtest.RecordVar); dir != "" && !t.Failed() {
		text, err := json.MarshalIndent(outcomes, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "traps.json"), append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// trapDrivers are those that work here.
func trapDrivers(t *testing.T) map[string]sandbox.Driver {
	t.Helper()
	drivers := map[string]sandbox.Driver{}
	guest := sandboxtest.Guest(t)
	b, err := bwrap.New(bwrap.Config{StateDir: sandboxtest.Passable(t), Guest: guest})
	if err == nil {
		_, err = b.Probe(t.Context())
	}
	if err != nil {
		sandboxtest.Missing(t, "bwrap", err)
	}
	drivers["bwrap"] = b
	r, err := runsc.New(runsc.Config{Binary: sandboxtest.Runsc(), StateDir: sandboxtest.Passable(t), Guest: guest})
	if err == nil {
		_, err = r.Probe(t.Context())
	}
	if err != nil {
		t.Logf("without runsc: %v", err)
		return drivers
	}
	drivers["runsc"] = r
	return drivers
}

// trapRoom is a workspace out of a mirror, with a sandbox, and a place outside.
type trapRoom struct {
	t         *testing.T
	out, mark string
	dir       string // the workspace
	box       sandbox.Sandbox
	mirror    *git.Mirror
	ws        *git.Workspace
}

func newTrapRoom(t *testing.T, driver sandbox.Driver) *trapRoom {
	t.Helper()
	base := sandboxtest.Passable(t)
	r := &trapRoom{t: t, out: filepath.Join(base, "out"), dir: filepath.Join(base, "workspace")}
	r.mark = filepath.Join(r.out, "mark")
	r.must(errors.Join(os.MkdirAll(filepath.Join(base, "programs"), 0o755), os.Mkdir(r.out, 0o777), os.Chmod(r.out, 0o777), os.Mkdir(r.dir, 0o700)))
	r.must(os.WriteFile(filepath.Join(r.out, "secret"), []byte("outside the workspace\n"), 0o644))
	r.repository(filepath.Join(r.out, "repo"), map[string]string{"secret": "outside the workspace\n"})
	source := filepath.Join(base, "source")
	r.repository(source, map[string]string{"README.md": "# Read me\n", "src/a.txt": "a\n"})
	attack, err := os.ReadFile(sandboxtest.AttackProgram(t))
	r.must(errors.Join(err, os.WriteFile(filepath.Join(base, "programs", "attack"), attack, 0o755)))
	r.box, err = driver.Start(t.Context(), sandbox.Spec{
		RunID: "traps", Workspace: r.dir, Scratch: filepath.Join(base, "scratch"),
		Mounts: []sandbox.Mount{{Source: filepath.Join(base, "programs"), Target: "/opt/attack"}},
		Env:    []string{"OUT=" + r.out, "MARK=" + r.mark, "ATTACK=/opt/attack/attack"},
	})
	r.must(err)
	t.Cleanup(func() { _ = r.box.Close(context.Background()) })
	r.checkout(filepath.Join(base, "mirrors"), source)
	return r
}

func (r *trapRoom) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// git runs the real one, away from the machine's configuration.
func (r *trapRoom) git(dir string, args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir, cmd.Env = dir, plainEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func plainEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "TERM=dumb",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com"}
}

func (r *trapRoom) repository(dir string, files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		r.must(errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)))
	}
	r.git(dir, "init", "-q")
	r.git(dir, "add", "-A")
	r.git(dir, "commit", "-q", "-m", "first")
}

func (r *trapRoom) checkout(mirrors, source string) {
	r.t.Helper()
	store, err := git.New(git.Config{Dir: mirrors, AllowFile: true}, slog.New(slog.DiscardHandler))
	r.must(err)
	r.mirror, err = store.Mirror(vcs.RepoRef{Forge: vcs.Local, Owner: "o", Name: "r"})
	r.must(err)
	heads, err := r.mirror.Fetch(r.t.Context(), vcs.Remote{URL: source}, "refs/heads/main")
	r.must(err)
	uid, gid := r.box.Owner()
	r.ws, err = r.mirror.Checkout(r.t.Context(), heads["refs/heads/main"], r.dir, git.CheckoutOptions{UID: uid, GID: gid})
	r.must(err)
	r.t.Cleanup(func() { _ = r.ws.Close() })
}

// spring sets the trap, walks into it as the worker does, and then as people
// do without a sandbox.
func (r *trapRoom) spring(trap sandboxtest.Trap) {
	t := r.t
	t.Helper()
	res, err := r.box.Exec(t.Context(), sandbox.Cmd{Script: trap.Script})
	if err != nil || !res.OK() {
		t.Fatalf("the trap cannot be set: %v, %s %d: %s", err, res.Cause, res.ExitCode, res.Output)
	}
	if _, err := os.Lstat(filepath.Join(r.dir, slices.Concat(trap.Paths, []string{"."})[0])); err != nil && strings.Contains(trap.Script, "mkfifo") {
		t.Skip("gVisor keeps FIFOs to itself: the trap does not reach the host")
	}
	if trap.Live != "" {
		if _, err := r.box.Spawn(t.Context(), sandbox.Cmd{Script: trap.Live}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), trapTime)
	defer cancel()
	begun, before := time.Now(), peakMemory(t)
	for range rounds(trap) {
		r.readTree(ctx)
		r.readFiles(ctx, trap.Paths)
		if _, err := disk.Measure(ctx, r.dir, disk.Size{}); err != nil {
			t.Errorf("measuring: %v", err)
		}
	}
	if took := time.Since(begun); took > trapTime {
		t.Errorf("reading took %s", took)
	}
	if grown := peakMemory(t) - before; grown > trapMemory {
		t.Errorf("reading took %d bytes of memory", grown)
	}
	if _, err := os.Lstat(r.mark); err == nil {
		t.Error("something of the trap was run")
	}
	if trap.Live != "" {
		r.control(trap)
	}
	r.close()
	if trap.Live == "" { // gVisor holds files open until then, which keeps programs from being run
		r.control(trap)
	}
	r.remove()
}

// rounds is how often a trap is walked into.
func rounds(trap sandboxtest.Trap) int {
	if trap.Live != "" {
		return 40
	}
	return 1
}

// readTree makes a commit of the workspace and reads it all.
func (r *trapRoom) readTree(ctx context.Context) {
	t := r.t
	t.Helper()
	r.ws.Forget()
	set, err := r.ws.Changes(ctx)
	if err != nil {
		if ctx.Err() != nil || !errors.Is(err, git.ErrTooLarge) {
			t.Errorf("changes: %v", err)
		}
		return
	}
	who := git.Signature{Name: "T", Email: "t@example.com", When: time.Unix(1700000000, 0)}
	commit, err := r.mirror.Commit(ctx, git.CommitSpec{Tree: set.Tree, Parents: []string{r.ws.Base()}, Author: who, Committer: who, Message: "trap"})
	if err != nil {
		t.Errorf("commit: %v", err)
		return
	}
	if _, err := r.ws.Diff(ctx, set); err != nil {
		t.Errorf("diff: %v", err)
	}
	for _, f := range set.Files[:min(len(set.Files), 20)] {
		if f.NewMode == "" || f.NewMode == "120000" { // a link is stored as what it says
			continue
		}
		if b, err := r.mirror.ReadFile(ctx, commit, f.Path, 1<<20); err == nil {
			r.clean("the commit's "+f.Path, b)
		}
		if f.NewMode != "100644" && f.NewMode != "100755" {
			t.Errorf("%s has mode %s", f.Path, f.NewMode)
		}
	}
}

func (r *trapRoom) clean(what string, content []byte) {
	r.t.Helper()
	if strings.Contains(string(content), "outside the workspace") || strings.Contains(string(content), "PATH=") {
		r.t.Errorf("%s is a file of the host: %.60q", what, content)
	}
}

// readFiles reads as the agent's tools do.
func (r *trapRoom) readFiles(ctx context.Context, paths []string) {
	t := r.t
	t.Helper()
	w, err := workspace.Open(r.dir)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = w.Close() }()
	all := slices.Clone(paths)
	err = w.Walk(ctx, ".", true, func(e workspace.Entry) error {
		if len(all) < 500 {
			all = append(all, e.Path)
		}
		return ctx.Err()
	})
	if err != nil && ctx.Err() != nil {
		t.Errorf("walking: %v", err)
	}
	for _, name := range all {
		p, err := w.Resolve(name)
		if err != nil {
			continue
		}
		if f, err := w.Read(p); err == nil {
			r.clean(name, f.Bytes)
		}
	}
}

// control walks into the trap as people do, with the run's account.
func (r *trapRoom) control(trap sandboxtest.Trap) {
	t := r.t
	t.Helper()
	uid, gid := r.box.Owner()
	ctx, cancel := context.WithTimeout(t.Context(), trapTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", trap.Naive)
	cmd.Dir, cmd.Env = r.dir, append(plainEnv(), "OUT="+r.out, "MARK="+r.mark)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	out, _ := cmd.CombinedOutput()
	if _, err := os.Lstat(r.mark); err != nil && !strings.Contains(string(out), "GOT") {
		t.Errorf("control: plain tools are not caught either: %s", out)
	}
}

func (r *trapRoom) close() {
	r.t.Helper()
	begun := time.Now()
	if err := r.box.Close(r.t.Context()); err != nil {
		r.t.Errorf("closing: %v", err)
	}
	if took := time.Since(begun); took > trapTime {
		r.t.Errorf("closing took %s", took)
	}
}

// remove clears everything.
func (r *trapRoom) remove() {
	t := r.t
	t.Helper()
	begun := time.Now()
	if err := layout.RemoveTree(r.dir); err != nil {
		t.Errorf("removing: %v", err)
	}
	if _, err := os.Lstat(r.dir); err == nil {
		t.Error("the workspace is still there")
	}
	if took := time.Since(begun); took > trapTime {
		t.Errorf("removing took %s", took)
	}
	if b, err := os.ReadFile(filepath.Join(r.out, "secret")); err != nil || len(b) == 0 {
		t.Errorf("what is outside was touched: %v", err)
	}
}

// peakMemory is the most that this process has held (proc_pid_status(5)).
func peakMemory(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}
