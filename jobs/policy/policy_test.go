package policy_test

import (
	"strings"
	"testing"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/vcs"
)

func TestDecide(t *testing.T) {
	self := vcs.Actor{ID: 1, Login: "greenwright[bot]", Kind: vcs.KindBot}
	person := vcs.Actor{ID: 2, Login: "somebody", Kind: vcs.KindUser}
	bot := vcs.Actor{ID: 3, Login: "renovate[bot]", Kind: vcs.KindBot}
	repo := vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}
	open := policy.Config{Commands: map[jobs.Verb]string{jobs.VerbAsk: "read", jobs.VerbStatus: "bogus"}}.WithDefaults()
	ok := policy.Request{Actor: person, Self: self, Repo: repo, Verb: jobs.VerbFix, Permission: vcs.PermissionWrite, PermissionKnown: true}
	with := func(change func(*policy.Request)) policy.Request {
		r := ok
		change(&r)
		return r
	}
	cases := []struct {
		name   string
		config policy.Config
		req    policy.Request
		want   policy.Effect
		reason string
	}{
		{"write may fix", open, ok, policy.Allow, "write"},
		{"admin may fix", open, with(func(r *policy.Request) { r.Permission = vcs.PermissionAdmin }), policy.Allow, ""},
		{"triage may not fix", open, with(func(r *policy.Request) { r.Permission = vcs.PermissionTriage }), policy.Deny, "needs write"},
		{"triage may ask where opened", open, with(func(r *policy.Request) { r.Permission, r.Verb = vcs.PermissionTriage, jobs.VerbAsk }), policy.Allow, ""},
		{"a fault in the policy opens nothing", open, with(func(r *policy.Request) { r.Verb = jobs.VerbStatus }), policy.Deny, "needs admin"},
		{"unknown permission denies", open, with(func(r *policy.Request) { r.PermissionKnown, r.Permission = false, vcs.PermissionAdmin }), policy.Deny, "could not be asked"},
		{"own event", open, with(func(r *policy.Request) { r.Actor = self }), policy.Deny, "own event"},
		{"renamed self is still self", open, with(func(r *policy.Request) { r.Actor = vcs.Actor{ID: 1, Login: "other", Kind: vcs.KindUser} }), policy.Deny, "own event"},
		{"other bot", open, with(func(r *policy.Request) { r.Actor, r.Permission = bot, vcs.PermissionAdmin }), policy.Deny, "policy.bots"},
		{"named bot", policy.Config{Bots: []string{"renovate[bot]"}}.WithDefaults(), with(func(r *policy.Request) { r.Actor = bot }), policy.Allow, ""},
		{"bot named by id", policy.Config{Bots: []string{"3"}}.WithDefaults(), with(func(r *policy.Request) { r.Actor = bot }), policy.Allow, ""},
		{"suffix is no name", policy.Config{Bots: []string{"[bot]"}}.WithDefaults(), with(func(r *policy.Request) { r.Actor = bot }), policy.Deny, "policy.bots"},
		{"kind not known is a bot", open, with(func(r *policy.Request) { r.Actor.Kind = "" }), policy.Deny, "policy.bots"},
		{"nobody", open, with(func(r *policy.Request) { r.Actor = vcs.Actor{Kind: vcs.KindUser} }), policy.Deny, "unknown"},
		{"repository by glob", policy.Config{Repositories: []string{"acme/*"}}.WithDefaults(), ok, policy.Allow, ""},
		{"repository in other case", policy.Config{Repositories: []string{"ACME/Widgets"}}.WithDefaults(), ok, policy.Allow, ""},
		{"repository not enabled", policy.Config{Repositories: []string{"acme/other"}}.WithDefaults(), ok, policy.Deny, "policy.repositories"},
		{"hidden from some", open, with(func(r *policy.Request) { r.Hidden = true }), policy.Deny, "not for everybody"},
		{"question hidden from some", open, with(func(r *policy.Request) { r.Hidden, r.Verb = true, jobs.VerbAsk }), policy.Allow, ""},
		{"fork", open, with(func(r *policy.Request) { r.FromFork = true }), policy.Deny, "forks"},
		{"forbidden option", policy.Config{ForbidOptions: []string{"model", "no-verify"}}.WithDefaults(), with(func(r *policy.Request) { r.Options.NoVerify = true }), policy.Deny, "--no-verify"},
		{"other option", policy.Config{ForbidOptions: []string{"model"}}.WithDefaults(), with(func(r *policy.Request) { r.Options.NoVerify = true }), policy.Allow, ""},
		{"zero config without defaults", policy.Config{}, ok, policy.Deny, "not enabled"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := c.config.Decide(c.req)
			if got.Effect != c.want || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("got %+v, want %s because of %q", got, c.want, c.reason)
			}
		})
	}
	if (policy.Decision{}).Allowed() {
		t.Error("the zero decision allows")
	}
}

func TestValidate(t *testing.T) {
	err := policy.Config{
		Repositories: []string{"[x"}, Commands: map[jobs.Verb]string{"fix": "owner", "ask": "none"}, AutoRepair: "some", JobsPerHour: -1, ForbidOptions: []string{"force"},
	}.Validate()
	for _, part := range []string{"[x", "policy.commands.fix", "policy.commands.ask", "auto_repair", "jobs_per_hour", "forbid_options"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
	if err := (policy.Config{}).WithDefaults().Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
}

func TestProtected(t *testing.T) {
	c := policy.Config{}.WithDefaults()
	for path, want := range map[string]bool{".github/workflows/ci.yml": true, ".github/workflows/a/b.yml": true, ".greenwright.yml": true, ".github/CODEOWNERS": false, "main.go": false} {
		if c.Protected(path) != want {
			t.Errorf("%s: protected = %v", path, !want)
		}
	}
}
