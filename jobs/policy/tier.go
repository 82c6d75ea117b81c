package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy/script"
	"github.com/greenwright/greenwright/vcs"
)

// tierNames are the tiers in configuration, lowest first.
var tierNames = [...]string{tool.TierRead: "read", tool.TierPatch: "patch", tool.TierTest: "test", tool.TierRun: "run"}

// ParseTier reads a tier's name.
func ParseTier(name string) (tool.Tier, error) {
	if i := slices.Index(tierNames[:], name); i >= 0 {
		return tool.Tier(i), nil
	}
	return tool.TierRead, fmt.Errorf("%q: want read, patch, test or run", name)
}

// TierName is a tier's name in configuration and reports.
func TierName(t tool.Tier) string {
	if t < 0 || int(t) >= len(tierNames) {
		return fmt.Sprintf("tier %d", t)
	}
	return tierNames[t]
}

// The situations that lower the tier of whatever a run is.
const (
	// onFork: the code is a stranger's.
	onFork = "fork"
	// byReader: who asked may not write to the repository.
	byReader = "reader"
)

// defaultTiers hold where the operator says nothing. A question is answered by
// reading and by the project's own tests; a change may take any command.
var defaultTiers = map[string]tool.Tier{
	string(jobs.KindFix): tool.TierRun, string(jobs.KindCheckRepair): tool.TierRun, string(jobs.KindReviewFollowup): tool.TierRun,
	string(jobs.KindAsk): tool.TierTest, onFork: tool.TierTest, byReader: tool.TierTest,
}

// Work is what a run is, as far as it says how much the run may do.
type Work struct {
	Kind jobs.Kind
	// Permission is what who asked has on the repository. For kinds that an
	// event starts it does not count.
	Permission vcs.Permission
	// FromFork: the files are those of a pull request from a fork.
	FromFork bool
	// Repository is the repository's own limit, by name; empty is none.
	Repository string
}

// Tier is how much a run may do, and why. A kind that is not known, or a fault
// in a name, lets it only read.
func (c Config) Tier(w Work) (tool.Tier, string) {
	tier, reason := c.tierOf(string(w.Kind)), "it is a job of kind "+string(w.Kind)
	lower := func(to tool.Tier, why string) {
		if to < tier {
			tier, reason = to, why
		}
	}
	asked := w.Kind == jobs.KindAsk || w.Kind == jobs.KindFix
	if asked && w.Permission < vcs.PermissionWrite {
		lower(c.tierOf(byReader), fmt.Sprintf("who asked has permission %s", w.Permission))
	}
	if w.FromFork {
		lower(min(c.tierOf(onFork), tool.TierTest), "the code is from a fork")
	}
	if w.Repository != "" {
		own, _ := ParseTier(w.Repository) // a fault lets it read
		lower(own, "the repository's own settings say so")
	}
	return tier, reason
}

// tierOf is the tier of one situation.
func (c Config) tierOf(situation string) tool.Tier {
	name, set := c.Tiers[situation]
	if !set {
		return defaultTiers[situation]
	}
	tier, _ := ParseTier(name) // a fault lets it read
	return tier
}

// Scripts is the policy about commands.
func (c Config) Scripts() (*script.Policy, error) {
	p, err := script.New(c.CommandRules...)
	if err != nil {
		return nil, fmt.Errorf("reading the rules about commands: %w", err)
	}
	return p, nil
}

func (c Config) validateCommands() []error {
	var errs []error
	var known []string
	for situation := range defaultTiers {
		known = append(known, situation)
	}
	slices.Sort(known)
	for situation, name := range c.Tiers {
		tier, err := ParseTier(name)
		switch {
		case !slices.Contains(known, situation):
			errs = append(errs, fmt.Errorf("policy.tiers.%s: want some of %s", situation, strings.Join(known, ", ")))
		case err != nil:
			errs = append(errs, fmt.Errorf("policy.tiers.%s: %w", situation, err))
		case situation == onFork && tier > tool.TierTest:
			errs = append(errs, fmt.Errorf("policy.tiers.fork: %s: a stranger's code gets test at the most", name))
		}
	}
	if c.Ask != "" && c.Ask != script.Allow && c.Ask != script.Deny && c.Ask != AskApprove {
		errs = append(errs, fmt.Errorf("policy.ask: %q: want allow, approve or deny", c.Ask))
	}
	if p := c.ProtectedChange; p != "" && p != ProtectedApprove && p != ProtectedRefuse {
		errs = append(errs, fmt.Errorf("policy.protected_change: %q: want approve or refuse", p))
	}
	if err := script.Validate(c.CommandRules); err != nil {
		errs = append(errs, fmt.Errorf("policy.command_rules: %w", err))
	}
	return errs
}
