package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/sticky"
)

// newestPages bounds the newest notes that Issue reads of a long thread, beside
// the first page.
const newestPages = 2

// oldestFirst lists notes as they were written.
func oldestFirst() url.Values {
	return url.Values{"order_by": {"created_at"}, "sort": {"asc"}}
}

func newestFirst() url.Values {
	return url.Values{"order_by": {"created_at"}, "sort": {"desc"}}
}

// Issue reads the opening text and the conversation, without GitLab's own notes
// and without those on lines of a diff; of a thread with 300 notes and more
// the first hundred and the last two hundred, marked Truncated.
func (f *Forge) Issue(ctx context.Context, t vcs.Thread) (vcs.Issue, error) {
	if err := validateThread(t); err != nil {
		return vcs.Issue{}, err
	}
	doing := fmt.Sprintf("reading %s", t)
	var facts threadFacts
	if err := f.read(ctx, t.Repo, threadPath(t), nil, &facts); err != nil {
		return vcs.Issue{}, f.mapError(doing, err)
	}
	out, err := facts.issue(t)
	if err != nil {
		return vcs.Issue{}, f.mapError(doing, err)
	}
	notes, truncated, err := f.conversation(ctx, t)
	if err != nil {
		return vcs.Issue{}, f.mapError(doing, err)
	}
	out.Truncated = truncated
	for _, n := range notes {
		if n.System || isDiff(n) {
			continue
		}
		c, err := f.comment(t, n)
		if err != nil {
			return vcs.Issue{}, f.mapError(doing, err)
		}
		out.Comments = append(out.Comments, c)
	}
	return out, nil
}

// conversation reads a thread's notes, oldest first: all, or the two ends.
func (f *Forge) conversation(ctx context.Context, t vcs.Thread) (notes []*gl.Note, truncated bool, err error) {
	path := pathOf(t.Repo) + threadPath(t) + "/notes"
	more, err := list(ctx, f, path, oldestFirst(), 1, func(got []*gl.Note) bool { notes = append(notes, got...); return false })
	if err != nil || !more {
		return notes, false, err
	}
	first := map[int]bool{}
	for _, n := range notes {
		first[n.ID] = true
	}
	var newest []*gl.Note
	met := false // the first page: nothing is left out
	_, err = list(ctx, f, path, newestFirst(), newestPages, func(got []*gl.Note) bool {
		for _, n := range got {
			if met = met || first[n.ID]; !met {
				newest = append(newest, n)
			}
		}
		return met
	})
	slices.Reverse(newest)
	return append(notes, newest...), !met, err
}

// PutComment edits the own note whose first line is the marker, or creates it.
// An internal note that GitLab made public, as versions do that know none, is
// deleted again: vcs.ErrUnsupported.
func (f *Forge) PutComment(ctx context.Context, t vcs.Thread, s vcs.StickyComment) (vcs.Comment, error) {
	if err := validateThread(t); err != nil {
		return vcs.Comment{}, err
	}
	return f.putNote(ctx, t, s, place{
		doing: fmt.Sprintf("writing a comment on %s", t), key: t.Key() + " " + s.Marker,
		find:   func(own mine) (int64, error) { return f.findNote(ctx, t, own) },
		create: func(text string) (*gl.Note, error) { return f.createNote(ctx, t, text, s.Internal) },
	})
}

// place is where a sticky note stands.
type place struct {
	doing, key string
	find       func(own mine) (id int64, err error)
	create     func(text string) (*gl.Note, error)
}

// mine tells the note of our account that begins with a marker's line.
type mine struct {
	self vcs.Actor
	line string
}

func (m mine) is(n *gl.Note) bool {
	return !n.System && int64(n.Author.ID) == m.self.ID && sticky.Begins(n.Body, m.line)
}

// putNote edits or creates a sticky note.
func (f *Forge) putNote(ctx context.Context, t vcs.Thread, s vcs.StickyComment, p place) (vcs.Comment, error) {
	line, err := sticky.Line(s.Marker)
	if err != nil {
		return vcs.Comment{}, f.mapError(p.doing, err)
	}
	self, err := f.Self(ctx)
	if err != nil {
		return vcs.Comment{}, err
	}
	text := line + body(s.Body, maxBody-len(line))
	n, err := sticky.Put(ctx, f.stickies, p.key, sticky.Ways[*gl.Note]{
		Edit:   func(id int64) (*gl.Note, error) { return f.editNote(ctx, t, id, text) },
		Find:   func() (int64, error) { return p.find(mine{self: self, line: line}) },
		Create: func() (*gl.Note, error) { return p.create(text) },
		ID:     func(n *gl.Note) int64 { return int64(n.ID) },
		Gone:   isNotFound,
	})
	if err != nil {
		return vcs.Comment{}, f.mapRefusal(p.doing, RoleReporter, err)
	}
	out, err := f.comment(t, n)
	return out, f.mapError(p.doing, err)
}

