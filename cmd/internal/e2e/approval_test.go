package e2e_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/vcs"
)

func asks(c *config.Config) { c.Policy.Ask = policy.AskApprove }

// tagging is a command that a rule asks about, with a line that would be a
// command if it were read as one.
const tagging = "git tag v9 && echo tagged >> tagged.txt\n# @somebody\n/agent stop || true"

// tagged mends project and runs the command first.
func tagged() []modeltest.Reply {
	return append([]modeltest.Reply{calls(command(tagging))}, mended()...)
}

// TestApproval: a command about which a rule asks waits for a person, shown in
// full; meanwhile nobody holds the run, and another goes by. The answer of
// somebody entitled lets it go on, in the same run.
func TestApproval(t *testing.T) { inhabitEach(t, approval) }

func approval(t *testing.T, inhabit housing) {
	w := inhabit(t, project(), turns(map[string][]modeltest.Reply{
		"Adding is wrong": tagged(),
		"Why is it so":    {calls(does("finish", map[string]any{"summary": "x", "answer": "It subtracts."}))},
	}), asks, func(c *config.Config) { c.Jobs.Concurrency = 1 })
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	shown := w.awaitText(number, "approve 1")
	want := tagging
	if w.on == vcs.GitLab { // where a line that begins with a slash would be a quick action
		want = strings.ReplaceAll(tagging, "\n/", "\n /")
	}
	if !strings.Contains(shown.Body, want) || !strings.Contains(shown.Body, "deny 1") {
		t.Errorf("the command is not shown in full:\n%s", shown.Body)
	}
	w.noCommand(shown.Body)
	other, _ := w.issue("Why is it so", "", "/agent ask why?")
	w.awaitText(other, "It subtracts.")

	w.says(number, "contributor", "/agent approve")
	w.says(number, "contributor", "/agent approve 1")
	w.await("both denials", func() error {
		if n := strings.Count(w.log.String(), "actor=contributor effect=deny"); n != 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	w.says(number, "maintainer", "/agent status")
	w.awaitText(number, "Approval `1` waits until")
	w.says(number, "maintainer", "/agent approve")
	w.awaitText(number, "Done and verified")
	r := w.oneOf(number, jobs.Verified)
	if len(r.Approvals) != 1 || r.Approvals[0].Decision != jobs.Approved || r.Approvals[0].By.Login != "maintainer" || r.Approvals[0].Shown != tagging {
		t.Errorf("approvals: %+v", r.Approvals)
	}
	if got := w.file(w.pulls()[0].Head.Name, "tagged.txt"); strings.TrimSpace(got) != "tagged" {
		t.Errorf("the command has left %q: want it run once", got)
	}
	if r.Calls["run_command"] != 2 {
		t.Errorf("calls: %v", r.Calls)
	}
}

// TestDenialIsHeard: the model is told by whom and why, and the run goes on. A
// denial cannot be approved away.
func TestDenialIsHeard(t *testing.T) { inhabitEach(t, denialIsHeard) }

func denialIsHeard(t *testing.T, inhabit housing) {
	p := pauseAt(t, turns(map[string][]modeltest.Reply{"Adding is wrong": tagged()}), 1)
	w := inhabit(t, project(), p.steps, asks)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "approve 1")
	w.says(number, "maintainer", "/agent deny 1 no network please")
	<-p.asked
	w.says(number, "maintainer", "/agent approve 1")
	w.awaitText(number, "Approval `1` was denied already by `maintainer`")
	p.release()
	w.awaitText(number, "Done and verified")
	r := w.one(jobs.Verified)
	if len(r.Approvals) != 1 || r.Approvals[0].Decision != jobs.Denied {
		t.Errorf("approvals: %+v", r.Approvals)
	}
	if got := strings.Join(w.results("Adding is wrong"), "\n"); !strings.Contains(got, "denied by maintainer: no network please") {
		t.Errorf("the model was told:\n%s", got)
	}
	if text, err := w.repo.File(w.pulls()[0].Head.Name, "tagged.txt"); err == nil {
		t.Errorf("the denied command has run: %q", text)
	}
}

// TestApprovalHoldsForExactlyThat: neither another command nor the same one on
// other files passes under an answer.
func TestApprovalHoldsForExactlyThat(t *testing.T) { inhabitEach(t, approvalHoldsForExactlyThat) }

func approvalHoldsForExactlyThat(t *testing.T, inhabit housing) {
	one, two := "git tag one && touch one.txt", "git tag two && touch two.txt"
	w := inhabit(t, project(), turns(map[string][]modeltest.Reply{"Adding is wrong": append([]modeltest.Reply{
		calls(command(one)), calls(command(two)), calls(command(one)),
	}, mended()...)}), asks)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	for i, c := range []string{one, two, one} {
		id := fmt.Sprint(i + 1)
		if shown := w.awaitText(number, "approve "+id); !strings.Contains(shown.Body, c) {
			t.Errorf("approval %s shows:\n%s", id, shown.Body)
		}
		w.says(number, "maintainer", "/agent approve "+id)
	}
	w.awaitText(number, "Done and verified")
	if r := w.one(jobs.Verified); len(r.Approvals) != 3 || r.Resumed != 3 {
		t.Errorf("%d approvals, taken up %d times", len(r.Approvals), r.Resumed)
	}
}

// TestManyApprovals: how often a run is suspended and goes on is not how often
// its worker was lost.
func TestManyApprovals(t *testing.T) {
	t.Parallel()
	const n = 8
	var script []modeltest.Reply
	for i := range n {
		script = append(script, calls(command(fmt.Sprintf("git tag v%d", i))))
	}
	w := inhabit(t, project(), turns(map[string][]modeltest.Reply{"Adding is wrong": append(script, mended()...)}), asks)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	for i := range n {
		w.awaitText(number, fmt.Sprintf("approve %d`", i+1))
		w.says(number, "maintainer", fmt.Sprintf("/agent approve %d", i+1))
	}
	w.awaitText(number, "Done and verified")
	w.one(jobs.Verified)
}

// TestSecondPerson: who asked for the job may not approve it.
func TestSecondPerson(t *testing.T) {
	t.Parallel()
	w := inhabit(t, project(), turns(map[string][]modeltest.Reply{"Adding is wrong": tagged()}), asks, func(c *config.Config) { c.Policy.SecondPerson = true })
	if err := w.repo.SetPermission("contributor", vcs.PermissionWrite); err != nil {
		t.Fatal(err)
	}
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "approve 1")
	w.says(number, "maintainer", "/agent approve 1")
	w.awaitText(number, "policy.second_person")
	w.says(number, "contributor", "/agent approve 1")
	w.awaitText(number, "Done and verified")
	if r := w.one(jobs.Verified); r.Approvals[0].By.Login != "contributor" {
		t.Errorf("approved by %s", r.Approvals[0].By.Login)
	}
}

