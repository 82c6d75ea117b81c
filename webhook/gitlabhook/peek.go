package gitlabhook

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlabwire"
	"github.com/greenwright/greenwright/webhook"
)

// kinds are the members that say what a payload is.
type kinds struct {
	ObjectKind object `json:"object_kind"`
	EventType  string `json:"event_type"`
	EventName  string `json:"event_name"`
}

// glance is what Peek reads of any payload.
type glance struct {
	ObjectKind  object       `json:"object_kind"`
	User        *user        `json:"user"`
	UserID      int64        `json:"user_id"`
	Project     *place       `json:"project"`
	Repository  *place       `json:"repository"`
	Attributes  *glanceAttrs `json:"object_attributes"`
	BuildStatus string       `json:"build_status"`
	Tag         bool         `json:"tag"`
}

type glanceAttrs struct {
	Action   string `json:"action"`
	System   bool   `json:"system"`
	On       string `json:"noteable_type"`
	AuthorID int64  `json:"author_id"`
	Status   string `json:"status"`
	Source   word   `json:"source"`
	Tag      bool   `json:"tag"`
}

// place is where a project is.
type place struct {
	Path     string `json:"path_with_namespace"`
	Homepage string `json:"homepage"`
}

// Peek reads what decides about a payload, and skips the rest. Of names that
// nothing reacts to it reads nothing, and of what else comes under a mixed name
// no more than what it is: its members may be anything.
func (p *Parser) Peek(name string, body []byte) (webhook.Glance, error) {
	if !known(name) || mixed(name) && p.unused(body) {
		return webhook.Glance{Ignore: reasonEvent}, nil
	}
	w, err := p.glances.Decode(body)
	if err != nil {
		return webhook.Glance{}, unusable(name, fmt.Errorf("%w: %w", vcs.ErrInvalid, err))
	}
	f := w.facts()
	g := webhook.Glance{Action: f.action, Sender: w.sender(), Ignore: f.ignore(name)}
	if w.Project == nil && w.Repository == nil { // an epic is a group's
		g.Ignore = reasonGroup
		return g, nil
	}
	if g.Repo, err = p.refOf(w.Project, w.Repository); err != nil {
		return webhook.Glance{}, unusable(name, err)
	}
	return g, nil
}

// unused reports a payload about an object that nothing reacts to.
func (p *Parser) unused(body []byte) bool {
	k, err := p.kinds.Decode(body)
	return err == nil && !k.ObjectKind.used()
}

func (w glance) facts() facts {
	f := facts{object: w.ObjectKind, status: w.BuildStatus, tag: w.Tag}
	if a := w.Attributes; a != nil {
		f.action, f.system, f.on = within(a.Action, isWordChar), a.System, a.On
		f.source, f.tag = string(a.Source), f.tag || a.Tag
		if f.object == objectPipeline {
			f.status = a.Status
		}
	}
	return f
}

func isWordChar(c byte) bool { return isLetter(c) || c == '_' }

// sender is who wrote. The user of a pipeline and of a job is who pushed: a red
// pipeline on Greenwright's own branch is not its own doing.
func (w glance) sender() int64 {
	switch w.ObjectKind {
	case objectPipeline, objectBuild:
		return 0
	case objectPush:
		return w.UserID
	default:
	}
	if w.User != nil && w.User.ID > 0 {
		return w.User.ID
	}
	if w.Attributes != nil && w.ObjectKind == objectNote {
		return w.Attributes.AuthorID
	}
	return 0
}

// refOf names the project. Job events of versions before 17 have no project,
// and its path is the end of its address.
func (p *Parser) refOf(project, repository *place) (vcs.RepoRef, error) {
	switch {
	case project != nil && project.Path != "":
		return gitlabwire.Project(project.Path)
	case repository != nil && repository.Homepage != "":
		u, err := url.Parse(repository.Homepage)
		if err != nil {
			return vcs.RepoRef{}, fmt.Errorf("%w: address of the project: %w", vcs.ErrInvalid, err)
		}
		path, found := strings.CutPrefix(u.Path, p.basePath+"/")
		if !found {
			return vcs.RepoRef{}, fmt.Errorf("%w: address of the project: not below %q", vcs.ErrInvalid, p.basePath)
		}
		return gitlabwire.Project(path)
	}
	return vcs.RepoRef{}, missing("project")
}
