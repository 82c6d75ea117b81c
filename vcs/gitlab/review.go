package gitlab

import (
	"context"
	"fmt"
	"net/http"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
)

// Review reads the review that a note is part of. GitLab publishes a review note
// by note and keeps no name for the whole: it is every discussion of the merge
// request that can be resolved and in which the note's author has written since
// our account last did.
func (f *Forge) Review(ctx context.Context, t vcs.Thread, id int64) (vcs.Review, error) {
	if err := validateMerge(t); err != nil {
		return vcs.Review{}, err
	}
	doing := fmt.Sprintf("reading a review of %s", t)
	out, err := f.review(ctx, t, id)
	if err != nil {
		return vcs.Review{}, f.mapError(doing, err)
	}
	return out, nil
}

func (f *Forge) review(ctx context.Context, t vcs.Thread, id int64) (vcs.Review, error) {
	self, err := f.Self(ctx)
	if err != nil {
		return vcs.Review{}, err
	}
	m, err := f.mergeRequest(ctx, t)
	if err != nil {
		return vcs.Review{}, err
	}
	all, err := f.discussions(ctx, t)
	if err != nil {
		return vcs.Review{}, err
	}
	n := findIn(all, id)
	if n == nil {
		return vcs.Review{}, fmt.Errorf("%w: note %d", vcs.ErrNotFound, id)
	}
	c, err := f.comment(t, n)
	if err != nil {
		return vcs.Review{}, err
	}
	out := vcs.Review{ID: id, Author: c.Author, SubmittedAt: c.CreatedAt, URL: c.URL, CommitSHA: headOfDiff(m)}
	if p := n.Position; p != nil && p.HeadSHA != "" {
		out.CommitSHA = p.HeadSHA
	}
	if err := vcs.ValidateSHA(out.CommitSHA); err != nil {
		return vcs.Review{}, err
	}
	if out.State, err = f.verdict(ctx, t, c.Author); err != nil {
		return vcs.Review{}, err
	}
	out.Remarks, err = f.unanswered(t, all, m, c.Author, self)
	return out, err
}

// headOfDiff is the commit that the present diff ends in.
func headOfDiff(m *gl.MergeRequest) string {
	if m.DiffRefs.HeadSha != "" {
		return m.DiffRefs.HeadSha
	}
	return m.SHA
}

// discussions reads all of a merge request, oldest first.
func (f *Forge) discussions(ctx context.Context, t vcs.Thread) ([]*gl.Discussion, error) {
	all, err := collect[*gl.Discussion](ctx, f, pathOf(t.Repo)+threadPath(t)+"/discussions", nil)
	if err != nil {
		return nil, fmt.Errorf("listing discussions: %w", err)
	}
	return all, nil
}

// findIn looks for a note of a person.
func findIn(all []*gl.Discussion, id int64) *gl.Note {
	for _, d := range all {
		for _, n := range d.Notes {
			if int64(n.ID) == id && !n.System {
				return n
			}
		}
	}
	return nil
}

// verdict is what the author has told GitLab of the whole, where a version
// keeps that.
func (f *Forge) verdict(ctx context.Context, t vcs.Thread, author vcs.Actor) (vcs.ReviewState, error) {
	var all []*gl.MergeRequestReviewer
	err := f.read(ctx, t.Repo, threadPath(t)+"/reviewers", nil, &all)
	if err != nil && !isNotFound(err) {
		return "", fmt.Errorf("listing reviewers: %w", err)
	}
	for _, r := range all {
		if r.User != nil && int64(r.User.ID) == author.ID && r.State == "requested_changes" {
			return vcs.ReviewChangesRequested, nil
		}
	}
	return vcs.ReviewCommented, nil
}

// unanswered are the discussions with a note of the author after our last one.
func (f *Forge) unanswered(t vcs.Thread, all []*gl.Discussion, m *gl.MergeRequest, author, self vcs.Actor) ([]vcs.ReviewThread, error) {
	out := []vcs.ReviewThread{}
	for _, d := range all {
		if len(d.Notes) == 0 || !isRemark(t, d.Notes[0]) || !speaksLast(d, author, self) {
			continue
		}
		th, err := f.remark(t, d, headOfDiff(m))
		if err != nil {
			return nil, err
		}
		out = append(out, th)
	}
	return out, nil
}

