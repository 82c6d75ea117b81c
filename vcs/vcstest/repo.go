package vcstest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// Repo is a repository of a simulated GitHub. Its methods act as the named
// account would in the browser: they check no permission, and send webhooks.
type Repo struct {
	srv *GitHub
	bare

	// Everything below is guarded by srv.mu.
	meta         vcs.Repo
	installed    bool
	perms        map[int64]vcs.Permission
	customRole   map[int64]string
	threads      map[int]*thread
	lastNumber   int
	remarkReview map[int64]int64 // review by remark
	checks       []*checkRun
}

// thread is an issue or pull request.
type thread struct {
	issue     vcs.Issue
	pull      *vcs.PullRequest
	headRepo  *Repo
	reviews   []*vcs.Review // their Remarks hold the threads that they opened
	reactions []Reacted
	requested []string
	updated   time.Time
}

// Reacted is one reaction on a comment.
type Reacted struct {
	On       vcs.CommentRef
	By       vcs.Actor
	Reaction vcs.Reaction
}

// CreateRepo makes a public repository, with the App installed, whose owner is
// an account with admin rights, and commits files to main.
func (g *GitHub) CreateRepo(owner, name string, files map[string]string) (*Repo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.addRepo(owner, name)
	if err != nil {
		return nil, err
	}
	return r, r.create(r.meta.DefaultBranch, files, owner, g.now())
}

func (g *GitHub) addRepo(owner, name string) (*Repo, error) {
	ref := vcs.RepoRef{Forge: vcs.GitHub, Owner: owner, Name: name}
	if err := ref.Validate(); err != nil {
		return nil, err
	}
	if _, ok := g.repos[strings.ToLower(ref.FullName())]; ok {
		return nil, fmt.Errorf("%w: repository %s exists", vcs.ErrConflict, ref.FullName())
	}
	r := &Repo{
		srv: g, bare: bare{git: g.git, dir: filepath.Join(g.cfg.Dir, owner, name+".git")},
		meta:  vcs.Repo{RepoRef: ref, ID: g.newID(), DefaultBranch: "main", URL: g.base + "/" + ref.FullName()},
		perms: map[int64]vcs.Permission{}, customRole: map[int64]string{}, threads: map[int]*thread{}, installed: true,
	}
	r.perms[g.addUser(owner, vcs.KindUser).ID] = vcs.PermissionAdmin
	g.repos[strings.ToLower(ref.FullName())] = r
	return r, nil
}

// Fork copies the repository to another owner; the App is not installed there.
func (r *Repo) Fork(owner string) (*Repo, error) {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	f, err := g.addRepo(owner, r.meta.Name)
	if err != nil {
		return nil, err
	}
	f.meta.Fork, f.installed = true, false
	return f, f.copy(r.bare, f.meta.DefaultBranch)
}

// Ref names the repository.
func (r *Repo) Ref() vcs.RepoRef { return r.meta.RepoRef }

// Info is what the API says of it.
func (r *Repo) Info() vcs.Repo {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	return r.meta
}

// CloneURL is the git remote.
func (r *Repo) CloneURL() string { return r.srv.base + "/" + r.meta.FullName() + ".git" }

// SetPrivate makes it private or public.
func (r *Repo) SetPrivate(private bool) {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	r.meta.Private = private
}

// SetInstalled adds or removes the App.
func (r *Repo) SetInstalled(installed bool) {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	r.installed = installed
}

// SetPermission gives an account its level.
func (r *Repo) SetPermission(login string, p vcs.Permission) error { return r.SetRole(login, "", p) }

// SetRole gives an account a custom role that extends the level.
func (r *Repo) SetRole(login, role string, p vcs.Permission) error {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	a, err := r.srv.user(login)
	if err != nil {
		return err
	}
	r.perms[a.ID], r.customRole[a.ID] = p, role
	return nil
}

// Protect refuses git pushes to a branch.
func (r *Repo) Protect(branch string) error {
	f, err := os.OpenFile(filepath.Join(r.dir, "protected"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("protecting %s: %w", branch, err)
	}
	_, err = fmt.Fprintf(f, "refs/heads/%s\n", branch)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// PushCommit commits files on a branch as the repository's owner and returns
// the commit. A new branch starts at the default branch. To delete a file, see
// DeleteFiles.
func (r *Repo) PushCommit(branch string, files map[string]string, message string) (sha string, err error) {
	return r.push(branch, pointers(files), message)
}

// DeleteFiles commits the removal of paths.
func (r *Repo) DeleteFiles(branch, message string, paths ...string) (sha string, err error) {
	return r.push(branch, removals(paths), message)
}

func (r *Repo) push(branch string, files map[string]*string, message string) (string, error) {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	owner, err := g.user(r.meta.Owner)
	if err != nil {
		return "", err
	}
	sha, err := r.write(branch, r.meta.DefaultBranch, files, message, owner.Login, g.now())
	if err != nil {
		return "", err
	}
	return sha, r.pushed(owner)
}

// pushed compares the branches with what was last seen, moves pull requests
// along and sends the hooks. It is called with mu held.
func (r *Repo) pushed(by vcs.Actor) error {
	g := r.srv
	before, moved, err := r.look()
	if err != nil {
		return err
	}
	for _, name := range moved {
		if r.installed {
			g.emit(g.site(g.now()).Push(r.meta, name, oldTip(before, name, r.tips[name]), r.tips[name], by))
		}
		if err := g.synchronize(r, name, by); err != nil {
			return err
		}
	}
	return nil
}

// synchronize moves the open pull requests of a branch, in all repositories.
func (g *GitHub) synchronize(head *Repo, branch string, by vcs.Actor) error {
	for _, base := range g.repos {
		for _, n := range slices.Sorted(maps.Keys(base.threads)) {
			t := base.threads[n]
			if t.pull == nil || !t.pull.Open || t.headRepo != head || t.pull.Head.Name != branch {
				continue
			}
			t.pull.Head.SHA = head.tips[branch]
			t.touch(g.now())
			if err := base.keepPullRef(t); err != nil {
				return err
			}
			g.emit(g.site(t.updated).Pull("synchronize", base.meta, &head.meta, *t.pull, by, nil))
		}
	}
	return nil
}

// keepPullRef makes refs/pull/N/head in the base, as GitHub does.
func (r *Repo) keepPullRef(t *thread) error {
	return r.keep(t.issue.HeadRef(), t.pull.Head.SHA, t.headRepo.bare)
}

// touch moves the time of the last change, which never stands still: versions
// of events are told apart by it.
func (t *thread) touch(now time.Time) {
	if !now.After(t.updated) {
		now = t.updated.Add(time.Second)
	}
	t.updated = now
}
