package vcstest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// protectedBranch is a rule: who may push to the branches of a name, in which a
// star stands for anything.
type protectedBranch struct {
	name string
	push int // access level; 0 is nobody
}

func (b protectedBranch) matches(branch string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(b.name), `\*`, ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(branch)
}

// gitlabUpdateHook refuses, in GitLab's words, a push that the server has found
// to be one to a protected branch, or that a push rule forbids.
const gitlabUpdateHook = `#!/bin/sh
while IFS='|' read -r pattern message; do
	case "$1" in
	refs/heads/$pattern) echo "GitLab: $message" >&2; exit 1 ;;
	esac
done <<EOF
$REFUSED
EOF
if [ -n "$WANTED_MESSAGE" ]; then
	case "$3" in *[!0]*) ;; *) exit 0 ;; esac
	if ! git log -1 --format=%B "$3" | grep -qE "$WANTED_MESSAGE"; then
		echo "GitLab: Commit message does not follow the pattern '$WANTED_MESSAGE'" >&2
		exit 1
	fi
fi
`

// Protect lets nobody push to a branch, or to those that a pattern matches.
func (p *Project) Protect(pattern string) error { return p.ProtectFor(pattern, 0) }

// ProtectFor lets accounts push that have the access level; 0 is nobody.
func (p *Project) ProtectFor(pattern string, level int) error {
	if pattern == "" || strings.ContainsAny(pattern, "|\n") {
		return fmt.Errorf("protecting %q: want a branch or a pattern", pattern)
	}
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	p.protected = append(p.protected, protectedBranch{name: pattern, push: level})
	return nil
}

// SetPushRule sets what the pushed commits' messages must match.
func (p *Project) SetPushRule(message string) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	p.pushRule = object{
		"id": 1, "project_id": p.meta.ID, "commit_message_regex": message, "commit_message_negative_regex": "", "branch_name_regex": "",
		"author_email_regex": "", "file_name_regex": "", "max_file_size": 0, "deny_delete_tag": false, "member_check": false, "prevent_secrets": false,
		"commit_committer_check": false, "reject_unsigned_commits": false, "reject_non_dco_commits": false, "created_at": p.srv.now(),
	}
}

// protection is the rule for a branch that lets most accounts push.
func (p *Project) protection(branch string) (rule protectedBranch, found bool) {
	for _, b := range p.protected {
		if !b.matches(branch) {
			continue
		}
		if !found || b.push > 0 && (rule.push == 0 || b.push < rule.push) {
			rule = b
		}
		found = true
	}
	return rule, found
}

// refused are the branches that an account may not push to, for the hook.
func (p *Project) refused(level int) []string {
	var lines []string
	for _, b := range p.protected {
		if rule, _ := p.protection(b.name); rule.push == 0 || level < rule.push {
			lines = append(lines, b.name+"|You are not allowed to push code to protected branches on this project.")
		}
	}
	env := []string{"REFUSED=" + strings.Join(lines, "\n")}
	if want, _ := p.pushRule["commit_message_regex"].(string); want != "" {
		env = append(env, "WANTED_MESSAGE="+want)
	}
	return env
}

// forget removes a project's directory, as deleting it does.
func (p *Project) forget() error {
	if err := os.RemoveAll(filepath.Clean(p.dir)); err != nil {
		return fmt.Errorf("deleting %s: %w", p.meta.FullName(), err)
	}
	return nil
}

// Delete removes the project with everything in it; merge requests from it lose
// their source.
func (p *Project) Delete() error {
	g := p.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.projects, strings.ToLower(p.meta.FullName()))
	for _, other := range g.projects {
		for _, t := range other.threads {
			if t.source == p {
				t.source = nil
			}
		}
	}
	return p.forget()
}