// speaksLast reports whether the author has a note after our account's last.
func speaksLast(d *gl.Discussion, author, self vcs.Actor) bool {
	waits := false
	for _, n := range d.Notes {
		switch {
		case n.System:
		case int64(n.Author.ID) == self.ID:
			waits = false
		case int64(n.Author.ID) == author.ID:
			waits = true
		}
	}
	return waits
}

// remark converts a discussion.
func (f *Forge) remark(t vcs.Thread, d *gl.Discussion, head string) (vcs.ReviewThread, error) {
	opening := d.Notes[0]
	out := vcs.ReviewThread{ID: int64(opening.ID), Resolved: true}
	if p := opening.Position; p != nil {
		locate(&out, p, head)
	}
	resolvable := false
	for _, n := range d.Notes {
		if n.System {
			continue
		}
		c, err := f.comment(t, n)
		if err != nil {
			return vcs.ReviewThread{}, err
		}
		c.Kind = vcs.ReviewRemark
		out.Comments = append(out.Comments, c)
		if n.Resolvable {
			resolvable = true
			out.Resolved = out.Resolved && n.Resolved
		}
	}
	out.Resolved = out.Resolved && resolvable
	return out, nil
}

// locate fills where a remark stands. GitLab moves the position of a remark
// along with each push for as long as its line is in the diff, so that one that
// was left behind at an older head is outdated.
func locate(out *vcs.ReviewThread, p *gl.NotePosition, head string) {
	out.Path = p.NewPath
	if out.Path == "" || p.NewLine == 0 && p.OldLine != 0 {
		out.Path = p.OldPath
	}
	out.Outdated = p.HeadSHA != head
	if out.Side = "RIGHT"; p.NewLine == 0 {
		out.Side = "LEFT"
	}
	if p.NewLine == 0 && p.OldLine == 0 { // about the whole file, or a picture
		out.Side = ""
	}
	if out.Outdated {
		return
	}
	out.Line = max(p.NewLine, 0)
	if out.Side == "LEFT" {
		out.Line = max(p.OldLine, 0)
	}
	if r := p.LineRange; r != nil && r.StartRange != nil {
		start := r.StartRange.NewLine
		if out.Side == "LEFT" {
			start = r.StartRange.OldLine
		}
		if start > 0 && start < out.Line {
			out.StartLine = start
		}
	}
}

// ReplyToRemark answers in a discussion, or edits the answer that has the
// marker. An answer in an internal discussion is internal whatever is asked.
func (f *Forge) ReplyToRemark(ctx context.Context, t vcs.Thread, id int64, s vcs.StickyComment) (vcs.Comment, error) {
	if err := validateMerge(t); err != nil {
		return vcs.Comment{}, err
	}
	discussion := ""
	out, err := f.putNote(ctx, t, s, place{
		doing: fmt.Sprintf("answering a remark on %s", t), key: fmt.Sprint(t.Key(), " ", id, " ", s.Marker),
		find: func(own mine) (known int64, err error) {
			discussion, known, err = f.findAnswer(ctx, t, id, own)
			return known, err
		},
		create: func(text string) (*gl.Note, error) { return f.answer(ctx, t, discussion, text) },
	})
	if err == nil {
		out.Kind = vcs.ReviewRemark
	}
	return out, err
}

// findAnswer finds the discussion that begins with the note, and in it our
// answer; 0 is none.
func (f *Forge) findAnswer(ctx context.Context, t vcs.Thread, id int64, own mine) (discussion string, answer int64, err error) {
	all, err := f.discussions(ctx, t)
	if err != nil {
		return "", 0, err
	}
	for _, d := range all {
		if len(d.Notes) == 0 || int64(d.Notes[0].ID) != id || d.Notes[0].System {
			continue
		}
		for _, n := range d.Notes[1:] {
			if own.is(n) {
				return d.ID, int64(n.ID), nil
			}
		}
		return d.ID, 0, nil
	}
	return "", 0, fmt.Errorf("%w: no discussion begins with note %d", vcs.ErrNotFound, id)
}

func (f *Forge) answer(ctx context.Context, t vcs.Thread, discussion, text string) (*gl.Note, error) {
	n := new(gl.Note)
	path := threadPath(t) + "/discussions/" + gl.PathEscape(discussion) + "/notes"
	return n, f.write(ctx, t.Repo, http.MethodPost, path, noteBody{Body: text}, n)
}
