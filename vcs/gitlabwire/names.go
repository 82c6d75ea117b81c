package gitlabwire

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// The limits of names: GitLab's own for a username, and for a project's path
// what becomes part of names of files and keys (it has 20 levels of groups).
const (
	maxLogin = 255
	maxPath  = 1024
)

// ValidLogin reports a text that can be a username.
func ValidLogin(s string) bool {
	if s == "" || len(s) > maxLogin || s == "." || s == ".." || s[0] == '-' {
		return false
	}
	for _, c := range []byte(s) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// tokenAccount is a login that GitLab gives to the account of a project's or
// group's access token (docs.gitlab.com/user/project/settings/
// project_access_tokens, "Bot users for projects"), or to a service account.
var tokenAccount = regexp.MustCompile(`^(?:(?:project|group)_[0-9]+_bot|service_account_)`)

// Kind tells people from programs by what GitLab calls them: payloads tell
// nothing else of an account. A person who took such a name is taken for a bot,
// and not the other way round.
func Kind(login string) vcs.ActorKind {
	if tokenAccount.MatchString(login) {
		return vcs.KindBot
	}
	return vcs.KindUser
}

// Project reads the full path of a project. Its error wraps vcs.ErrInvalid.
func Project(path string) (vcs.RepoRef, error) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || len(path) > maxPath {
		return vcs.RepoRef{}, fmt.Errorf("%w: path of a project %.80q", vcs.ErrInvalid, path)
	}
	ref := vcs.RepoRef{Forge: vcs.GitLab, Owner: path[:i], Name: path[i+1:]}
	return ref, ref.Validate()
}

// drafted are the marks by which a draft is kept in the title, the one of older
// versions included.
var drafted = regexp.MustCompile(`^(?i:\s*(?:\[(?:draft|wip)\]|\(draft\)|(?:draft|wip):|draft\s-\s))+\s*`)

// Undrafted is a title without the marks of a draft, which are part of it.
func Undrafted(title string) string { return drafted.ReplaceAllString(title, "") }
