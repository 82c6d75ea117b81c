package cli_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// TestRunsScripts runs the scripts of `greenwright runs` over a real Redis at
// the place of the one that `serve` starts. Their own commands are records,
// made by hand: job, approval, lease, journal, github.
func TestRunsScripts(t *testing.T) {
	sandboxtest.Programs(t, "redis-server")
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "runs"), RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"redis": startRedis, "job": seedJob, "approval": seedApproval, "lease": seedLease, "journal": seedJournal, "github": startGitHub,
		},
		Setup: func(env *testscript.Env) error {
			data, err := os.MkdirTemp("", "runs-") // short enough for a socket
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(data) })
			env.Setenv("GREENWRIGHT_DATA_DIR", data)
			env.Setenv("USER", "tester")
			return nil
		},
	})
}

func must(ts *testscript.TestScript, err error) {
	if err != nil {
		ts.Fatalf("%v", err)
	}
}

func socketOf(ts *testscript.TestScript) string {
	return filepath.Join(ts.Getenv("GREENWRIGHT_DATA_DIR"), "redis", "redis.sock")
}

func startRedis(ts *testscript.TestScript, _ bool, _ []string) {
	socket := socketOf(ts)
	must(ts, os.MkdirAll(filepath.Dir(socket), 0o700))
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", filepath.Dir(socket), "--save", "", "--appendonly", "no")
	must(ts, cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); ; <-time.After(5 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("redis-server does not answer: %v", err)
		}
	}
}

// withStore opens the records.
func withStore(ts *testscript.TestScript, use func(ctx context.Context, s *store.Store)) {
	s, err := store.Open(vcs.Secret("unix://"+socketOf(ts)), time.Now)
	must(ts, err)
	defer func() { _ = s.Close() }()
	use(context.Background(), s)
}

func threadOf(number int) vcs.Thread {
	return vcs.Thread{Repo: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, Number: number}
}

// seedJob makes a job: job ID NUMBER STATE...
func seedJob(ts *testscript.TestScript, _ bool, args []string) {
	number, err := strconv.Atoi(args[1])
	must(ts, err)
	id := jobs.JobID(args[0])
	withStore(ts, func(ctx context.Context, s *store.Store) {
		must(ts, s.CreateJob(ctx, jobs.Job{
			ID: id, Kind: jobs.KindFix, Thread: threadOf(number), Command: jobs.Command{Verb: jobs.VerbFix, Text: "mend it"},
			Requester: vcs.Actor{ID: 2, Login: "somebody", Kind: vcs.KindUser}, Permission: vcs.PermissionWrite, CreatedAt: time.Now(),
		}))
		_, err := s.ClaimThread(ctx, threadOf(number), id, "")
		must(ts, err)
		for _, state := range args[2:] {
			_, err := s.MoveJob(ctx, id, jobs.State(state), "now \x1b[31m"+state, func(r *store.JobRecord) { r.Run = jobs.RunID("run-" + args[0]) })
			must(ts, err)
			if jobs.State(state).Final() {
				must(ts, s.ReleaseThread(ctx, threadOf(number), id))
			}
		}
	})
}

// seedApproval asks for one: approval JOB COMMAND.
func seedApproval(ts *testscript.TestScript, _ bool, args []string) {
	withStore(ts, func(ctx context.Context, s *store.Store) {
		_, err := s.AskApproval(ctx, jobs.Approval{
			Job: jobs.JobID(args[0]), Run: jobs.RunID("run-" + args[0]), Kind: jobs.ApproveCommand, Hash: args[1], Shown: args[1], Reason: "it deploys",
			AskedAt: time.Now(), Expires: time.Now().Add(jobs.ApprovalLife),
		})
		must(ts, err)
	})
}

// seedLease lets a worker have a job: lease JOB.
func seedLease(ts *testscript.TestScript, _ bool, args []string) {
	withStore(ts, func(ctx context.Context, s *store.Store) {
		_, err := s.Acquire(ctx, jobs.JobID(args[0]), "worker-1", time.Minute)
		must(ts, err)
	})
}

