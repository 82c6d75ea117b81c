package sandboxtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// What a line of output says.
var (
	gotLine     = regexp.MustCompile(`(?m)^GOT\b`)
	missingLine = regexp.MustCompile(`(?m)^MISSING\b.*`)
	saidLine    = regexp.MustCompile(`(?m)^(GOT|MISSING|REFUSED)\b`)
)

// badCall is the exit code of a program that a filter killed (128 + SIGSYS).
const badCall = 159

// tryLimit bounds an attempt, endLimit what may pass between a limit and the
// end of a command (issue: within 5 s) and until the limit is reached.
const (
	tryLimit = 60 * time.Second
	endLimit = 9 * time.Second
)

// attempts tries all of a list.
func (s *suite) attempts(t *testing.T, list []Attempt) []Outcome {
	st := newStage(t, s.driver)
	mounts := func(sp *sandbox.Spec) {
		sp.Mounts = []sandbox.Mount{{Source: st.mount, Target: insideMount}}
	}
	closed := s.start(t, mounts)
	st.uid, st.gid = closed.Owner()
	gateway := st.gateway(t)
	open := s.start(t, func(sp *sandbox.Spec) {
		mounts(sp)
		sp.Gateway = gateway
	})
	st.inside = append(st.inside, "A_DEAD="+dead(gateway))
	results := make(chan Outcome, len(list))
	t.Run("Try", func(t *testing.T) {
		for _, a := range list {
			t.Run(string(a.Group)+"/"+a.Name, func(t *testing.T) {
				box := closed
				switch {
				case a.Group == Resources:
					t.Parallel()
					box = s.start(t, func(sp *sandbox.Spec) {
						mounts(sp)
						sp.Limits = a.Limits
					})
				case a.Gateway:
					box = open
				}
				results <- s.try(t, st, box, a)
			})
		}
	})
	close(results)
	var all []Outcome
	for r := range results {
		all = append(all, r)
	}
	return all
}

// try runs an attempt inside and without a sandbox, and judges.
func (s *suite) try(t *testing.T, st *stage, box fixture, a Attempt) Outcome {
	t.Helper()
	out := Outcome{Group: a.Group, Name: a.Name, Verdict: Blocked}
	possible, detail := st.control(t, a)
	if !possible {
		out.Verdict, out.Detail = Unprovable, detail
	}
	harm := s.harm(t, st, box, a)
	why, expected := a.Open[s.driver.Name()]
	if slices.Contains(a.NeededBy, s.driver.Name()) && !s.hard(a.Needs) {
		why, expected = unheld(a.Needs), true
	}
	switch {
	case harm != "" && !expected:
		t.Errorf("%s: not blocked: %s", a.Tries, harm)
		out.Verdict, out.Detail = Open, harm
	case harm != "":
		t.Logf("not blocked, as known: %s", why)
		out.Verdict, out.Detail = Open, why
	case expected && possible && a.Needs == "":
		t.Errorf("%s is blocked, but is said not to be: %s", a.Tries, why)
	}
	return out
}

// beats says that a file is still being written.
func beats(file string) string {
	before, err := os.Stat(file)
	if err != nil {
		return "it did not even begin"
	}
	time.Sleep(200 * time.Millisecond)
	after, err := os.Stat(file)
	if err == nil && after.ModTime().After(before.ModTime()) {
		return fmt.Sprintf("it lives on: %s, then %s", before.ModTime(), after.ModTime())
	}
	_ = os.Remove(file)
	return ""
}

// hard reports whether the kernel holds a limit here.
func (s *suite) hard(limit string) bool {
	return slices.ContainsFunc(s.report.Limits, func(e sandbox.Enforcement) bool { return e.Limit == limit && e.Hard })
}

