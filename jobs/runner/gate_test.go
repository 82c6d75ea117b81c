package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/process"
	"github.com/greenwright/greenwright/agent/tool/shell"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/policy/script"
	"github.com/greenwright/greenwright/jobs/runner"
)

// recorder is an executor that notes what it was asked to run.
type recorder struct{ ran []string }

func (r *recorder) Execute(_ context.Context, c tool.Command) (tool.Execution, error) {
	r.ran = append(r.ran, c.Script)
	return tool.Execution{Cause: tool.CauseExited}, nil
}

func (r *recorder) Spawn(context.Context, tool.Command) (tool.Process, error) {
	return nil, errors.New("the test starts none")
}

// forgetful is a tool of the patch tier that is told what is forgotten.
type forgetful struct {
	tool.Tool
	forgot *int
}

func (f forgetful) Forget(json.RawMessage) { *f.forgot++ }

type gateRig struct {
	ex      *recorder
	gate    *runner.Gate
	tools   *tool.Registry
	decided []runner.Decided
	forgot  int
}

func newGateRig(t *testing.T, tier tool.Tier) *gateRig {
	t.Helper()
	own := []string{"./ci.sh --all", "sudo ./odd-check"}
	scripts, err := script.New()
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := script.NewAllowlist(own)
	if err != nil {
		t.Fatal(err)
	}
	r := &gateRig{ex: &recorder{}}
	r.gate = &runner.Gate{
		Tier: tier, Why: "the test says so", Scripts: scripts, Allowed: allowed, Own: own, Ask: script.Allow,
		Record: func(_ context.Context, d runner.Decided) error {
			r.decided = append(r.decided, d)
			return nil
		},
	}
	edit := tool.Typed(tool.Spec{Name: "edit", Tier: tool.TierPatch, Effect: tool.EffectWrite}, func(context.Context, struct{}) tool.Result { return tool.OKText("edited") })
	tools := append([]tool.Tool{forgetful{edit, &r.forgot}, shell.New(r.ex)}, process.New(r.ex).Tools()...)
	if r.tools, err = tool.NewRegistry(r.gate.Wrap(tools)...); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *gateRig) run(t *testing.T, name, command string) tool.Result {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return r.tools.Run(t.Context(), tool.Call{Name: name, Args: args})
}

func TestGateOffersWhatTheTierAllows(t *testing.T) {
	for tier, want := range map[tool.Tier][]string{
		tool.TierRead:  nil,
		tool.TierPatch: {"edit"},
		tool.TierTest:  {"edit", "run_command", "read_process"},
		tool.TierRun:   {"edit", "run_command", "start_process", "read_process", "stop_process"},
	} {
		var got []string
		for _, s := range newGateRig(t, tier).tools.Specs() {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("tier %d offers %v, want %v", tier, got, want)
		}
	}
}

func TestGateAtTierRun(t *testing.T) {
	r := newGateRig(t, tool.TierRun)
	if res := r.run(t, shell.Name, "go test ./..."); !res.OK || len(r.decided) != 0 {
		t.Errorf("plain command: %s, recorded %+v", res.Text, r.decided)
	}
	if res := r.run(t, shell.Name, "sudo make install"); !res.OK || len(r.decided) != 1 || r.decided[0].Rule != "privilege" || r.decided[0].Code != tool.CodeOK {
		t.Errorf("ask: %s, recorded %+v", res.Text, r.decided)
	}
	for _, name := range []string{shell.Name, process.StartName} {
		res := r.run(t, name, "make && git push")
		if res.Code != tool.CodePolicyDenied || !strings.HasPrefix(res.Text, "POLICY_DENIED: git push: nothing can be pushed") {
			t.Errorf("%s: %s", name, res.Text)
		}
	}
	if len(r.decided) != 3 || r.decided[2].Tool != process.StartName || r.decided[2].Code != tool.CodePolicyDenied {
		t.Errorf("recorded %+v", r.decided)
	}
	if want := []string{"go test ./...", "sudo make install"}; !slices.Equal(r.ex.ran, want) {
		t.Errorf("ran %q", r.ex.ran)
	}
}

func TestGateWithAskSetToDeny(t *testing.T) {
	r := newGateRig(t, tool.TierRun)
	for _, ask := range []script.Effect{script.Deny, ""} {
		r.gate.Ask = ask
		if res := r.run(t, shell.Name, "sudo ls"); res.Code != tool.CodePolicyDenied {
			t.Errorf("ask %q: %s", ask, res.Text)
		}
	}
	if len(r.ex.ran) != 0 {
		t.Errorf("ran %q", r.ex.ran)
	}
}

func TestGateAtTierTest(t *testing.T) {
	r := newGateRig(t, tool.TierTest)
	for _, ok := range []string{"go test ./... | tail -5", "./ci.sh  --all", "sudo ./odd-check"} {
		if res := r.run(t, shell.Name, ok); !res.OK {
			t.Errorf("%q: %s", ok, res.Text)
		}
	}
	for _, no := range []string{"./evil", "go test ./... && rm -rf /", "python -c 'x'", "curl x"} {
		res := r.run(t, shell.Name, no)
		if res.Code != tool.CodeTierForbidden {
			t.Errorf("%q: %s", no, res.Text)
		}
		for _, want := range []string{"tier test", "the test says so", "./ci.sh --all", "go test"} {
			if !strings.Contains(res.Text, want) {
				t.Errorf("%q: %q lacks %q", no, res.Text, want)
			}
		}
	}
	if len(r.ex.ran) != 3 || len(r.decided) != 4+1 { // the own command that a rule asks about
		t.Errorf("ran %q, recorded %d", r.ex.ran, len(r.decided))
	}
}

func TestGateFailsClosed(t *testing.T) {
	r := newGateRig(t, tool.TierRun)
	r.gate.Record = func(context.Context, runner.Decided) error { return errors.New("journal is full") }
	if res := r.run(t, shell.Name, "sudo ls"); res.Code != tool.CodeInternal || len(r.ex.ran) != 0 {
		t.Errorf("%s, ran %q", res.Text, r.ex.ran)
	}
}

func TestGatePassesOnWhatIsForgotten(t *testing.T) {
	r := newGateRig(t, tool.TierPatch)
	r.tools.Forget("edit", json.RawMessage(`{}`))
	if r.forgot != 1 {
		t.Errorf("forgot %d times", r.forgot)
	}
}

// TestGateAsksAboutTheWholeCommand: what a person is shown, and what the answer
// is bound to, is all that would run, and not the part about which a rule asks.
func TestGateAsksAboutTheWholeCommand(t *testing.T) {
	r := newGateRig(t, tool.TierRun)
	r.gate.Ask = policy.AskApprove
	var asked runner.Decided
	r.gate.MayRun = func(_ context.Context, d runner.Decided) (tool.Result, bool) {
		asked = d
		return tool.Failf(tool.CodeApprovalNeeded, "wait"), false
	}
	const command = "echo one >> notes; sudo ls " + "some/long/path"
	if res := r.run(t, shell.Name, command); res.Code != tool.CodeApprovalNeeded || len(r.ex.ran) != 0 {
		t.Errorf("%s, ran %q", res.Text, r.ex.ran)
	}
	if asked.Script != command {
		t.Errorf("asked about %q, want %q", asked.Script, command)
	}
}
