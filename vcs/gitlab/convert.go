package gitlab

import (
	"fmt"
	"strings"
	"time"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlabwire"
)

// GitLab's names for who sees a project.
const (
	public   = "public"
	private  = "private"
	internal = "internal"
)

// active is the state of an account or membership that is good for something.
const active = "active"

// userFacts is an account, with the members that go-gitlab leaves out.
type userFacts struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	State    string `json:"state"`
	Bot      bool   `json:"bot"`
	External bool   `json:"external"`
	Locked   bool   `json:"locked"`
	IsAdmin  bool   `json:"is_admin"`
}

func (u userFacts) active() bool { return u.State == active && !u.Locked }

// actor converts an account; an absent one is the zero Actor. Most of GitLab's
// answers do not tell bots from people, but for their names.
func (u userFacts) actor() (vcs.Actor, error) {
	if u.ID == 0 && u.Username == "" {
		return vcs.Actor{}, nil
	}
	if u.ID <= 0 || !gitlabwire.ValidLogin(u.Username) {
		return vcs.Actor{}, fmt.Errorf("%w: account %d %q", vcs.ErrInvalid, u.ID, u.Username)
	}
	kind := gitlabwire.Kind(u.Username)
	if u.Bot {
		kind = vcs.KindBot
	}
	return vcs.Actor{ID: u.ID, Login: u.Username, Kind: kind}, nil
}

// is refuses an account that is not the one asked for.
func (u userFacts) is(a vcs.Actor) error {
	if u.ID != a.ID || !strings.EqualFold(u.Username, a.Login) {
		return fmt.Errorf("%w: the login is another account's now", vcs.ErrConflict)
	}
	return nil
}

// memberFacts is a membership.
type memberFacts struct {
	userFacts
	AccessLevel     Role   `json:"access_level"`
	MembershipState string `json:"membership_state"` // absent before GitLab 14.9
	ExpiresAt       string `json:"expires_at"`       // a date, at whose beginning it ends
	MemberRole      *struct {
		BaseAccessLevel Role `json:"base_access_level"`
	} `json:"member_role"`
}

// role is the level of a membership in force. A custom role counts as the one
// that it extends, should the two ever differ as the lower.
func (m memberFacts) role(now time.Time) Role {
	expired := m.ExpiresAt != "" && m.ExpiresAt[:min(len(m.ExpiresAt), len(time.DateOnly))] <= now.UTC().Format(time.DateOnly)
	if !m.active() || m.MembershipState != "" && m.MembershipState != active || expired {
		return RoleNone
	}
	if m.MemberRole != nil && m.MemberRole.BaseAccessLevel > RoleNone {
		return min(m.AccessLevel, m.MemberRole.BaseAccessLevel)
	}
	return m.AccessLevel
}

// projectFacts is what is read of a project.
type projectFacts struct {
	ID                int64  `json:"id"`
	PathWithNamespace string `json:"path_with_namespace"`
	DefaultBranch     string `json:"default_branch"`
	Visibility        string `json:"visibility"`
	Archived          bool   `json:"archived"`
	WebURL            string `json:"web_url"`
	CIConfigPath      string `json:"ci_config_path"`
	ForkedFrom        *struct {
		ID int64 `json:"id"`
	} `json:"forked_from_project"`
}

func (p projectFacts) repo() (vcs.Repo, error) {
	ref, err := gitlabwire.Project(p.PathWithNamespace)
	if err != nil {
		return vcs.Repo{}, err
	}
	if p.DefaultBranch != "" { // an empty project has none
		if err := vcs.ValidateBranch(p.DefaultBranch); err != nil {
			return vcs.Repo{}, fmt.Errorf("default branch: %w", err)
		}
	}
	return vcs.Repo{
		RepoRef: ref, ID: p.ID, DefaultBranch: p.DefaultBranch, Private: p.Visibility == private,
		Fork: p.ForkedFrom != nil, Archived: p.Archived, URL: p.WebURL,
	}, nil
}

// threadFacts is what an issue and a merge request have in common.
type threadFacts struct {
	Title            string    `json:"title"`
	Description      string    `json:"description"`
	State            string    `json:"state"`
	Author           userFacts `json:"author"`
	Labels           []string  `json:"labels"`
	CreatedAt        time.Time `json:"created_at"`
	WebURL           string    `json:"web_url"`
	DiscussionLocked bool      `json:"discussion_locked"`
	Confidential     bool      `json:"confidential"`
}

// opened is the state of a thread that is.
const opened = "opened"

func (i threadFacts) issue(t vcs.Thread) (vcs.Issue, error) {
	author, err := i.Author.actor()
	if err != nil {
		return vcs.Issue{}, err
	}
	title := i.Title
	if t.PullRequest {
		title = gitlabwire.Undrafted(title)
	}
	return vcs.Issue{
		Thread: t, Title: title, Body: i.Description, Author: author, Open: i.State == opened,
		Locked: i.DiscussionLocked, Labels: append([]string{}, i.Labels...), CreatedAt: i.CreatedAt, URL: i.WebURL,
		Confidential: i.Confidential,
	}, nil
}

// GitLab's types of note; that of a plain one is empty.
const (
	diffNote       = "DiffNote"
	legacyDiffNote = "LegacyDiffNote"
	discussionNote = "DiscussionNote"
)

// isDiff reports whether a note stands on a line of a diff, or answers one that
// does.
func isDiff(n *gl.Note) bool {
	return n.Type == diffNote || n.Type == legacyDiffNote
}

// isRemark reports whether a note is in a discussion of a merge request that
// can be resolved.
func isRemark(t vcs.Thread, n *gl.Note) bool {
	return t.PullRequest && (isDiff(n) || n.Type == discussionNote)
}

// comment converts a note.
func (f *Forge) comment(t vcs.Thread, n *gl.Note) (vcs.Comment, error) {
	author, err := userFacts{ID: int64(n.Author.ID), Username: n.Author.Username}.actor()
	if err != nil {
		return vcs.Comment{}, err
	}
	kind := vcs.IssueComment
	if isRemark(t, n) {
		kind = vcs.ReviewRemark
	}
	id := int64(n.ID)
	return vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: kind, ID: id}, Author: author, Body: n.Body, CreatedAt: timeOf(n.CreatedAt),
		UpdatedAt: timeOf(n.UpdatedAt), URL: f.noteURL(t, id), Internal: isInternal(n),
	}, nil
}

// isInternal reads both names that GitLab has had for it.
func isInternal(n *gl.Note) bool { return n.Internal || n.Confidential }

// timeOf is the zero time for an absent one.
func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
