package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// What only GitLab has, seen from the thread (rules G2, G3, G6, T6).

// onGitLab starts the program against a GitLab.
func onGitLab(t *testing.T, steps ...modeltest.Step) (*world, *vcstest.Project) {
	t.Helper()
	w := startOn(t, vcs.GitLab, project(), steps, scripted)
	return w, w.repo.(*vcstest.Project)
}

// told is all that the model was told.
func (w *world) told() string {
	var b strings.Builder
	for _, r := range w.model.Requests() {
		for _, m := range r.Messages {
			b.WriteString(m.Plain() + "\n")
		}
	}
	return b.String()
}

func answering(text string) []modeltest.Step {
	answer := modeltest.Do(modeltest.Call{Name: "finish", Args: map[string]any{"summary": "read it", "answer": text}})
	return []modeltest.Step{modeltest.Do(read("add.sh")), answer, answer}
}

// TestInternalNote: what is asked where only members read is answered there
// alone, and is not published in a project that others read.
func TestInternalNote(t *testing.T) {
	w, p := onGitLab(t, answering("It subtracts.")...)
	issue, err := p.OpenIssue("maintainer", "Adding is wrong", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.CommentInternally(issue.Number, "maintainer", "/agent fix it, the customer is Hopper & Sons"); err != nil {
		t.Fatal(err)
	}
	refusal := w.awaitText(issue.Number, "not for everybody")
	if !refusal.Internal {
		t.Errorf("the refusal can be read by everybody: %s", refusal.Body)
	}
	if _, err := p.CommentInternally(issue.Number, "maintainer", "/agent ask why?"); err != nil {
		t.Fatal(err)
	}
	w.awaitText(issue.Number, "It subtracts.")
	for _, c := range w.ours(issue.Number) {
		if !c.Internal {
			t.Errorf("everybody can read an answer to an internal note: %s", c.Body)
		}
	}
	if n := len(w.pulls()); n != 0 {
		t.Errorf("%d merge requests", n)
	}
}

// TestInternalNotesAreNotShownToEverybody: nor to a model whose answer
// everybody can read.
func TestInternalNotesAreNotShownToEverybody(t *testing.T) {
	w, p := onGitLab(t, answering("It subtracts.")...)
	issue, err := p.OpenIssue("maintainer", "Adding is wrong", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.CommentInternally(issue.Number, "maintainer", "the customer is Hopper & Sons"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Comment(issue.Number, "maintainer", "/agent ask why?"); err != nil {
		t.Fatal(err)
	}
	if last := w.awaitText(issue.Number, "It subtracts."); last.Internal {
		t.Error("an answer for everybody is internal")
	}
	if text := w.told(); strings.Contains(text, "Hopper") || !strings.Contains(text, "Adding is wrong") {
		t.Errorf("the model was told:\n%s", text)
	}
}

// TestConfidentialIssue: nothing of it is published in a project that others
// read; in a private one it is worked on.
func TestConfidentialIssue(t *testing.T) {
	for name, private := range map[string]bool{"public": false, "private": true} {
		t.Run(name, func(t *testing.T) {
			w, p := onGitLab(t, repair()...)
			p.SetPrivate(private)
			issue, err := p.OpenConfidentialIssue("maintainer", "Adding is wrong", "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Comment(issue.Number, "maintainer", "/agent fix"); err != nil {
				t.Fatal(err)
			}
			want, pulls := "not for everybody", 0
			if private {
				want, pulls = "Done and verified", 1
			}
			w.awaitText(issue.Number, want)
			if n := len(w.pulls()); n != pulls {
				t.Errorf("%d merge requests, want %d", n, pulls)
			}
		})
	}
}

// TestEditedNote: GitLab does not tell what a note said before; what it asks
// for counts once (rule T6).
func TestEditedNote(t *testing.T) {
	w, p := onGitLab(t, answering("It subtracts.")...)
	issue, err := p.OpenIssue("maintainer", "Adding is wrong", "")
	if err != nil {
		t.Fatal(err)
	}
	note, err := p.Comment(issue.Number, "maintainer", "Hello.")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"/agent ask why?", "Hello again.\n\n/agent ask why?", "Hello, you.\n\n/agent ask why?"} {
		time.Sleep(1100 * time.Millisecond) // the resolution of a note's times
		if err := p.EditComment(note.ID, "maintainer", text); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitText(issue.Number, "It subtracts.")
	if err := w.hub.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.await("the other edits", func() error {
		if n := strings.Count(w.log.String(), "asked for this before"); n != 2 {
			return fmt.Errorf("%d were recognised", n)
		}
		return nil
	})
	if r := w.reports(); len(r) != 1 || r[0].State != jobs.Answered {
		t.Errorf("journal says %+v", r)
	}
}

// TestRulesOfTheProject: what would be refused is said before any work begins
// (rules P7, G6).
func TestRulesOfTheProject(t *testing.T) {
	cases := map[string]struct {
		set  func(p *vcstest.Project) error
		want string
	}{
		"protected branches": {func(p *vcstest.Project) error { return p.Protect("greenwright/*") }, "is protected"},
		"push rule": {func(p *vcstest.Project) error {
			p.SetPushRule("JIRA-[0-9]+")
			return p.SetPermission("greenwright", vcs.PermissionMaintain) // developers are not told of push rules
		}, "commit messages that match"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, p := onGitLab(t)
			if err := c.set(p); err != nil {
				t.Fatal(err)
			}
			number, _ := w.issue("Adding is wrong", "", "/agent fix")
			last := w.awaitText(number, "Refused")
			if !strings.Contains(last.Body, c.want) || len(w.model.Requests()) != 0 {
				t.Errorf("after %d requests to the model:\n%s", len(w.model.Requests()), last.Body)
			}
		})
	}
}

// TestQuestionAboutAForksMergeRequest reads its head by the ref that GitLab
// keeps in the target project (rule G3).
func TestQuestionAboutAForksMergeRequest(t *testing.T) {
	w, p := onGitLab(t, modeltest.Do(read("theirs.txt")), answering("It says hello.")[1], answering("It says hello.")[1])
	fork, err := p.Fork("contributor")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fork.PushCommit("theirs", map[string]string{"theirs.txt": "hello from the fork\n"}, "theirs"); err != nil {
		t.Fatal(err)
	}
	pr, err := p.OpenPull("contributor", "contributor:theirs", "main", "Theirs", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Comment(pr.Number, "maintainer", "/agent ask what is in theirs.txt?"); err != nil {
		t.Fatal(err)
	}
	w.awaitText(pr.Number, "It says hello.")
	if text := w.told(); !strings.Contains(text, "theirs.txt (named; its words)") { // among the files of the head
		t.Errorf("the model has not seen the fork's files:\n%s", text)
	}
}

// TestQuickActionsOfAModel: what a model writes does nothing on GitLab (rule L4).
func TestQuickActionsOfAModel(t *testing.T) {
	w, p := onGitLab(t, answering("Sure:\n/close\n/merge\n```\n/assign @all\n```\n  /approve\nHello @all")...)
	number, _ := w.issue("Adding is wrong", "", "/agent ask why?")
	last := w.awaitText(number, "Sure:")
	for line := range strings.Lines(last.Body) {
		if strings.HasPrefix(line, "/") {
			t.Errorf("a line is a quick action: %q", line)
		}
	}
	if strings.Contains(last.Body, "@all") {
		t.Errorf("everybody is notified:\n%s", last.Body)
	}
	for _, i := range p.Issues() {
		if i.Number == number && !i.Open {
			t.Error("the issue was closed")
		}
	}
}

// TestRemarksLaterThanTheReview: a remark in a thread that we have answered is
// a job of its own, which answers that thread alone.
func TestRemarksLaterThanTheReview(t *testing.T) {
	more := append(repair(), modeltest.Do(read("add.sh")), modeltest.Do(write("a.txt", "a\n")), modeltest.Do(finish("x")), modeltest.Do(finish("x")),
		modeltest.Do(read("add.sh")), modeltest.Do(write("b.txt", "b\n")), modeltest.Do(finish("y")), modeltest.Do(finish("y")))
	w, p := onGitLab(t, more...)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "Done and verified")
	pr := w.pulls()[0]
	review, err := p.SubmitReview("maintainer", pr.Number, vcs.ReviewCommented, "", vcstest.Remark{Path: "add.sh", Line: 1, Body: "write a"}, vcstest.Remark{Path: "add.sh", Line: 1, Body: "and more"})
	if err != nil {
		t.Fatal(err)
	}
	answers := func(n, want int) func() error {
		return func() error {
			if got := len(p.Reviews(pr.Number)[0].Remarks[n].Comments); got < want {
				return fmt.Errorf("thread %d has %d notes", n, got)
			}
			return nil
		}
	}
	w.await("two answers", answers(1, 2))
	w.await("the end", func() error {
		if n := len(w.reports()); n != 2 {
			return fmt.Errorf("%d runs", n)
		}
		return nil
	})
	if _, err := p.SubmitReview("maintainer", pr.Number, vcs.ReviewCommented, "", vcstest.Remark{InReplyTo: review.Remarks[0].ID, Body: "now b"}); err != nil {
		t.Fatal(err)
	}
	w.await("the second answer", answers(0, 4))
	if n := len(p.Reviews(pr.Number)[0].Remarks[1].Comments); n != 2 {
		t.Errorf("the other thread has %d notes, want 2", n)
	}
}

// TestInternalDiscussionInAReview: nor is an internal thread on a merge request
// part of a review whose job everybody can read.
func TestInternalDiscussionInAReview(t *testing.T) {
	w, p := onGitLab(t, append(repair(), modeltest.Do(finish("x")), modeltest.Do(finish("x")))...)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "Done and verified")
	pr := w.pulls()[0]
	secret, err := p.DiscussInternally(pr.Number, "maintainer", "the customer is Hopper & Sons")
	if err != nil {
		t.Fatal(err)
	}
	w.awaitText(pr.Number, "not for everybody")
	if _, err := p.SubmitReview("maintainer", pr.Number, vcs.ReviewCommented, "", vcstest.Remark{Path: "add.sh", Line: 1, Body: "say what it does"}); err != nil {
		t.Fatal(err)
	}
	w.awaitText(pr.Number, "journal head")
	if text := w.told(); strings.Contains(text, "Hopper") || !strings.Contains(text, "say what it does") {
		t.Errorf("the model was told:\n%s", text)
	}
	for _, c := range w.ours(pr.Number) {
		if !c.Internal && strings.Contains(c.Body, "Hopper") || c.ID == secret.ID {
			t.Errorf("everybody is told: %s", c.Body)
		}
	}
}

// TestServiceAccountIsNoPerson: its name does not tell what it is, and GitLab's
// events do not either (rule L2).
func TestServiceAccountIsNoPerson(t *testing.T) {
	w, p := onGitLab(t)
	w.hub.(*vcstest.GitLab).CreateBot("renovate")
	if err := p.SetPermission("renovate", vcs.PermissionWrite); err != nil {
		t.Fatal(err)
	}
	issue, err := p.OpenIssue("maintainer", "Adding is wrong", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Comment(issue.Number, "renovate", "/agent fix"); err != nil {
		t.Fatal(err)
	}
	w.await("the decision", func() error {
		if !strings.Contains(w.log.String(), "bot renovate is not named in policy.bots") {
			return fmt.Errorf("none yet")
		}
		return nil
	})
	if c, r := w.ours(issue.Number), w.repo.Reactions(issue.Number); len(c)+len(r) != 0 {
		t.Errorf("a bot got %+v, %+v", c, r)
	}
}
