package gitlab

import (
	"context"
	"fmt"
	"regexp"

	"github.com/greenwright/greenwright/vcs"
)

var _ vcs.PushChecker = (*Forge)(nil)

// PushRefused holds a push against the protection of its branch and the
// project's push rules. Rules whose outcome is not known here (the size of
// files, who counts as a member) are left to the push itself, and so is an
// expression that cannot be read.
func (f *Forge) PushRefused(ctx context.Context, repo vcs.RepoRef, push vcs.Push) (reason string, err error) {
	protected, canPush, err := f.ProtectedBranch(ctx, repo, push.Branch)
	if err != nil {
		return "", err
	}
	switch {
	case protected && !canPush:
		return fmt.Sprintf("branch %s is protected, and this account may not push to it", push.Branch), nil
	case !canPush:
		return "this account may not push to the project: it needs the role Developer", nil
	}
	if role, err := f.roleIn(ctx, pathOf(repo)); err != nil || role < RoleMaintainer {
		return "", err // GitLab tells push rules to maintainers alone
	}
	rules, err := f.PushRules(ctx, repo)
	if err != nil {
		return "", err
	}
	return rules.refuse(push), nil
}

// refuse says which rule speaks against a push, empty for none.
func (r PushRules) refuse(push vcs.Push) string {
	switch {
	case r.RejectUnsigned:
		return "a push rule wants signed commits"
	case r.RejectWithoutDCO:
		return "a push rule wants commits with Signed-off-by"
	case push.New && !matches(r.BranchName, push.Branch, true):
		return fmt.Sprintf("a push rule wants branch names that match %q", r.BranchName)
	case !matches(lines(r.CommitMessage), push.Message, true):
		return fmt.Sprintf("a push rule wants commit messages that match %q", r.CommitMessage)
	case matches(lines(r.CommitMessageDeny), push.Message, false):
		return fmt.Sprintf("a push rule wants no commit message that matches %q", r.CommitMessageDeny)
	case !matches(r.AuthorEmail, push.AuthorEmail, true):
		return fmt.Sprintf("a push rule wants authors' addresses that match %q", r.AuthorEmail)
	}
	return ""
}

// lines is a rule about messages as GitLab reads it: its anchors are those of
// lines (docs.gitlab.com/user/project/repository/push_rules).
func lines(rule string) string {
	if rule == "" {
		return ""
	}
	return "(?m)" + rule
}

// matches reports whether text matches a rule's expression, unset where there is
// none or it cannot be read.
func matches(rule, text string, unset bool) bool {
	if rule == "" {
		return unset
	}
	re, err := regexp.Compile(rule)
	if err != nil {
		return unset
	}
	return re.MatchString(text)
}