// harm runs it inside and says what it got, if anything.
func (s *suite) harm(t *testing.T, st *stage, box fixture, a Attempt) string {
	t.Helper()
	v := st.victim(t, st.uid, st.gid)
	patience := 10 * time.Millisecond
	if a.Hits {
		patience = 200 * time.Millisecond
	}
	env := append(slices.Clone(st.inside), "A_VICTIM="+strconv.Itoa(v.cmd.Process.Pid))
	if a.Daemon {
		awaitOutput(t, begin(t, box, sandbox.Cmd{Script: "echo up; exec sleep 60"}), "up\n")
	}
	res := box.exec(t, sandbox.Cmd{Script: a.Script, Env: env, Network: a.Network, Timeout: a.Timeout})
	text := res.Output.String()
	t.Logf("inside: %s %d after %s: %.300s", res.Cause, res.ExitCode, res.Duration.Round(time.Millisecond), text)
	switch {
	case !v.alive(patience):
		return "a process of the host was ended"
	case a.Hits:
		return ""
	case a.Daemon:
		return beats(filepath.Join(box.ws, "alive"))
	case len(a.Want) > 0:
		if !slices.Contains(a.Want, res.Cause) || res.Duration > endLimit {
			return fmt.Sprintf("ended by %q after %s; want %v", res.Cause, res.Duration.Round(time.Millisecond), a.Want)
		}
		return ""
	case res.Cause == sandbox.Exited && strings.Contains(a.Script, "$ATTACK") && !saidLine.MatchString(text) && res.ExitCode != badCall:
		t.Errorf("it cannot have run: exit %d, %.300s", res.ExitCode, text)
	case res.Cause != sandbox.Exited:
		return "the sandbox was brought down: " + string(res.Cause)
	case gotLine.MatchString(text):
		return strings.TrimSpace(text)
	}
	return ""
}

// control runs it without a sandbox. It ends the test when the attempt does
// not succeed there, unless this machine cannot show it.
func (st *stage) control(t *testing.T, a Attempt) (possible bool, detail string) {
	t.Helper()
	uid, gid := st.uid, st.gid
	switch {
	case a.Control != Ordinary && os.Geteuid() != 0:
		return false, "needs a control by " + string(a.Control)
	case a.Control == Root:
		uid, gid = 0, 0
	case a.Control == Apart:
		uid, gid = apartUID, apartUID
	}
	v := st.victim(t, max(uid, st.uid), max(gid, st.gid))
	if a.Group == Processes { // it may be on its way to its end
		defer st.drop(max(uid, st.uid))
	}
	text := st.outsideRun(t, a, uid, gid, v.cmd.Process.Pid)
	t.Logf("control as %s: %.300s", a.Control, text)
	if a.Daemon {
		if !strings.Contains(text, "lives on") {
			t.Fatalf("control: %s ended with its command", a.Name)
		}
		return true, ""
	}
	if a.Hits {
		if v.alive(endLimit) {
			t.Fatalf("control: %s did not end a process: %s", a.Name, text)
		}
		return true, ""
	}
	if gotLine.MatchString(text) {
		return true, ""
	}
	if line := missingLine.FindString(text); line != "" {
		return false, strings.TrimPrefix(line, "MISSING ")
	}
	t.Fatalf("control: it does not succeed without a sandbox either: %s", text)
	return false, ""
}

// outsideRun runs a script on the host, in a directory of its own.
func (st *stage) outsideRun(t *testing.T, a Attempt, uid, gid, victim int) string {
	t.Helper()
	dir, err := os.MkdirTemp(st.dir, "control-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), tryLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", a.Prelude+"\n"+a.Script)
	cmd.Dir = dir
	cmd.SysProcAttr = as(uid, gid)
	cmd.Env = append(os.Environ(), st.outside...)
	cmd.Env = append(cmd.Env, "INIT="+strconv.Itoa(victim), "A_VICTIM="+strconv.Itoa(victim), "HOME="+dir)
	cmd.ExtraFiles = st.given[:2]
	file := filepath.Join(st.dir, "output-"+filepath.Base(dir))
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = f, f
	_ = cmd.Run()
	defer func() { _ = f.Close() }()
	if a.Daemon {
		return beats(filepath.Join(dir, "alive")) // it ends when its directory is gone
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return tail(t, f)
}

// tail is the end of a file: endless output is among the attempts.
func tail(t *testing.T, f *os.File) string {
	t.Helper()
	const most = 4096
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, min(st.Size(), most))
	if _, err := f.ReadAt(buf, st.Size()-int64(len(buf))); err != nil && len(buf) > 0 {
		t.Fatal(err)
	}
	_ = os.Remove(f.Name())
	return string(buf)
}
