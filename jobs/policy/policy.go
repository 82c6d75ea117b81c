// Package policy decides who may start what (rules A1–A5, L2), how much a run
// may do, and which commands pass. It is pure functions over a [Config] and a
// [Request], a [Work] or a command; it imports no client and asks
// nobody. Callers find out the facts (the permission, from the forge) and
// carry out the decision.
//
// Invariants: the zero [Decision] denies; what is not known denies; every
// decision has a reason that can be shown and logged.
package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/policy/script"
	"github.com/greenwright/greenwright/vcs"
)

// AutoRepair says on whose pull requests a red check starts a repair without
// being asked. Greenwright's own are always repaired.
type AutoRepair string

// The settings of auto_repair.
const (
	AutoRepairOff AutoRepair = "off" // only Greenwright's own pull requests
	AutoRepairAll AutoRepair = "all" // everybody's, forks excepted
)

// ProtectedChange says what becomes of a change of a protected path.
type ProtectedChange string

// The settings of protected_change.
const (
	ProtectedApprove ProtectedChange = "approve" // a person is asked
	ProtectedRefuse  ProtectedChange = "refuse"  // it is kept, and not published
)

// AskApprove is the setting of ask by which a person is asked.
const AskApprove script.Effect = "approve"

// Config is the operator's policy. Zero fields take the defaults of
// WithDefaults.
type Config struct {
	// Repositories that may be worked on, as globs over "owner/name".
	Repositories []string `yaml:"repositories"`
	// Commands maps a verb to the permission it needs; write by default.
	Commands map[jobs.Verb]string `yaml:"commands"`
	// ForbidOptions are options that nobody may give: model, base, dry-run,
	// no-verify.
	ForbidOptions []string `yaml:"forbid_options"`
	// Bots that may ask for work, by exact login or numeric id.
	Bots []string `yaml:"bots"`
	// AutoRepair is off or all.
	AutoRepair AutoRepair `yaml:"auto_repair"`
	// ReplyToStrangers answers people without rights with one line; by
	// default they get no answer at all.
	ReplyToStrangers bool `yaml:"reply_to_strangers"`
	// JobsPerHour is how many jobs a thread may have in an hour (rule L3).
	JobsPerHour int `yaml:"jobs_per_hour"`
	// RepairRounds is how often in a row red checks of a pull request are
	// repaired before a person must ask (rules L3, C7).
	RepairRounds int `yaml:"repair_rounds"`
	// ProtectedPaths may not be changed by what is published, as globs, unless
	// ProtectedChange lets a person approve it.
	ProtectedPaths []string `yaml:"protected_paths"`
	// ProtectedChange is approve, which asks a person, or refuse.
	ProtectedChange ProtectedChange `yaml:"protected_change"`
	// SecondPerson makes the approval of whoever asked for the job not count.
	SecondPerson bool `yaml:"second_person"`
	// Tiers says how much a run may do, by what it is: fix, ask, check_repair,
	// review_followup, and fork and reader, which only lower the others.
	Tiers map[string]string `yaml:"tiers"`
	// Ask is what becomes of commands about which a rule says ask: allow runs
	// them, recorded; approve asks a person; deny does not run them.
	Ask script.Effect `yaml:"ask"`
	// CommandRules are rules about commands besides the built-in ones; one
	// with a built-in one's id takes its place.
	CommandRules []script.Rule `yaml:"command_rules"`
}

// The breakers of rule L3.
const (
	defaultJobsPerHour  = 6
	defaultRepairRounds = 3
)

// WithDefaults fills in what is zero.
func (c Config) WithDefaults() Config {
	if len(c.Repositories) == 0 {
		c.Repositories = []string{"**"}
	}
	if c.AutoRepair == "" {
		c.AutoRepair = AutoRepairOff
	}
	if c.JobsPerHour == 0 {
		c.JobsPerHour = defaultJobsPerHour
	}
	if c.RepairRounds == 0 {
		c.RepairRounds = defaultRepairRounds
	}
	if c.Ask == "" {
		c.Ask = script.Allow
	}
	if c.ProtectedChange == "" {
		c.ProtectedChange = ProtectedApprove
	}
	if c.ProtectedPaths == nil {
		c.ProtectedPaths = []string{".github/workflows/**", ".github/actions/**", ".gitlab-ci.yml", ".greenwright.yml"}
	}
	return c
}

// Validate names every fault of the policy.
func (c Config) Validate() error {
	var errs []error
	for _, g := range slices.Concat(c.Repositories, c.ProtectedPaths) {
		if !doublestar.ValidatePattern(g) {
			errs = append(errs, fmt.Errorf("policy: %q is not a valid pattern", g))
		}
	}
	for verb, level := range c.Commands {
		if !command.Known(verb) {
			errs = append(errs, fmt.Errorf("policy.commands.%s: there is no such command", verb))
		}
		if p, err := vcs.ParsePermission(level); err != nil {
			errs = append(errs, fmt.Errorf("policy.commands.%s: %w", verb, err))
		} else if p == vcs.PermissionNone {
			errs = append(errs, fmt.Errorf("policy.commands.%s: none would let everybody in; the lowest is read", verb))
		}
	}
	for _, o := range c.ForbidOptions {
		if !slices.Contains(optionNames, o) {
			errs = append(errs, fmt.Errorf("policy.forbid_options: %q: want some of %s", o, strings.Join(optionNames, ", ")))
		}
	}
	if c.AutoRepair != "" && c.AutoRepair != AutoRepairOff && c.AutoRepair != AutoRepairAll {
		errs = append(errs, fmt.Errorf("policy.auto_repair: %q: want off or all", c.AutoRepair))
	}
	if c.JobsPerHour < 0 || c.RepairRounds < 0 {
		errs = append(errs, errors.New("policy.jobs_per_hour and policy.repair_rounds: must not be negative"))
	}
	return errors.Join(append(errs, c.validateCommands()...)...)
}

