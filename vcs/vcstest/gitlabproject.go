package vcstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// Project is a repository of a simulated GitLab. Its methods act as the named
// account would in the browser: they check no permission, and send webhooks.
type Project struct {
	srv *GitLab
	bare

	// Everything below is guarded by srv.mu.
	meta       vcs.Repo
	internal   bool // Private, but for insiders
	ciConfig   string
	forkOf     *Project
	members    map[int64]*gitlabMember
	threads    map[vcs.Thread]*gitlabThread
	lastNumber map[bool]int // by whether it is of merge requests
	pipelines  []*gitlabPipeline
	hooks      []*gitlabHook
	protected  []protectedBranch
	pushRule   object
}

// gitlabMember is a membership.
type gitlabMember struct {
	level   int
	role    string // of a custom role; empty is none
	state   string
	expires time.Time
}

// GitLab's access levels (docs.gitlab.com/api/access_requests).
const (
	guest      = 10
	reporter   = 20
	developer  = 30
	maintainer = 40
	owner      = 50
)

// memberActive is the state of a membership in force.
const memberActive = "active"

// CreateRepo makes a public project in a namespace, which may be nested. The
// namespace's name, its slashes dashes, is that of an account that owns it; the
// bot is a developer.
func (g *GitLab) CreateRepo(namespace, name string, files map[string]string) (*Project, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, err := g.addProject(namespace, name)
	if err != nil {
		return nil, err
	}
	p.members[g.bot.ID] = &gitlabMember{level: developer, state: memberActive}
	if err := p.create(p.meta.DefaultBranch, files, ownerOf(namespace), g.now()); err != nil {
		return nil, err
	}
	return p, p.served()
}

// served replaces GitHub's hook by GitLab's.
func (p *Project) served() error {
	if err := os.WriteFile(filepath.Join(p.dir, "hooks", "update"), []byte(gitlabUpdateHook), 0o755); err != nil {
		return fmt.Errorf("writing the update hook: %w", err)
	}
	return nil
}

// ownerOf is the account that owns a namespace.
func ownerOf(namespace string) string { return strings.ReplaceAll(namespace, "/", "-") }

func (g *GitLab) addProject(namespace, name string) (*Project, error) {
	ref := vcs.RepoRef{Forge: vcs.GitLab, Owner: namespace, Name: name}
	if err := ref.Validate(); err != nil {
		return nil, err
	}
	key := strings.ToLower(ref.FullName())
	if g.projects[key] != nil {
		return nil, fmt.Errorf("%w: project %s exists", vcs.ErrConflict, ref.FullName())
	}
	id := g.newID()
	p := &Project{
		srv: g, bare: bare{git: g.git, dir: filepath.Join(g.cfg.Dir, fmt.Sprintf("%d.git", id))},
		meta:    vcs.Repo{RepoRef: ref, ID: id, DefaultBranch: "main", URL: g.base + "/" + ref.FullName()},
		members: map[int64]*gitlabMember{}, threads: map[vcs.Thread]*gitlabThread{}, lastNumber: map[bool]int{},
	}
	p.members[g.addUser(ownerOf(namespace), vcs.KindUser).ID] = &gitlabMember{level: owner, state: memberActive}
	g.projects[key] = p
	return p, nil
}

// Fork copies the project to another namespace; the bot is no member there.
func (p *Project) Fork(namespace string) (*Project, error) {
	g := p.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	f, err := g.addProject(namespace, p.meta.Name)
	if err != nil {
		return nil, err
	}
	f.meta.Fork, f.forkOf = true, p
	if err := f.copy(p.bare, f.meta.DefaultBranch); err != nil {
		return nil, err
	}
	return f, f.served()
}

// Rename moves the project; its old path leads to it until it is taken.
func (p *Project) Rename(namespace, name string) error {
	g := p.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	ref := vcs.RepoRef{Forge: vcs.GitLab, Owner: namespace, Name: name}
	if err := ref.Validate(); err != nil {
		return err
	}
	old := strings.ToLower(p.meta.FullName())
	delete(g.projects, old)
	g.moved[old] = p
	p.meta.RepoRef, p.meta.URL = ref, g.base+"/"+ref.FullName()
	g.projects[strings.ToLower(ref.FullName())] = p
	return nil
}

