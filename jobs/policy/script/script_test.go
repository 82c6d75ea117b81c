package script_test

import (
	"testing"

	"github.com/greenwright/greenwright/jobs/policy/script"
)

func TestBuiltinRulesAndTheirExamples(t *testing.T) {
	rules, err := script.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if err := script.Validate(rules); err != nil {
		t.Error(err)
	}
}

func TestTestInvocationsAndTheirExamples(t *testing.T) {
	rules, err := script.TestInvocations()
	if err != nil {
		t.Fatal(err)
	}
	list, err := script.NewAllowlist(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if len(r.Forms) == 0 || len(r.Match) == 0 || len(r.NotMatch) == 0 {
			t.Errorf("%s lacks forms or examples", r.ID)
		}
		for _, m := range r.Match {
			if d := list.Decide(m); d.Effect != script.Allow {
				t.Errorf("%s: %q is %s: %s (%s)", r.ID, m, d.Effect, d.Reason, d.Command)
			}
		}
		for _, m := range r.NotMatch {
			if d := list.Decide(m); d.Effect != script.Deny {
				t.Errorf("%s: %q is %s by another rule", r.ID, m, d.Effect)
			}
		}
	}
}
