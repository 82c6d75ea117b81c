package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlabwire"
)

// PullRequest reads a merge request.
func (f *Forge) PullRequest(ctx context.Context, t vcs.Thread) (vcs.PullRequest, error) {
	if err := validateMerge(t); err != nil {
		return vcs.PullRequest{}, err
	}
	doing := fmt.Sprintf("reading %s", t)
	m, err := f.mergeRequest(ctx, t)
	if err != nil {
		return vcs.PullRequest{}, f.mapError(doing, err)
	}
	out, err := f.pullOf(ctx, t, m)
	return out, f.mapError(doing, err)
}

func (f *Forge) mergeRequest(ctx context.Context, t vcs.Thread) (*gl.MergeRequest, error) {
	m := new(gl.MergeRequest)
	return m, f.read(ctx, t.Repo, threadPath(t), nil, m)
}

// pullOf converts a merge request. A head whose project was deleted, or is not
// visible to the token, has the zero Repo and so is never taken for a branch of
// the base.
func (f *Forge) pullOf(ctx context.Context, t vcs.Thread, m *gl.MergeRequest) (vcs.PullRequest, error) {
	author, err := actorOf(m.Author)
	if err != nil {
		return vcs.PullRequest{}, err
	}
	head, err := f.headOf(ctx, t, m)
	if err != nil {
		return vcs.PullRequest{}, fmt.Errorf("head: %w", err)
	}
	base, err := f.baseOf(ctx, t, m)
	if err != nil {
		return vcs.PullRequest{}, fmt.Errorf("base: %w", err)
	}
	t.PullRequest = true
	return vcs.PullRequest{
		Thread: t, Title: gitlabwire.Undrafted(m.Title), Body: m.Description, Author: author,
		// One in the state "locked" is being merged at this moment.
		Open: m.State == opened, Merged: m.State == "merged" || m.MergedAt != nil, Draft: m.Draft || m.WorkInProgress,
		Head: head, Base: base, MaintainerCanModify: m.AllowCollaboration, URL: m.WebURL,
	}, nil
}

func actorOf(u *gl.BasicUser) (vcs.Actor, error) {
	if u == nil {
		return vcs.Actor{}, nil
	}
	return userFacts{ID: int64(u.ID), Username: u.Username}.actor()
}

func (f *Forge) headOf(ctx context.Context, t vcs.Thread, m *gl.MergeRequest) (vcs.Branch, error) {
	out := vcs.Branch{Repo: t.Repo, Name: m.SourceBranch, SHA: m.SHA}
	if err := vcs.ValidateBranch(out.Name); err != nil {
		return vcs.Branch{}, err
	}
	if m.SourceProjectID != m.TargetProjectID || m.SourceProjectID == 0 {
		ref, err := f.sourceProject(ctx, m.SourceProjectID)
		if err != nil {
			return vcs.Branch{}, err
		}
		out.Repo = ref
	}
	if out.SHA == "" && out.Repo == t.Repo { // just opened: GitLab prepares it in the background
		tip, err := f.tip(ctx, t.Repo, out.Name)
		if err != nil {
			return vcs.Branch{}, err
		}
		out.SHA = tip
	}
	return out, vcs.ValidateSHA(out.SHA)
}

// sourceProject is the zero RepoRef when the project is gone or hidden.
func (f *Forge) sourceProject(ctx context.Context, id int) (vcs.RepoRef, error) {
	if id == 0 {
		return vcs.RepoRef{}, nil
	}
	p, err := f.projectFacts(ctx, idPath(int64(id)))
	if isNotFound(err) || hasStatus(err, http.StatusForbidden) {
		return vcs.RepoRef{}, nil
	}
	if err != nil {
		return vcs.RepoRef{}, err
	}
	return gitlabwire.Project(p.PathWithNamespace)
}

// baseOf has the tip of the target branch at the head's last push, as GitLab
// calls it the start; of a merge request just opened, the present one.
func (f *Forge) baseOf(ctx context.Context, t vcs.Thread, m *gl.MergeRequest) (vcs.Branch, error) {
	out := vcs.Branch{Repo: t.Repo, Name: m.TargetBranch, SHA: m.DiffRefs.StartSha}
	if err := vcs.ValidateBranch(out.Name); err != nil {
		return vcs.Branch{}, err
	}
	if out.SHA == "" {
		out.SHA = m.DiffRefs.BaseSha
	}
	if out.SHA == "" {
		tip, err := f.tip(ctx, t.Repo, out.Name)
		if err != nil {
			return vcs.Branch{}, err
		}
		out.SHA = tip
	}
	return out, vcs.ValidateSHA(out.SHA)
}

// branchFacts is a branch, with what the token's account may do to it.
type branchFacts struct {
	Protected bool `json:"protected"`
	CanPush   bool `json:"can_push"`
	Commit    struct {
		ID string `json:"id"`
	} `json:"commit"`
}

func (f *Forge) branch(ctx context.Context, repo vcs.RepoRef, name string) (branchFacts, error) {
	var b branchFacts
	err := f.read(ctx, repo, "/repository/branches/"+gl.PathEscape(name), nil, &b)
	return b, err
}

func (f *Forge) tip(ctx context.Context, repo vcs.RepoRef, name string) (string, error) {
	b, err := f.branch(ctx, repo, name)
	if err != nil {
		return "", fmt.Errorf("reading the branch %s: %w", name, err)
	}
	return b.Commit.ID, nil
}