// Ref names the project.
func (p *Project) Ref() vcs.RepoRef { return p.Info().RepoRef }

// Info is what the API says of it.
func (p *Project) Info() vcs.Repo {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	return p.meta
}

// root and base are the parts of the repository's path.
func (p *Project) root() string { return p.srv.cfg.Dir }
func (p *Project) base() string { return filepath.Base(p.dir) }

// CloneURL is the git remote.
func (p *Project) CloneURL() string { return p.srv.base + "/" + p.Ref().FullName() + ".git" }

// SetPrivate makes it private or public.
func (p *Project) SetPrivate(private bool) { p.setVisibility(private, false) }

// SetInternal makes it visible to every account that is not external.
func (p *Project) SetInternal() { p.setVisibility(true, true) }

func (p *Project) setVisibility(private, internal bool) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	p.meta.Private, p.internal = private, internal
}

// SetCIConfig sets where the project's CI file is.
func (p *Project) SetCIConfig(path string) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	p.ciConfig = path
}

// SetPermission gives an account the role with its level.
func (p *Project) SetPermission(login string, want vcs.Permission) error {
	return p.SetRole(login, "", want)
}

// SetRole gives an account a custom role that extends the level's.
func (p *Project) SetRole(login, role string, want vcs.Permission) error {
	levels := map[vcs.Permission]int{
		vcs.PermissionRead: guest, vcs.PermissionTriage: reporter, vcs.PermissionWrite: developer,
		vcs.PermissionMaintain: maintainer, vcs.PermissionAdmin: owner,
	}
	return p.SetMember(login, levels[want], memberActive, time.Time{}, role)
}

// SetMember makes a membership with an access level, a state (active, awaiting)
// and an end; level 0 ends it.
func (p *Project) SetMember(login string, level int, state string, expires time.Time, role string) error {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	a, err := p.srv.user(login)
	if err != nil {
		return err
	}
	p.members[a.ID] = &gitlabMember{level: level, role: role, state: state, expires: expires}
	if level == 0 {
		delete(p.members, a.ID)
	}
	return nil
}

// levelOf is an account's access level.
func (p *Project) levelOf(a vcs.Actor) int {
	m := p.members[a.ID]
	if m == nil || m.state != memberActive || !m.expires.IsZero() && !p.srv.cfg.Now().Before(m.expires) {
		return 0
	}
	return m.level
}

// visible reports whether a token's account sees the project at all.
func (p *Project) visible(t *gitlabToken) bool {
	switch {
	case !p.meta.Private:
		return true
	case t == nil:
		return false
	}
	return p.internal && !p.srv.external[t.actor.ID] || p.levelOf(t.actor) >= guest
}

// readsCode reports whether an account that sees the project reads its code.
func (p *Project) readsCode(a vcs.Actor) bool {
	return !p.meta.Private || p.internal && !p.srv.external[a.ID] || p.levelOf(a) >= reporter
}

// PushCommit commits files on a branch as the project's owner and returns the
// commit. A new branch starts at the default branch.
func (p *Project) PushCommit(branch string, files map[string]string, message string) (sha string, err error) {
	return p.push(branch, pointers(files), message)
}

// DeleteFiles commits the removal of paths.
func (p *Project) DeleteFiles(branch, message string, paths ...string) (sha string, err error) {
	return p.push(branch, removals(paths), message)
}

func (p *Project) push(branch string, files map[string]*string, message string) (string, error) {
	g := p.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	by, err := g.user(ownerOf(p.meta.Owner))
	if err != nil {
		return "", err
	}
	sha, err := p.write(branch, p.meta.DefaultBranch, files, message, by.Login, g.now())
	if err != nil {
		return "", err
	}
	return sha, p.pushed(by)
}

// pushed compares the branches with what was last seen and moves merge requests
// along, with the hooks of both. It is called with mu held.
func (p *Project) pushed(by vcs.Actor) error {
	before, moved, err := p.look()
	if err != nil {
		return err
	}
	for _, name := range moved {
		p.emit(p.site(p.srv.now()).PushEvent(p.shown(), name, oldTip(before, name, p.tips[name]), p.tips[name], by))
		if err := p.srv.synchronize(p, name, by); err != nil {
			return err
		}
	}
	return nil
}