// noteBody is what is written of a note. GitLab renamed confidential to
// internal in 15.5; both are sent.
type noteBody struct {
	Body         string `json:"body"`
	Internal     bool   `json:"internal,omitempty"`
	Confidential bool   `json:"confidential,omitempty"`
}

func (f *Forge) createNote(ctx context.Context, t vcs.Thread, text string, hidden bool) (*gl.Note, error) {
	n := new(gl.Note)
	in := noteBody{Body: text, Internal: hidden, Confidential: hidden}
	if err := f.write(ctx, t.Repo, http.MethodPost, threadPath(t)+"/notes", in, n); err != nil {
		return nil, err
	}
	if n.ID <= 0 {
		return nil, fmt.Errorf("%w: a note was written that has no id", vcs.ErrUnavailable)
	}
	if !hidden || isInternal(n) {
		return n, nil
	}
	if err := f.write(ctx, t.Repo, http.MethodDelete, notePath(t, int64(n.ID)), nil, nil); err != nil {
		return nil, fmt.Errorf("%w: GitLab made an internal note public, and deleting it ended in: %w", vcs.ErrUnsupported, err)
	}
	return nil, fmt.Errorf("%w: internal notes on %s", vcs.ErrUnsupported, t)
}

func (f *Forge) editNote(ctx context.Context, t vcs.Thread, id int64, text string) (*gl.Note, error) {
	n := new(gl.Note)
	err := f.write(ctx, t.Repo, http.MethodPut, notePath(t, id), noteBody{Body: text}, n)
	return n, err
}

func notePath(t vcs.Thread, id int64) string {
	return threadPath(t) + "/notes/" + strconv.FormatInt(id, 10)
}

// findNote looks for an own note with the marker; 0 is none. Answers to remarks
// on a diff have their own (review.go).
func (f *Forge) findNote(ctx context.Context, t vcs.Thread, own mine) (int64, error) {
	var found int64
	more, err := list(ctx, f, pathOf(t.Repo)+threadPath(t)+"/notes", oldestFirst(), maxPages, func(got []*gl.Note) bool {
		for _, n := range got {
			if found == 0 && !isDiff(n) && own.is(n) {
				found = int64(n.ID)
			}
		}
		return found != 0
	})
	if err == nil && more {
		err = fmt.Errorf("%w: more than %d notes", vcs.ErrUnsupported, maxPages*perPage)
	}
	return found, err
}

// React leaves an award emoji; GitLab keeps one of a name per account, and
// refuses the second.
func (f *Forge) React(ctx context.Context, t vcs.Thread, ref vcs.CommentRef, r vcs.Reaction) error {
	if err := validateThread(t); err != nil {
		return err
	}
	doing := fmt.Sprintf("reacting on %s", t)
	path := threadPath(t)
	switch ref.Kind {
	case vcs.ThreadBody:
	case vcs.IssueComment, vcs.ReviewRemark:
		path = notePath(t, ref.ID)
	default:
		return fmt.Errorf("gitlab: %s: %w: a reaction on %q", doing, vcs.ErrUnsupported, ref.Kind)
	}
	path += "/award_emoji"
	err := f.write(ctx, t.Repo, http.MethodPost, path, map[string]string{"name": string(r)}, nil)
	if isNotFound(err) || hasStatus(err, http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity) {
		// "404 Award Emoji Name has already been taken Not Found", among others.
		if has, findErr := f.hasReacted(ctx, t, path, r); findErr == nil && has {
			return nil
		}
	}
	return f.mapRefusal(doing, RoleGuest, err)
}

// hasReacted reports whether our account's reaction is there.
func (f *Forge) hasReacted(ctx context.Context, t vcs.Thread, path string, r vcs.Reaction) (bool, error) {
	self, err := f.Self(ctx)
	if err != nil {
		return false, err
	}
	found := false
	_, err = list(ctx, f, pathOf(t.Repo)+path, nil, maxPages, func(got []*gl.AwardEmoji) bool {
		for _, e := range got {
			found = found || e.Name == string(r) && int64(e.User.ID) == self.ID
		}
		return found
	})
	return found, err
}