// TestApprovalExpires: nobody answers; the job ends, says so, and frees its
// thread.
func TestApprovalExpires(t *testing.T) {
	t.Parallel()
	w := settle(t, project(), turns(map[string][]modeltest.Reply{"Adding is wrong": tagged()}), asks)
	var ahead atomic.Int64
	w.begin(wire.RoleAll, wire.WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "approve 1")
	ahead.Store(int64(jobs.ApprovalLife + time.Minute))
	last := w.awaitText(number, "nobody answered approval 1 in time")
	if !strings.Contains(last.Body, "journal head") {
		t.Errorf("the last word:\n%s", last.Body)
	}
	w.one(jobs.Lapsed)
	w.says(number, "maintainer", "/agent approve 1")
	w.awaitText(number, "Nothing is going on in this thread")
}

// TestStopWhileSuspended: within ten seconds (rule P2), and the thread is free.
func TestStopWhileSuspended(t *testing.T) {
	t.Parallel()
	w := inhabit(t, project(), turns(map[string][]modeltest.Reply{"Adding is wrong": tagged()}), asks)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "approve 1")
	begun := time.Now()
	w.says(number, "maintainer", "/agent stop")
	last := w.awaitText(number, "Stopped")
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("stop took %s", took)
	}
	if strings.Contains(last.Body, "approve 1") {
		t.Errorf("an answer is still asked for:\n%s", last.Body)
	}
	w.one(jobs.Canceled)
}

// TestAnswerWhileNoWorkerIsUp: who waits is held by nobody, and who answers
// need not wait for a worker.
func TestAnswerWhileNoWorkerIsUp(t *testing.T) {
	t.Parallel()
	c := newChaos(t, turns(map[string][]modeltest.Reply{"Adding is wrong": tagged()}))
	w := &inhabited{c.world}
	scripted(&w.cfg)
	asks(&w.cfg)
	w.cfg.Redis.URL = c.secret()
	w.begin(wire.RoleReceiver)
	stop := w.begin(wire.RoleWorker)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "approve 1")
	stop()
	w.says(number, "maintainer", "/agent approve 1")
	if err := w.hub.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.cfg.Artifacts, w.cfg.DataDir = w.cfg.DataDir+"/artifacts", w.cfg.DataDir+"-2" // another machine, the same bucket
	w.begin(wire.RoleWorker)
	w.awaitText(number, "Done and verified")
	if got := w.file(w.pulls()[0].Head.Name, "tagged.txt"); strings.TrimSpace(got) != "tagged" {
		t.Errorf("the command has left %q", got)
	}
}

// TestProtectedChange: a change of what policy protects is shown, and
// published only if a person approves it.
func TestProtectedChange(t *testing.T) { inhabitEach(t, protectedChange) }

func protectedChange(t *testing.T, inhabit housing) {
	for _, answer := range []string{"approve", "deny"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			script := append([]modeltest.Reply{calls(write(".github/actions/new/action.yml", "on: push\n/agent stop\n"))}, mended()...)
			w := inhabit(t, project(), turns(map[string][]modeltest.Reply{"Adding is wrong": script}))
			number, _ := w.issue("Adding is wrong", "", "/agent fix")
			shown := w.awaitText(number, "approve 1")
			if !strings.Contains(shown.Body, "+on: push") || !strings.Contains(shown.Body, "+add() { echo $(($1 + $2)); }") {
				t.Errorf("the change is not shown in full:\n%s", shown.Body)
			}
			w.noCommand(shown.Body)
			if n := len(w.pulls()); n != 0 {
				t.Errorf("%d pull requests before anybody has answered", n)
			}
			why := map[string]string{"deny": " because I say so"}[answer]
			w.says(number, "maintainer", "/agent "+answer+" 1"+why)
			if answer == "approve" {
				w.awaitText(number, "Done and verified")
				w.file(w.pulls()[0].Head.Name, ".github/actions/new/action.yml")
				return
			}
			last := w.awaitText(number, "denied by maintainer: because I say so")
			if r := w.one(jobs.NeedsHuman); !strings.Contains(last.Body, "change.patch of run "+string(r.Run)) || len(w.pulls()) != 0 {
				t.Errorf("the last word, with %d pull requests:\n%s", len(w.pulls()), last.Body)
			}
		})
	}
}
