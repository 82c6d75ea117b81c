package control_test

import (
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/control"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// approval asks about something in a job.
func (w *world) approval(job jobs.JobID, hash, reason string) jobs.Approval {
	w.Helper()
	a, err := w.store.AskApproval(ctx, jobs.Approval{Job: job, Run: "run", Kind: jobs.ApproveCommand, Hash: hash, Shown: "deploy", Reason: reason, AskedAt: w.now, Expires: w.now.Add(jobs.ApprovalLife)})
	w.must(err)
	return a
}

// decision is what became of an approval of j1, and why.
func (w *world) decision(id string) (jobs.Decision, string, string) {
	w.Helper()
	all, err := w.store.Approvals(ctx, "j1")
	w.must(err)
	for _, a := range all {
		if a.ID == id {
			return a.Decision, a.By.Login, a.Why
		}
	}
	w.Fatalf("no approval %s", id)
	return "", "", ""
}

// waiting is a job that waits for so many approvals.
func waiting(t *testing.T, n int, opts ...func(*control.Config)) *world {
	t.Helper()
	w := newWorld(t, opts...)
	w.has("j1", jobs.Preparing, jobs.Baseline, jobs.Working, jobs.AwaitingApproval)
	for i := range n {
		w.approval("j1", string(rune('a'+i)), "because")
	}
	return w
}

func TestApproveTheOnlyOne(t *testing.T) {
	w := waiting(t, 1)
	for range 2 { // the same answer again is no quarrel
		w.says(w.asks(jobs.VerbApprove, other, "", keyed("k")), false, "Approved: the run goes on.")
	}
	if d, by, _ := w.decision("1"); d != jobs.Approved || by != "other" {
		t.Errorf("decided %q by %q", d, by)
	}
	w.says(w.asks(jobs.VerbApprove, asker, ""), true, "Nothing waits")
	w.says(w.asks(jobs.VerbDeny, other, ""), true, "Nothing waits")
	w.did("enqueue j1", "enqueue j1") // which the queue makes one of
	w.says(w.asks(jobs.VerbDeny, asker, "1"), true, "Approval `1` was approved already by `other`")
}

func TestApproveOneOfSeveral(t *testing.T) {
	w := waiting(t, 3)
	w.says(w.asks(jobs.VerbApprove, other, ""), true, "name one of 1, 2, 3")
	w.says(w.asks(jobs.VerbApprove, other, "9"), true, "There is no approval `9`; waiting: 1, 2, 3")
	w.did()
	w.says(w.asks(jobs.VerbApprove, other, "2"), false, "Approved")
	w.says(w.asks(jobs.VerbDeny, other, "3\ntoo\nrisky"), false, "Denied")
	for id, want := range map[string]jobs.Decision{"1": jobs.Waiting, "2": jobs.Approved, "3": jobs.Denied} {
		if d, _, _ := w.decision(id); d != want {
			t.Errorf("approval %s is %q, want %q", id, d, want)
		}
	}
	if _, _, why := w.decision("3"); why != "too\nrisky" {
		t.Errorf("why is %q", why)
	}
}

// TestApproveNothingElse: who names an approval that is not there approves no
// other in its place.
func TestApproveNothingElse(t *testing.T) {
	w := waiting(t, 1)
	for _, text := range []string{"7", "#7", "7.", "`7`", "(7)"} {
		w.says(w.asks(jobs.VerbApprove, other, text), true, "There is no approval `7`; waiting: 1")
	}
	for _, text := range []string{"7 please", "1 please", "not yet!", "only if the tests pass", "no. 1", "approval 1"} {
		w.says(w.asks(jobs.VerbApprove, other, text), true, "Not approved.", "nothing else")
	}
	if d, _, _ := w.decision("1"); d != jobs.Waiting {
		t.Errorf("decided %q", d)
	}
	w.did()
}

func TestApproveWhereNothingWaits(t *testing.T) {
	w := newWorld(t)
	w.says(w.asks(jobs.VerbApprove, other, ""), true, "Nothing is going on")
	w.working("j1")
	w.says(w.asks(jobs.VerbApprove, other, ""), true, "Nothing waits for an approval")
	w.says(w.asks(jobs.VerbDeny, other, "1"), true, "Nothing waits for an approval")
	w.says(w.asks(jobs.VerbDeny, other, "", named("j1")), true, "Nothing waits for an approval")
	w.did()
}

func TestDenialVetoes(t *testing.T) {
	w := waiting(t, 1)
	w.says(w.asks(jobs.VerbDeny, other, "not on a Friday", named("j1")), false, "Denied: the run goes on.")
	w.says(w.asks(jobs.VerbApprove, asker, "1"), true, "was denied already by `other`")
	if d, by, why := w.decision("1"); d != jobs.Denied || by != "other" || why != "not on a Friday" {
		t.Errorf("decided %q by %q: %q", d, by, why)
	}
}

func TestSecondPerson(t *testing.T) {
	w := waiting(t, 1, func(c *control.Config) { c.SecondPerson = true })
	w.says(w.asks(jobs.VerbApprove, asker, ""), true, "who asked for the job may not approve it")
	w.did()
	renamed := vcs.Actor{ID: asker.ID, Login: "renamed"}
	w.says(w.asks(jobs.VerbApprove, renamed, ""), true, "may not approve it")
	w.says(w.asks(jobs.VerbApprove, other, ""), false, "Approved")
	w.did("enqueue j1")
}

// TestSecondPersonIsNoOperatorTwice: who asked on the command line may not
// approve there either.
func TestSecondPersonIsNoOperatorTwice(t *testing.T) {
	w := waiting(t, 1, func(c *control.Config) { c.SecondPerson = true })
	operator := vcs.Actor{Login: "operator:root", Kind: vcs.KindUser}
	_, err := w.store.UpdateJob(ctx, "j1", func(r *store.JobRecord) error { r.Job.Requester = operator; return nil })
	w.must(err)
	w.says(w.asks(jobs.VerbApprove, operator, ""), true, "may not approve it")
	w.says(w.asks(jobs.VerbApprove, vcs.Actor{Login: "operator:else", Kind: vcs.KindUser}, ""), false, "Approved")
}

func TestSecondPersonMayDeny(t *testing.T) {
	w := waiting(t, 1, func(c *control.Config) { c.SecondPerson = true })
	w.says(w.asks(jobs.VerbDeny, asker, ""), false, "Denied")
}

// TestOperatorSaysItTwice: an operator has no account that tells him from
// others.
func TestOperatorSaysItTwice(t *testing.T) {
	w := waiting(t, 1)
	operator := vcs.Actor{Login: "operator:root", Kind: vcs.KindUser}
	for range 2 {
		w.says(w.asks(jobs.VerbApprove, operator, "1", named("j1")), false, "Approved")
	}
	w.says(w.asks(jobs.VerbApprove, vcs.Actor{Login: "operator:else"}, "1", named("j1")), true, "approved already by `operator:root`")
}

func TestExpired(t *testing.T) {
	w := waiting(t, 1)
	w.now = w.now.Add(jobs.ApprovalLife + time.Second)
	w.says(w.asks(jobs.VerbApprove, other, ""), true, "too old")
	if d, _, _ := w.decision("1"); d != jobs.Expired {
		t.Errorf("decided %q", d)
	}
	w.did("enqueue j1") // which ends it as expired
}

// TestApproveBeforeTheQuestion: an approval that was written before the question
// was asked is none, however late it comes.
func TestApproveBeforeTheQuestion(t *testing.T) {
	w := waiting(t, 1)
	written := func(at time.Time) func(*control.Request) { return func(r *control.Request) { r.Written = at } }
	asked := w.now
	w.now = w.now.Add(time.Hour)
	w.says(w.asks(jobs.VerbApprove, other, "1", written(asked.Add(-2*time.Second))), true, "written before approval `1` was asked for")
	w.did()
	w.says(w.asks(jobs.VerbApprove, other, "`1`.", written(asked)), false, "Approved")
}
