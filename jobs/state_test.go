package jobs_test

import (
	"errors"
	"testing"

	"github.com/greenwright/greenwright/jobs"
)

// allowed is the whole table: what may follow each state. Every pair that is
// not here is refused.
var allowed = map[jobs.State][]jobs.State{
	jobs.Queued:           {jobs.Paused},
	jobs.Preparing:        {jobs.Baseline, jobs.Working, jobs.NoChange, jobs.Paused},
	jobs.Baseline:         {jobs.Working, jobs.NoChange, jobs.Paused},
	jobs.Working:          {jobs.Verifying, jobs.Answered, jobs.NoChange, jobs.Paused, jobs.AwaitingApproval},
	jobs.Verifying:        {jobs.Publishing, jobs.Working, jobs.NoChange, jobs.Paused, jobs.AwaitingApproval},
	jobs.Publishing:       {jobs.Verified, jobs.Unverified, jobs.Paused},
	jobs.Paused:           {jobs.Baseline, jobs.Working, jobs.Verifying, jobs.Publishing},
	jobs.AwaitingApproval: {jobs.Working, jobs.Verifying, jobs.Publishing, jobs.Paused, jobs.Lapsed},
}

var (
	going = []jobs.State{jobs.Queued, jobs.Preparing, jobs.Baseline, jobs.Working, jobs.Verifying, jobs.Publishing, jobs.Paused, jobs.AwaitingApproval}
	ends  = []jobs.State{jobs.Verified, jobs.Unverified, jobs.Answered, jobs.NoChange, jobs.NeedsHuman, jobs.Refused, jobs.Canceled, jobs.Failed, jobs.Lapsed}
	// always can follow every state that is not final: an end, or the beginning
	// where what was done is lost.
	always = []jobs.State{jobs.NeedsHuman, jobs.Refused, jobs.Canceled, jobs.Failed, jobs.Preparing}
)

func TestEveryPairOfStates(t *testing.T) {
	want := map[[2]jobs.State]bool{}
	for _, from := range going {
		for _, to := range append(allowed[from], always...) {
			want[[2]jobs.State{from, to}] = true
		}
	}
	all := append(append([]jobs.State{}, going...), ends...)
	for _, from := range all {
		for _, to := range append(all, "", "bogus") {
			err := from.To(to)
			if (err == nil) != want[[2]jobs.State{from, to}] {
				t.Errorf("%q.To(%q) = %v, want allowed %v", from, to, err, want[[2]jobs.State{from, to}])
			}
			if err != nil && !errors.Is(err, jobs.ErrTransition) {
				t.Errorf("%q.To(%q) = %v, want jobs.ErrTransition", from, to, err)
			}
		}
	}
}

func TestFinal(t *testing.T) {
	for _, s := range going {
		if s.Final() {
			t.Errorf("%s is final", s)
		}
	}
	for _, s := range ends {
		if !s.Final() {
			t.Errorf("%s is not final", s)
		}
	}
	if jobs.State("").Final() {
		t.Error("the zero state is final")
	}
}

func TestKindChanges(t *testing.T) {
	for kind, want := range map[jobs.Kind]bool{jobs.KindFix: true, jobs.KindAsk: false, jobs.KindCheckRepair: true, jobs.KindReviewFollowup: true} {
		if kind.Changes() != want {
			t.Errorf("%s.Changes() = %v", kind, kind.Changes())
		}
	}
}
