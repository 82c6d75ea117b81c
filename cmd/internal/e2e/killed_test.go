package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model/modeltest"
)

// program starts `serve` as a process of its own.
func (w *world) program(listen string) *exec.Cmd {
	w.t.Helper()
	g := w.cfg.Forges.GitHub
	cmd := exec.Command(os.Args[0], "serve")
	cmd.Env = append(os.Environ(), asProgram+"=1", "GREENWRIGHT_LISTEN="+listen, "GREENWRIGHT_INTERNAL_LISTEN=127.0.0.1:0",
		"GREENWRIGHT_DATA_DIR="+w.cfg.DataDir, "GREENWRIGHT_GITHUB_URL="+g.BaseURL, "GREENWRIGHT_GITHUB_APP_ID="+strconv.FormatInt(g.AppID, 10),
		"GREENWRIGHT_GITHUB_PRIVATE_KEY="+g.PrivateKey.Reveal(), "GREENWRIGHT_GITHUB_WEBHOOK_SECRET="+secret,
		"GREENWRIGHT_MODEL=anthropic/scripted", "ANTHROPIC_BASE_URL="+w.model.URL(), "ANTHROPIC_API_KEY=test")
	cmd.Stdout, cmd.Stderr = w.log, w.log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		}
	})
	w.await("serve", func() error {
		res, err := http.Get("http://" + listen + "/healthz")
		if err != nil {
			return err
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("health is %s", res.Status)
		}
		return nil
	})
	return cmd
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestKilledWorker: a process killed in the middle of a run, its redis-server
// left alone, and started again. The job goes on by itself and ends once.
func TestKilledWorker(t *testing.T) {
	t.Parallel() // it mostly waits for the lease of the dead to end
	started, hang := make(chan struct{}), make(chan struct{})
	steps := append([]modeltest.Step{func(modeltest.Request) modeltest.Reply {
		close(started)
		<-hang
		return modeltest.Reply{Text: "nobody listens"}
	}}, repair()...)
	w := prepare(t, project(), steps)
	listen := freePort(t)
	first := w.program(listen)
	w.hub.AddHook(w.hookAt(listen))
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	<-started
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	close(hang)
	killed := time.Now()
	second := w.program(listen)
	w.awaitText(number, "Done and verified")
	t.Logf("went on and ended %s after the kill", time.Since(killed).Round(time.Second))
	if n := len(w.pulls()); n != 1 {
		t.Errorf("%d pull requests", n)
	}
	if c := w.ours(number); len(c) != 1 {
		t.Errorf("comments: %+v", c)
	}
	_ = second.Process.Signal(os.Interrupt)
	if err := second.Wait(); err != nil {
		t.Errorf("the second ended with %v", err)
	}
	runs, err := os.ReadDir(filepath.Join(w.cfg.DataDir, "runs"))
	if err != nil || len(runs) != 0 {
		t.Errorf("left behind: %v, %v", runs, err)
	}
	for _, r := range w.reports() {
		if !strings.HasPrefix(string(r.State), "verified") {
			t.Errorf("archived run ended %s", r.State)
		}
	}
	if t.Failed() {
		t.Logf("log:\n%s", w.log)
	}
}

// TestStopOfADeadWorker: the request of a person ends a job within ten seconds
// though its worker was killed a moment ago and its lease still holds (rule P2).
func TestStopOfADeadWorker(t *testing.T) {
	t.Parallel()
	started, hang := make(chan struct{}), make(chan struct{})
	defer close(hang)
	w := prepare(t, project(), []modeltest.Step{func(modeltest.Request) modeltest.Reply {
		close(started)
		<-hang
		return modeltest.Reply{Text: "nobody listens"}
	}})
	listen := freePort(t)
	first := w.program(listen)
	w.hub.AddHook(w.hookAt(listen))
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	<-started
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	second := w.program(listen)
	if _, err := w.repo.Comment(number, "maintainer", "/agent stop"); err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	w.awaitText(number, "stopped by maintainer")
	took := time.Since(asked)
	t.Logf("ended %s after it was asked", took.Round(100*time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if c := w.ours(number); len(c) != 1 || !strings.Contains(c[0].Body, "Stopped.") {
		t.Errorf("comments: %+v", c)
	}
	_ = second.Process.Signal(os.Interrupt)
	if err := second.Wait(); err != nil {
		t.Errorf("the second ended with %v", err)
	}
}