// Request is what somebody wants, with the facts that decide.
type Request struct {
	Actor      vcs.Actor
	Self       vcs.Actor
	Repo       vcs.RepoRef
	Verb       jobs.Verb
	Options    jobs.Options
	Permission vcs.Permission
	// PermissionKnown is false when the forge could not be asked.
	PermissionKnown bool
	// FromFork: the work would be on a pull request whose head is a fork's.
	FromFork bool
	// Hidden: it is asked where not everybody may read who reads the repository.
	Hidden bool
}

// Effect is what a decision says.
type Effect string

// The effects. The zero value denies.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Decision is the outcome with its reason.
type Decision struct {
	Effect Effect
	Reason string
	// Reply is whether the person should be told in the thread.
	Reply bool
}

// Allowed reports whether the decision lets pass.
func (d Decision) Allowed() bool { return d.Effect == Allow }

func deny(format string, args ...any) Decision {
	return Decision{Effect: Deny, Reason: fmt.Sprintf(format, args...)}
}

// Admit decides what can be decided without asking the forge: own events,
// other bots, repositories.
func (c Config) Admit(actor, self vcs.Actor, repo vcs.RepoRef) Decision {
	switch {
	case actor.Is(self):
		return deny("own event")
	case actor.ID == 0:
		return deny("unknown actor")
	case actor.Kind != vcs.KindUser && !c.namesBot(actor):
		return deny("bot %s is not named in policy.bots", actor.Login)
	}
	return c.AdmitRepo(repo)
}

// AdmitRepo decides whether the repository may be worked on at all.
func (c Config) AdmitRepo(repo vcs.RepoRef) Decision {
	for _, g := range c.Repositories {
		if ok, err := doublestar.Match(strings.ToLower(g), strings.ToLower(repo.FullName())); err == nil && ok {
			return Decision{Effect: Allow, Reason: "repository is enabled by " + strconv.Quote(g)}
		}
	}
	d := deny("repository %s is not enabled in policy.repositories", repo.FullName())
	d.Reply = true
	return d
}

// namesBot: by exact login or by id; never by a suffix.
func (c Config) namesBot(actor vcs.Actor) bool {
	return slices.Contains(c.Bots, actor.Login) || slices.Contains(c.Bots, strconv.FormatInt(actor.ID, 10))
}

// Decide is the one function that says who may do what.
func (c Config) Decide(r Request) Decision {
	if d := c.Admit(r.Actor, r.Self, r.Repo); !d.Allowed() {
		return d
	}
	need := c.needs(r.Verb)
	switch {
	case !r.PermissionKnown:
		d := deny("the permission of %s could not be asked for", r.Actor.Login)
		d.Reply = true
		return d
	case r.Permission < need:
		d := deny("%s has permission %s; %s needs %s", r.Actor.Login, r.Permission, r.Verb, need)
		d.Reply = c.ReplyToStrangers
		return d
	case r.FromFork:
		d := deny("%ss from forks are closed to %s", r.Repo.Forge.Words().PullRequest, r.Verb)
		d.Reply = true
		return d
	}
	if r.Hidden && r.Verb.Publishes() {
		d := deny("this is not for everybody who can read %s, and a %s would be: ask in a thread that is not confidential, in a comment that is not internal", r.Repo.FullName(), r.Repo.Forge.Words().PullRequest)
		d.Reply = true
		return d
	}
	if o := c.forbidden(r.Options); o != "" {
		d := deny("the operator has forbidden the option --%s", o)
		d.Reply = true
		return d
	}
	return Decision{Effect: Allow, Reason: fmt.Sprintf("%s has permission %s; %s needs %s", r.Actor.Login, r.Permission, r.Verb, need)}
}

// optionNames are the options of commands (rule T3).
var optionNames = []string{"model", "base", "dry-run", "no-verify"}

// forbidden is the first given option that nobody may give, empty for none.
func (c Config) forbidden(o jobs.Options) string {
	given := map[string]bool{"model": o.Model != "", "base": o.Base != "", "dry-run": o.DryRun, "no-verify": o.NoVerify}
	for _, name := range c.ForbidOptions {
		if given[name] {
			return name
		}
	}
	return ""
}

// needs is the permission that a verb takes; write where nothing is said.
func (c Config) needs(v jobs.Verb) vcs.Permission {
	if level, ok := c.Commands[v]; ok {
		if p, err := vcs.ParsePermission(level); err == nil && p > vcs.PermissionNone {
			return p
		}
		return vcs.PermissionAdmin // a fault in the policy opens nothing
	}
	return vcs.PermissionWrite
}

// Protected reports whether a changed path may not be published.
func (c Config) Protected(path string) bool {
	for _, g := range c.ProtectedPaths {
		if ok, err := doublestar.Match(g, path); err != nil || ok {
			return true
		}
	}
	return false
}

// Approves reports whether a change of a protected path may be approved.
func (c Config) Approves() bool { return c.ProtectedChange == ProtectedApprove }
