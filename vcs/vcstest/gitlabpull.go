package vcstest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// draftTitle is how GitLab marks a draft, which is part of the title.
var draftTitle = regexp.MustCompile(`^\s*(?i:\[draft\]|\(draft\)|draft:|draft -)\s*`)

// OpenPull opens a merge request from head ("branch", or "namespace:branch" of a
// fork) into base.
func (p *Project) OpenPull(login, head, base, title, body string) (vcs.PullRequest, error) {
	g := p.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.user(login)
	if err != nil {
		return vcs.PullRequest{}, err
	}
	source, branch := p.sourceOf(head)
	if source == nil || source.tips[branch] == "" || p.tips[base] == "" {
		return vcs.PullRequest{}, fmt.Errorf("%w: %s or %s in %s", vcs.ErrNotFound, head, base, p.meta.FullName())
	}
	t, err := p.addPull(a, source, branch, base, title)
	if err != nil {
		return vcs.PullRequest{}, err
	}
	t.act(a, &body)
	t.setBody(body)
	t.emitThread("open", a, "", nil)
	return *t.pull, nil
}

// sourceOf resolves a head; nil when there is no such project.
func (p *Project) sourceOf(head string) (*Project, string) {
	namespace, branch, found := strings.Cut(head, ":")
	if !found {
		return p, head
	}
	return p.srv.projects[strings.ToLower(namespace+"/"+p.meta.Name)], branch
}

func (p *Project) addPull(a vcs.Actor, source *Project, branch, base, title string) (*gitlabThread, error) {
	t := p.newThread(a, title, "", true)
	t.source = source
	t.pull = &vcs.PullRequest{
		Thread: t.issue.Thread, Author: a, Open: true, URL: t.issue.URL,
		Head:                vcs.Branch{Repo: source.meta.RepoRef, Name: branch, SHA: source.tips[branch]},
		Base:                vcs.Branch{Repo: p.meta.RepoRef, Name: base, SHA: p.tips[base]},
		MaintainerCanModify: source != p,
	}
	t.setTitle(title)
	return t, t.moved()
}

// setTitle takes the mark of a draft out of a title and keeps what it says.
func (t *gitlabThread) setTitle(title string) {
	bare := title
	if t.pull != nil {
		for draftTitle.MatchString(bare) {
			bare = draftTitle.ReplaceAllString(bare, "")
		}
		t.pull.Title, t.pull.Draft = bare, bare != title
	}
	t.issue.Title = bare
}

// title is the title with the mark.
func (t *gitlabThread) title() string {
	if t.pull != nil && t.pull.Draft {
		return "Draft: " + t.issue.Title
	}
	return t.issue.Title
}

// moved writes refs/merge-requests/N/head into the target's repository, as
// GitLab does in the background, and looks at the target branch's tip.
func (t *gitlabThread) moved() error {
	p := t.project
	t.startSHA = p.tips[t.pull.Base.Name]
	t.pull.Base.SHA = t.startSHA
	return p.keep(t.issue.HeadRef(), t.pull.Head.SHA, t.source.bare)
}

// synchronize moves the open merge requests from a branch, in all projects.
func (g *GitLab) synchronize(source *Project, branch string, by vcs.Actor) error {
	for _, target := range g.sortedProjects() {
		for _, t := range target.row(true) {
			if !t.pull.Open || t.source != source || t.pull.Head.Name != branch {
				continue
			}
			if err := t.follow(source.tips[branch], by); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *gitlabThread) follow(tip string, by vcs.Actor) error {
	old := t.pull.Head.SHA
	t.pull.Head.SHA = tip
	t.touch()
	if err := t.moved(); err != nil {
		return err
	}
	for _, d := range t.discussions {
		if d.at != nil && d.head == old {
			if err := t.carry(d, tip, by); err != nil {
				return err
			}
		}
	}
	t.record(nil, by, "added 1 commit")
	t.emitThread("update", by, old, nil)
	return nil
}

// changedLines is where a piece of a diff without context begins and how long
// it is, before and after.
var changedLines = regexp.MustCompile(`(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// carry moves a remark's position along with a push, as GitLab does while its
// line is there; else it stays behind, outdated, and GitLab says so.
func (t *gitlabThread) carry(d *discussion, tip string, by vcs.Actor) error {
	out, err := t.project.srv.git.run(t.project.dir, nil, "diff", "-U0", d.head, tip, "--", d.at.Path)
	if err != nil {
		return err
	}
	shift := 0
	for _, m := range changedLines.FindAllStringSubmatch(out, -1) {
		from, before, after := number(m[1]), count(m[2]), count(m[4])
		if before == 0 {
			from++ // inserted after that line
		}
		if from > d.at.Line {
			break
		}
		if d.at.Line < from+before {
			t.record(d, by, "changed this line in version 2 of the diff")
			return nil
		}
		shift += after - before
	}
	d.head, d.base = tip, t.startSHA
	d.at.Line += shift
	if d.at.StartLine > 0 {
		d.at.StartLine += shift
	}
	return nil
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// count is the length in a diff's header; none is one line.
func count(s string) int {
	if s == "" {
		return 1
	}
	return number(s)
}

// Merge marks a merge request as merged; it moves no branch.
func (p *Project) Merge(number int, login string) error {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	a, err := p.srv.user(login)
	if err != nil {
		return err
	}
	t := p.pull(number)
	if t == nil {
		return fmt.Errorf("%w: merge request %d", vcs.ErrNotFound, number)
	}
	t.merge(a)
	return nil
}

func (t *gitlabThread) merge(by vcs.Actor) {
	t.setOpen(false)
	t.pull.Merged = true
	t.touch()
	t.emitThread("merge", by, "", nil)
}
