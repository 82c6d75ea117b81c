package local

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// selfID is the bot's account; the operator's is operatorID. A local forge
// has no others.
const (
	selfID     = 1
	operatorID = 2
)

// taskNumber is the number of the one thread.
const taskNumber = 1

// Forge is a checkout on disk. It implements vcs.Forge.
type Forge struct {
	at    checkout
	repo  vcs.RepoRef
	title string
	task  string
	now   func() time.Time

	mu       sync.Mutex
	comments []stored          // guarded by mu
	watch    func(vcs.Comment) // set by option, called without mu
}

// stored is a comment and the marker that identifies it.
type stored struct {
	marker string
	vcs.Comment
}

var _ vcs.Forge = (*Forge)(nil)

// Option changes how Open makes a Forge.
type Option func(*Forge)

// WithTask sets what the operator asks for: the text of the one issue.
func WithTask(title, body string) Option {
	return func(f *Forge) { f.title, f.task = title, body }
}

// WithClock replaces time.Now.
func WithClock(now func() time.Time) Option { return func(f *Forge) { f.now = now } }

// WithWatch has every comment that is put or edited passed on, to be printed.
func WithWatch(watch func(vcs.Comment)) Option { return func(f *Forge) { f.watch = watch } }

// Open finds the repository that path lies in: a work tree, a linked one, or
// a bare repository. vcs.ErrNotFound when there is none.
func Open(path string, opts ...Option) (*Forge, error) {
	at, err := find(path)
	if err != nil {
		return nil, err
	}
	f := &Forge{at: at, repo: at.ref(), title: "Task", now: time.Now}
	for _, o := range opts {
		o(f)
	}
	return f, f.repo.Validate()
}

// Root is the top directory of the work tree, absolute.
func (f *Forge) Root() string { return f.at.root }

// Ref names the repository as the forge's other methods want it.
func (f *Forge) Ref() vcs.RepoRef { return f.repo }

// Thread is the one thread there is.
func (f *Forge) Thread() vcs.Thread { return vcs.Thread{Repo: f.repo, Number: taskNumber} }

// Operator is the account of whoever sits at the terminal.
func (f *Forge) Operator() vcs.Actor {
	return vcs.Actor{ID: operatorID, Login: "operator", Kind: vcs.KindUser}
}

// Comments returns what was put into the thread, oldest first.
func (f *Forge) Comments() []vcs.Comment {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]vcs.Comment, len(f.comments))
	for i, c := range f.comments {
		out[i] = c.Comment
	}
	return out
}

func (f *Forge) check(ctx context.Context, repo vcs.RepoRef) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if repo != f.repo {
		return fmt.Errorf("%w: %s", vcs.ErrNotFound, repo)
	}
	return nil
}

func (f *Forge) checkThread(ctx context.Context, t vcs.Thread) error {
	if err := f.check(ctx, t.Repo); err != nil {
		return err
	}
	if t.Number != taskNumber || t.PullRequest {
		return fmt.Errorf("%w: %s", vcs.ErrNotFound, t)
	}
	return nil
}

// Self implements vcs.Forge.
func (f *Forge) Self(ctx context.Context) (vcs.Actor, error) {
	return vcs.Actor{ID: selfID, Login: "greenwright", Kind: vcs.KindBot}, ctx.Err()
}

// Permission implements vcs.Forge: the operator at the terminal may do all.
func (f *Forge) Permission(ctx context.Context, repo vcs.RepoRef, _ vcs.Actor) (vcs.Permission, error) {
	if err := f.check(ctx, repo); err != nil {
		return vcs.PermissionNone, err
	}
	return vcs.PermissionAdmin, nil
}

// Repo implements vcs.Forge. The default branch is the one checked out now;
// empty when HEAD is detached.
func (f *Forge) Repo(ctx context.Context, repo vcs.RepoRef) (vcs.Repo, error) {
	if err := f.check(ctx, repo); err != nil {
		return vcs.Repo{}, err
	}
	branch, err := f.at.branch()
	if err != nil {
		return vcs.Repo{}, fmt.Errorf("reading the branch of %s: %w", f.at.root, err)
	}
	return vcs.Repo{RepoRef: f.repo, ID: f.id(), DefaultBranch: branch, Private: true, URL: "file://" + f.at.root}, nil
}

// id is a positive number that stays the same for the path.
func (f *Forge) id() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.at.root)) // cannot fail
	return int64(binary.BigEndian.Uint64(h.Sum(nil)) >> 1)
}

// Remote implements vcs.Forge: the checkout itself, by its absolute path.
func (f *Forge) Remote(ctx context.Context, repo vcs.RepoRef, _ vcs.Access) (vcs.Remote, error) {
	if err := f.check(ctx, repo); err != nil {
		return vcs.Remote{}, err
	}
	return vcs.Remote{URL: f.at.root}, nil
}

// Issue implements vcs.Forge: the task.
func (f *Forge) Issue(ctx context.Context, t vcs.Thread) (vcs.Issue, error) {
	if err := f.checkThread(ctx, t); err != nil {
		return vcs.Issue{}, err
	}
	return vcs.Issue{Thread: t, Title: f.title, Body: f.task, Author: f.Operator(), Open: true, Comments: f.Comments()}, nil
}

// PutComment implements vcs.Forge, in memory.
func (f *Forge) PutComment(ctx context.Context, t vcs.Thread, c vcs.StickyComment) (vcs.Comment, error) {
	if err := f.checkThread(ctx, t); err != nil {
		return vcs.Comment{}, err
	}
	self, err := f.Self(ctx)
	if err != nil {
		return vcs.Comment{}, err
	}
	put := f.put(self, c)
	if f.watch != nil {
		f.watch(put)
	}
	return put, nil
}

func (f *Forge) put(self vcs.Actor, c vcs.StickyComment) vcs.Comment {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	for i := range f.comments {
		if s := &f.comments[i]; c.Marker != "" && s.marker == c.Marker {
			s.Body, s.UpdatedAt = c.Body, now
			return s.Comment
		}
	}
	id := int64(len(f.comments) + 1)
	f.comments = append(f.comments, stored{c.Marker, vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: vcs.IssueComment, ID: id},
		Author:     self, Body: c.Body, CreatedAt: now, UpdatedAt: now,
	}})
	return f.comments[len(f.comments)-1].Comment
}

// React implements vcs.Forge: nobody would see it.
func (f *Forge) React(ctx context.Context, t vcs.Thread, _ vcs.CommentRef, _ vcs.Reaction) error {
	return f.checkThread(ctx, t)
}

// PullRequest implements vcs.Forge: there are none, vcs.ErrUnsupported.
func (f *Forge) PullRequest(context.Context, vcs.Thread) (vcs.PullRequest, error) {
	return vcs.PullRequest{}, fmt.Errorf("%w: pull requests", vcs.ErrUnsupported)
}
