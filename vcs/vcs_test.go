package vcs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

func TestRepoRefValidate(t *testing.T) {
	good := []vcs.RepoRef{{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, {Forge: vcs.GitHub, Owner: "a-b", Name: "a.b_c-1"}, {Forge: vcs.GitLab, Owner: "group/sub", Name: "x"}}
	for _, r := range good {
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
	for _, r := range []vcs.RepoRef{
		{}, {Forge: "svn", Owner: "a", Name: "b"}, {Forge: vcs.GitHub, Owner: "a", Name: ".."}, {Forge: vcs.GitHub, Owner: ".", Name: "b"},
		{Forge: vcs.GitHub, Owner: "a/b", Name: "c"}, {Forge: vcs.GitHub, Owner: "a", Name: "b/../c"}, {Forge: vcs.GitHub, Owner: "a", Name: "-b"},
		{Forge: vcs.GitHub, Owner: "a", Name: "b.git"}, {Forge: vcs.GitHub, Owner: "a", Name: "b c"}, {Forge: vcs.GitHub, Owner: "a", Name: "b\x00"},
		{Forge: vcs.GitHub, Owner: "", Name: "b"}, {Forge: vcs.GitLab, Owner: "a//b", Name: "c"}, {Forge: vcs.GitHub, Owner: "ä", Name: "b"},
		{Forge: vcs.GitHub, Owner: "a", Name: strings.Repeat("x", 300)},
	} {
		if err := r.Validate(); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%q is accepted (%v)", r, err)
		}
	}
}

// TestBranchesThatGitRefuses holds ValidateBranch against git's own check:
// what git refuses is refused.
func TestBranchesThatGitRefuses(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on this machine")
	}
	names := []string{
		"main", "feature/x", "a.b", "a-b_c", "ünïcode", "a..b", ".a", "a/.b", "a.lock", "a.lock/b", "a b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", `a\b`,
		"a@{b", "@", "a@b", "/a", "a/", "a//b", "a.", "-a", "--force", "HEAD", "a\tb", "a\x7fb", "refs/heads/a", "",
	}
	for _, name := range names {
		git := exec.Command("git", "check-ref-format", "--branch", name).Run() == nil
		ours := vcs.ValidateBranch(name) == nil
		if ours && !git {
			t.Errorf("%q is accepted, and git refuses it", name)
		}
		if git && !ours && name != "HEAD" && name != "@" && name != "refs/heads/a" {
			t.Errorf("%q is refused, and git accepts it", name)
		}
	}
}

func FuzzValidateBranch(f *testing.F) {
	for _, s := range []string{"main", "a..b", "a.lock", "-x", "a@{1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if vcs.ValidateBranch(s) != nil {
			return
		}
		if strings.Contains(s, "..") || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " ~^:?*[\\\x00\n") || strings.HasPrefix(s, "/") {
			t.Errorf("%q is accepted", s)
		}
	})
}

func TestValidateSHA(t *testing.T) {
	for sha, ok := range map[string]bool{strings.Repeat("a", 40): true, strings.Repeat("0", 64): true, strings.Repeat("A", 40): false, strings.Repeat("a", 39): false, strings.Repeat("g", 40): false, "": false} {
		if (vcs.ValidateSHA(sha) == nil) != ok {
			t.Errorf("%q: accepted = %v", sha, !ok)
		}
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	const value = "hunter2hunter2"
	s := struct{ Token vcs.Secret }{value}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s.Token, "all", s)
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s.Token, s.Token), string(encoded), log.String()} {
		if strings.Contains(text, value) {
			t.Errorf("the secret is shown: %s", text)
		}
	}
	if s.Token.Reveal() != value {
		t.Error("Reveal does not reveal")
	}
}

func TestPermissionsAreOrderedAndFailClosed(t *testing.T) {
	order := []string{"none", "read", "triage", "write", "maintain", "admin"}
	for i, name := range order {
		p, err := vcs.ParsePermission(name)
		if err != nil || p.String() != name || int(p) != i {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	for _, name := range []string{"", "owner", "Admin", "push"} {
		if p, err := vcs.ParsePermission(name); !errors.Is(err, vcs.ErrInvalid) || p != vcs.PermissionNone {
			t.Errorf("%q: %v, %v", name, p, err)
		}
	}
	if vcs.Permission(99).String() != "none" || vcs.Permission(-1).String() != "none" {
		t.Error("a level that is not there has a name")
	}
}

func TestActorsAreComparedByID(t *testing.T) {
	a := vcs.Actor{ID: 1, Login: "a"}
	if !a.Is(vcs.Actor{ID: 1, Login: "renamed"}) || a.Is(vcs.Actor{ID: 2, Login: "a"}) || (vcs.Actor{}).Is(vcs.Actor{}) {
		t.Error("accounts are not compared by id")
	}
}

func TestKeys(t *testing.T) {
	ev := vcs.Event{Forge: vcs.GitHub, Repo: vcs.Repo{ID: 1}, Kind: vcs.EventComment, Object: "comment:1", Action: "created", Version: "v"}
	again := ev
	again.DeliveryID, again.ReceivedAt = "other", time.Unix(1, 0)
	if ev.Key() != again.Key() {
		t.Error("a second delivery of a fact has another key")
	}
	for name, change := range map[string]func(*vcs.Event){
		"repository": func(e *vcs.Event) { e.Repo.ID = 2 }, "object": func(e *vcs.Event) { e.Object = "comment:2" },
		"action": func(e *vcs.Event) { e.Action = "edited" }, "version": func(e *vcs.Event) { e.Version = "w" },
	} {
		other := ev
		change(&other)
		if other.Key() == ev.Key() {
			t.Errorf("another %s has the same key", name)
		}
	}
	repo := vcs.RepoRef{Forge: vcs.GitLab, Owner: "a", Name: "b"}
	if (vcs.Thread{Repo: repo, Number: 1}).Key() == (vcs.Thread{Repo: repo, Number: 1, PullRequest: true}).Key() {
		t.Error("GitLab's issue and merge request of the same number are one thread")
	}
	if !errors.Is(&vcs.RateLimitError{}, vcs.ErrUnavailable) {
		t.Error("a rate limit is not ErrUnavailable")
	}
}
