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
	dir string

	// Everything below is guarded by srv.mu.
	meta         vcs.Repo
	installed    bool
	perms        map[int64]vcs.Permission
	customRole   map[int64]string
	threads      map[int]*thread
	lastNumber   int
	remarkReview map[int64]int64 // review by remark
	checks       []*checkRun
	tips         map[string]string // branches as last seen, to tell what a push moved
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
	if err := g.git.initBare(r.dir, r.meta.DefaultBranch); err != nil {
		return nil, err
	}
	if _, err := g.git.commit(r.dir, r.meta.DefaultBranch, "", pointers(files), "Initial commit", owner, g.now()); err != nil {
		return nil, err
	}
	r.tips, err = g.git.branches(r.dir)
	return r, err
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
		srv: g, dir: filepath.Join(g.cfg.Dir, owner, name+".git"),
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
	if err := g.git.initBare(f.dir, f.meta.DefaultBranch); err != nil {
		return nil, err
	}
	if _, err := g.git.run(f.dir, nil, "fetch", "--quiet", r.dir, "+refs/heads/*:refs/heads/*"); err != nil {
		return nil, err
	}
	f.tips, err = g.git.branches(f.dir)
	return f, err
}

func pointers(files map[string]string) map[string]*string {
	out := make(map[string]*string, len(files))
	for p, c := range files {
		out[p] = &c
	}
	return out
}

// Ref names the repository.
func (r *Repo) Ref() vcs.RepoRef { return r.meta.RepoRef }

// Info is what the API says of it.
func (r *Repo) Info() vcs.Repo {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	return r.meta
}

// Dir is the bare repository on disk, for assertions with git.
func (r *Repo) Dir() string { return r.dir }

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
	files := map[string]*string{}
	for _, p := range paths {
		files[p] = nil
	}
	return r.push(branch, files, message)
}

func (r *Repo) push(branch string, files map[string]*string, message string) (string, error) {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := vcs.ValidateBranch(branch); err != nil {
		return "", err
	}
	from := r.tips[branch]
	if from == "" {
		from = r.tips[r.meta.DefaultBranch]
	}
	owner, err := g.user(r.meta.Owner)
	if err != nil {
		return "", err
	}
	sha, err := g.git.commit(r.dir, branch, from, files, message, owner.Login, g.now())
	if err != nil {
		return "", err
	}
	return sha, r.pushed(owner)
}

// Branches are the tips by name.
func (r *Repo) Branches() (map[string]string, error) { return r.srv.git.branches(r.dir) }

// File reads a file at a branch or commit.
func (r *Repo) File(rev, path string) (string, error) {
	return r.srv.git.run(r.dir, nil, "show", rev+":"+path)
}

// Log is the subjects of the commits of rev, the latest first.
func (r *Repo) Log(rev string) ([]string, error) {
	out, err := r.srv.git.run(r.dir, nil, "log", "--format=%s", rev)
	return strings.Split(out, "\n"), err
}

// pushed compares the branches with what was last seen, moves pull requests
// along and sends the hooks. It is called with mu held.
func (r *Repo) pushed(by vcs.Actor) error {
	g := r.srv
	tips, err := g.git.branches(r.dir)
	if err != nil {
		return err
	}
	before := r.tips
	r.tips = tips
	for _, name := range slices.Sorted(maps.Keys(tips)) {
		if before[name] == tips[name] {
			continue
		}
		old := before[name]
		if old == "" {
			old = strings.Repeat("0", len(tips[name]))
		}
		if r.installed {
			g.emit(g.site(g.now()).Push(r.meta, name, old, tips[name], by))
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
	ref := fmt.Sprintf("refs/pull/%d/head", t.pull.Number)
	if t.headRepo != r {
		if _, err := r.srv.git.run(r.dir, nil, "fetch", "--quiet", t.headRepo.dir, t.pull.Head.SHA); err != nil {
			return err
		}
	}
	_, err := r.srv.git.run(r.dir, nil, "update-ref", ref, t.pull.Head.SHA)
	return err
}

// touch moves the time of the last change, which never stands still: versions
// of events are told apart by it.
func (t *thread) touch(now time.Time) {
	if !now.After(t.updated) {
		now = t.updated.Add(time.Second)
	}
	t.updated = now
}