// seedJournal writes records of a job's run: journal JOB NOTE..., the note
// "end" for its end.
func seedJournal(ts *testscript.TestScript, _ bool, args []string) {
	withStore(ts, func(ctx context.Context, s *store.Store) {
		run := jobs.RunID("run-" + args[0])
		lease, err := s.Acquire(ctx, jobs.JobID(args[0]), "writer", time.Minute)
		must(ts, err)
		w := journal.NewWriter(run, lease.Journal(run), time.Now, nil)
		for _, text := range args[1:] {
			if text == "end" {
				must(ts, w.Append(ctx, journal.TypeEnded, journal.Ended{State: jobs.Failed, Cause: "over"}))
				continue
			}
			must(ts, w.Append(ctx, journal.TypeNote, journal.Note{Kind: journal.NoteNotice, Text: text + " \x1b]0;title\x07"}))
		}
		must(ts, lease.Release(ctx))
	})
}

// startGitHub simulates one with a repository and two issues, and sets the
// environment for it.
func startGitHub(ts *testscript.TestScript, _ bool, _ []string) {
	srv, err := vcstest.NewGitHub(vcstest.Config{Dir: filepath.Join(ts.Getenv("GREENWRIGHT_DATA_DIR"), "github")})
	must(ts, err)
	ts.Defer(func() {
		for _, f := range srv.Faults() {
			ts.Logf("the simulated GitHub found: %s", f)
		}
		_ = srv.Close()
	})
	repo, err := srv.CreateRepo("acme", "widgets", map[string]string{"README": "hello\n"})
	must(ts, err)
	srv.CreateUser("somebody")
	must(ts, repo.SetPermission("somebody", vcs.PermissionWrite))
	for range 4 {
		_, err := repo.OpenIssue("somebody", "It breaks", "Please help.")
		must(ts, err)
	}
	key := filepath.Join(ts.Getenv("GREENWRIGHT_DATA_DIR"), "key.pem")
	must(ts, os.WriteFile(key, []byte(srv.AppKeyPEM().Reveal()), 0o600))
	ts.Setenv("GREENWRIGHT_GITHUB_URL", srv.URL())
	ts.Setenv("GREENWRIGHT_GITHUB_APP_ID", strconv.FormatInt(srv.AppID(), 10))
	ts.Setenv("GREENWRIGHT_GITHUB_PRIVATE_KEY_FILE", key)
}

// TestFollow: a live journal is printed as it grows, each record once, until
// the job has ended.
func TestFollow(t *testing.T) {
	sandboxtest.Programs(t, "redis-server")
	t.Chdir(t.TempDir())
	s, url := realStore(t)
	t.Setenv("GREENWRIGHT_REDIS_URL", url)
	t.Setenv("GREENWRIGHT_DATA_DIR", t.TempDir())
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(s.CreateJob(ctx, jobs.Job{ID: "j1", Kind: jobs.KindFix, Thread: threadOf(7)}))
	_, err := s.UpdateJob(ctx, "j1", func(r *store.JobRecord) error { r.Run = "run-j1"; return nil })
	check(err)
	lease, err := s.Acquire(ctx, "j1", "w", time.Minute)
	check(err)
	w := journal.NewWriter("run-j1", lease.Journal("run-j1"), time.Now, nil)
	check(w.Append(ctx, journal.TypeNote, journal.Note{Kind: journal.NoteNotice, Text: "one"}))
	wrote := make(chan error, 1)
	go func() {
		<-time.After(1500 * time.Millisecond)
		err := w.Append(ctx, journal.TypeNote, journal.Note{Kind: journal.NoteNotice, Text: "two"})
		if err == nil {
			err = w.Append(ctx, journal.TypeEnded, journal.Ended{State: jobs.Failed, Cause: "over"})
		}
		if err == nil {
			_, err = s.MoveJob(ctx, "j1", jobs.Failed, "over", nil)
		}
		wrote <- err
	}()
	code, out, errOut := greenwright("runs", "journal", "j1", "--follow")
	check(<-wrote)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 3 || !strings.HasSuffix(lines[0], "notice: one") || !strings.HasSuffix(lines[1], "notice: two") || !strings.HasSuffix(lines[2], "end: failed: over") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
}

// realStore starts a private redis-server.
func realStore(t *testing.T) (*store.Store, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = os.RemoveAll(dir) })
	s, err := store.Open(vcs.Secret("unix://"+socket), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for end := time.Now().Add(10 * time.Second); ; <-time.After(5 * time.Millisecond) {
		if _, err := s.Live(t.Context()); err == nil {
			return s, "unix://" + socket
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// freeAddr is an address on which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
