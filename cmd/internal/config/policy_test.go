package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/policy/script"
)

// loadPolicy loads a configuration with a policy.
func loadPolicy(t *testing.T, text string) (config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "greenwright.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GREENWRIGHT_DATA_DIR", t.TempDir())
	return config.Load(file)
}

func TestPolicyOfCommandsAndTiers(t *testing.T) {
	c, err := loadPolicy(t, `
policy:
  ask: deny
  tiers: {check_repair: test}
  command_rules:
    - id: no-release
      argv: [make, "release|publish"]
      decision: deny
      reason: releases are made by hand
      match: ["make release"]
      not_match: ["make test"]
`)
	if err != nil {
		t.Fatal(err)
	}
	if tier, _ := c.Policy.Tier(policy.Work{Kind: jobs.KindCheckRepair}); tier != tool.TierTest {
		t.Errorf("tier %d", tier)
	}
	p, err := c.Policy.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Decide("make publish"); c.Policy.Ask != script.Deny || !d.Denied() || d.Rule != "no-release" {
		t.Errorf("ask %s, decision %+v", c.Policy.Ask, d)
	}
	if c, err := loadPolicy(t, "policy: {bots: []}"); err != nil || c.Policy.Ask != script.Allow {
		t.Errorf("default of ask: %q, %v", c.Policy.Ask, err)
	}
}

func TestFaultsOfThePolicyOfCommands(t *testing.T) {
	for text, want := range map[string]string{
		"policy: {ask: perhaps}":       `policy.ask: "perhaps"`,
		"policy: {tiers: {fix: root}}": `policy.tiers.fix: "root": want read, patch, test or run`,
		"policy: {command_rules: [{id: x, argv: [a], decision: deny, reason: r, match: [b]}]}": `example "b": met is false`,
		"policy: {command_rules: [{id: x, argc: [a]}]}":                                        `did you mean "argv"`,
	} {
		if _, err := loadPolicy(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