// OpenPullRequest returns the open merge request of the head and base, or opens
// one as Config.MergeRequests says.
func (f *Forge) OpenPullRequest(ctx context.Context, n vcs.NewPullRequest) (vcs.PullRequest, error) {
	if err := validate(n.Repo); err != nil {
		return vcs.PullRequest{}, err
	}
	doing := fmt.Sprintf("opening a merge request in %s", n.Repo.FullName())
	for _, b := range []string{n.Head, n.Base} {
		if err := vcs.ValidateBranch(b); err != nil {
			return vcs.PullRequest{}, f.mapError(doing, err)
		}
	}
	m, err := f.findMerge(ctx, n)
	if err == nil && m == nil {
		m, err = f.createMerge(ctx, n)
	}
	if err != nil {
		return vcs.PullRequest{}, f.mapRefusal(doing, RoleDeveloper, err)
	}
	out, err := f.pullOf(ctx, vcs.Thread{Repo: n.Repo, Number: m.IID}, m)
	return out, f.mapError(doing, err)
}

// findMerge is nil when there is no open one. A listing has no diff references,
// so that what it finds is read again.
func (f *Forge) findMerge(ctx context.Context, n vcs.NewPullRequest) (*gl.MergeRequest, error) {
	var got []*gl.MergeRequest
	q := url.Values{"state": {opened}, "source_branch": {n.Head}, "target_branch": {n.Base}, "per_page": {strconv.Itoa(perPage)}}
	if err := f.read(ctx, n.Repo, "/merge_requests", q, &got); err != nil {
		return nil, fmt.Errorf("listing merge requests: %w", err)
	}
	for _, m := range got {
		// A fork's branch may have the same name.
		if m.State == opened && m.SourceBranch == n.Head && m.TargetBranch == n.Base && m.SourceProjectID == m.TargetProjectID && m.IID > 0 {
			return f.mergeRequest(ctx, vcs.Thread{Repo: n.Repo, Number: m.IID, PullRequest: true})
		}
	}
	return nil, nil
}

// createMerge opens one; somebody else opening it meanwhile is no error. GitLab
// takes a source branch that is not there, so that it is looked for.
func (f *Forge) createMerge(ctx context.Context, n vcs.NewPullRequest) (*gl.MergeRequest, error) {
	if _, err := f.tip(ctx, n.Repo, n.Head); isNotFound(err) {
		return nil, fmt.Errorf("%w: the branch %s is not there", vcs.ErrInvalid, n.Head)
	} else if err != nil {
		return nil, err
	}
	how := f.cfg.MergeRequests
	ask := gl.CreateMergeRequestOptions{
		SourceBranch: &n.Head, TargetBranch: &n.Base, Title: gl.Ptr(titleOf(n.Title, n.Draft)),
		Description: gl.Ptr(body(n.Body, maxBody)), RemoveSourceBranch: gl.Ptr(!how.KeepBranch),
	}
	if len(how.Labels) > 0 {
		ask.Labels = gl.Ptr(gl.LabelOptions(how.Labels))
	}
	if how.Squash {
		ask.Squash = gl.Ptr(true)
	}
	m := new(gl.MergeRequest)
	err := f.write(ctx, n.Repo, http.MethodPost, "/merge_requests", ask, m)
	if !hasStatus(err, http.StatusConflict) {
		return m, err
	}
	if found, findErr := f.findMerge(ctx, n); findErr == nil && found != nil {
		return found, nil
	}
	return nil, err
}

// EditPullRequest replaces title and body; empty leaves as it is. A draft stays
// one, and nothing becomes one.
func (f *Forge) EditPullRequest(ctx context.Context, t vcs.Thread, title, text string) error {
	if err := validateMerge(t); err != nil {
		return err
	}
	if title == "" && text == "" {
		return nil
	}
	doing := fmt.Sprintf("editing %s", t)
	var edit gl.UpdateMergeRequestOptions
	if title != "" {
		m, err := f.mergeRequest(ctx, t)
		if err != nil {
			return f.mapError(doing, err)
		}
		edit.Title = gl.Ptr(titleOf(title, m.Draft || m.WorkInProgress))
	}
	if text != "" {
		edit.Description = gl.Ptr(body(text, maxBody))
	}
	return f.mapRefusal(doing, RoleDeveloper, f.write(ctx, t.Repo, http.MethodPut, threadPath(t), edit, nil))
}

// RequestReview asks the reviewer to look again, beside those who are asked
// already. They come after: where GitLab allows one reviewer, it keeps the first.
func (f *Forge) RequestReview(ctx context.Context, t vcs.Thread, reviewer vcs.Actor) error {
	if err := validateMerge(t); err != nil {
		return err
	}
	doing := fmt.Sprintf("requesting a review of %s", t)
	if reviewer.ID <= 0 {
		return f.mapError(doing, fmt.Errorf("%w: account %d", vcs.ErrInvalid, reviewer.ID))
	}
	m, err := f.mergeRequest(ctx, t)
	if err != nil {
		return f.mapError(doing, err)
	}
	ids := []int{int(reviewer.ID)}
	for _, r := range m.Reviewers {
		if r != nil && int64(r.ID) != reviewer.ID {
			ids = append(ids, r.ID)
		}
	}
	err = f.write(ctx, t.Repo, http.MethodPut, threadPath(t), gl.UpdateMergeRequestOptions{ReviewerIDs: &ids}, nil)
	return f.mapRefusal(doing, RoleDeveloper, err)
}
