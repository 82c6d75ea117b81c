package policy_test

import (
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/policy/script"
	"github.com/greenwright/greenwright/vcs"
)

func TestTier(t *testing.T) {
	write := vcs.PermissionWrite
	cases := []struct {
		name  string
		tiers map[string]string
		work  policy.Work
		want  tool.Tier
		why   string
	}{
		{"fix", nil, policy.Work{Kind: jobs.KindFix, Permission: write}, tool.TierRun, "kind fix"},
		{"question", nil, policy.Work{Kind: jobs.KindAsk, Permission: write}, tool.TierTest, "kind ask"},
		{"red check", nil, policy.Work{Kind: jobs.KindCheckRepair}, tool.TierRun, "kind"},
		{"review", nil, policy.Work{Kind: jobs.KindReviewFollowup}, tool.TierRun, "kind"},
		{"fork", nil, policy.Work{Kind: jobs.KindFix, Permission: vcs.PermissionAdmin, FromFork: true}, tool.TierTest, "fork"},
		{"reader", nil, policy.Work{Kind: jobs.KindFix, Permission: vcs.PermissionRead}, tool.TierTest, "permission read"},
		{"repository narrows", nil, policy.Work{Kind: jobs.KindFix, Permission: write, Repository: "patch"}, tool.TierPatch, "repository"},
		{"repository cannot widen", nil, policy.Work{Kind: jobs.KindAsk, Permission: write, Repository: "run"}, tool.TierTest, "kind ask"},
		{"repository's fault", nil, policy.Work{Kind: jobs.KindFix, Permission: write, Repository: "all"}, tool.TierRead, "repository"},
		{"operator widens questions", map[string]string{"ask": "run"}, policy.Work{Kind: jobs.KindAsk, Permission: write}, tool.TierRun, "kind ask"},
		{"but not on forks", map[string]string{"ask": "run"}, policy.Work{Kind: jobs.KindAsk, Permission: write, FromFork: true}, tool.TierTest, "fork"},
		{"never on forks", map[string]string{"fork": "run"}, policy.Work{Kind: jobs.KindFix, Permission: write, FromFork: true}, tool.TierTest, "fork"},
		{"forks only read", map[string]string{"fork": "read"}, policy.Work{Kind: jobs.KindAsk, Permission: write, FromFork: true}, tool.TierRead, "fork"},
		{"operator's fault", map[string]string{"fix": "root"}, policy.Work{Kind: jobs.KindFix, Permission: write}, tool.TierRead, "kind fix"},
		{"unknown kind", nil, policy.Work{Kind: "new", Permission: write}, tool.TierRead, "kind new"},
	}
	for _, c := range cases {
		got, why := policy.Config{Tiers: c.tiers}.Tier(c.work)
		if got != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %s because %s, want %s because %s", c.name, policy.TierName(got), why, policy.TierName(c.want), c.why)
		}
	}
}

func TestCommandsAreValidated(t *testing.T) {
	c := policy.Config{
		Tiers: map[string]string{"fork": "run", "ask": "root", "frok": "read"}, Ask: script.Ask,
		CommandRules: []script.Rule{{ID: "x", Argv: []string{"make"}, Decision: script.Deny, Reason: "r", Match: []string{"cmake"}}},
	}
	err := c.Validate()
	if err == nil {
		t.Fatal("faults were taken")
	}
	for _, want := range []string{"policy.tiers.fork: run", `policy.tiers.ask: "root"`, "policy.tiers.frok", `policy.ask: "ask"`, `policy.command_rules: rule "x": example "cmake": met is false`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("lacks %q:\n%v", want, err)
		}
	}
	if err := (policy.Config{}).WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
	own := policy.Config{CommandRules: []script.Rule{{ID: "x", Argv: []string{"make", "deploy"}, Decision: script.Deny, Reason: "r", Match: []string{"make deploy"}}}}
	p, err := own.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Decide("make deploy"); d.Effect != script.Deny || d.Rule != "x" {
		t.Errorf("%+v", d)
	}
}
