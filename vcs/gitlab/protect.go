package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
)

// ProtectedBranch tells whether a branch, there or yet to be made, is protected,
// and whether the token's account may push to it. Of a branch that is there
// GitLab says so itself. For a new one the project's rules are read; a right
// that a rule gives to a group counts as none, for who is in it is not known.
// Where the rules cannot be read, an account that may push to the project is
// taken to be able to: the push itself decides.
func (f *Forge) ProtectedBranch(ctx context.Context, repo vcs.RepoRef, branch string) (protected, canPush bool, err error) {
	if err := validate(repo); err != nil {
		return false, false, err
	}
	doing := fmt.Sprintf("reading the protection of %s in %s", branch, repo.FullName())
	if err := vcs.ValidateBranch(branch); err != nil {
		return false, false, f.mapError(doing, err)
	}
	b, err := f.branch(ctx, repo, branch)
	if err == nil {
		return b.Protected, b.CanPush, nil
	}
	if !isNotFound(err) {
		return false, false, f.mapError(doing, err)
	}
	protected, canPush, err = f.protection(ctx, repo, branch)
	if err != nil {
		return false, false, f.mapError(doing, err)
	}
	return protected, canPush, nil
}

func (f *Forge) protection(ctx context.Context, repo vcs.RepoRef, branch string) (protected, canPush bool, err error) {
	self, err := f.Self(ctx)
	if err != nil {
		return false, false, err
	}
	role, err := f.roleIn(ctx, pathOf(repo))
	if err != nil {
		return false, false, err
	}
	rules, err := collect[*gl.ProtectedBranch](ctx, f, pathOf(repo)+"/protected_branches", nil)
	if err != nil && !hasStatus(err, http.StatusForbidden) {
		return false, false, fmt.Errorf("listing protected branches: %w", err)
	}
	for _, r := range rules {
		if !wildcard(r.Name, branch) {
			continue
		}
		protected = true
		for _, l := range r.PushAccessLevels {
			canPush = canPush || l != nil && grants(l, self, role)
		}
	}
	if !protected {
		return false, role >= RoleDeveloper, nil
	}
	return true, canPush, nil // of several rules the most permissive counts
}

// grants reports whether a rule's level lets the account push.
func grants(l *gl.BranchAccessDescription, self vcs.Actor, role Role) bool {
	switch {
	case l.UserID != 0:
		return int64(l.UserID) == self.ID
	case l.GroupID != 0 || l.DeployKeyID != 0:
		return false
	}
	return l.AccessLevel > 0 && role >= Role(l.AccessLevel) // 0 is nobody
}

// wildcard matches a rule's name, in which a star is any run of characters, the
// slash included.
func wildcard(rule, branch string) bool {
	parts := strings.Split(rule, "*")
	if len(parts) == 1 {
		return rule == branch
	}
	rest, found := strings.CutPrefix(branch, parts[0])
	if !found {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// PushRules are what a project asks of what is pushed (GitLab Premium). The
// expressions are RE2's; an empty one asks for nothing.
type PushRules struct {
	BranchName        string // what a new branch's name must match
	CommitMessage     string // what every commit's message must match
	CommitMessageDeny string // what none may match
	AuthorEmail       string // what every author's address must match
	FileNameDeny      string // what no changed file's name may match
	MaxFileSize       int    // in MB; 0 is no limit
	MemberCheck       bool   // authors must be users of this GitLab
	CommitterCheck    bool   // the committer must be who pushes
	RejectUnsigned    bool
	RejectWithoutDCO  bool // without Signed-off-by
	DenySecrets       bool // files that look like keys
}

// PushRules reads a project's push rules; none on an edition without them, and
// none where the token may not see them.
func (f *Forge) PushRules(ctx context.Context, repo vcs.RepoRef) (PushRules, error) {
	if err := validate(repo); err != nil {
		return PushRules{}, err
	}
	var r gl.ProjectPushRules // null when there are none
	err := f.read(ctx, repo, "/push_rule", nil, &r)
	if isNotFound(err) || hasStatus(err, http.StatusForbidden) {
		return PushRules{}, nil
	}
	if err != nil {
		return PushRules{}, f.mapError("reading the push rules of "+repo.FullName(), err)
	}
	return PushRules{
		BranchName: r.BranchNameRegex, CommitMessage: r.CommitMessageRegex, CommitMessageDeny: r.CommitMessageNegativeRegex,
		AuthorEmail: r.AuthorEmailRegex, FileNameDeny: r.FileNameRegex, MaxFileSize: r.MaxFileSize, MemberCheck: r.MemberCheck,
		CommitterCheck: r.CommitCommitterCheck, RejectUnsigned: r.RejectUnsignedCommits, RejectWithoutDCO: r.RejectNonDCOCommits,
		DenySecrets: r.PreventSecrets,
	}, nil
}
