package publish

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// maxSubject is the usual width of a commit's first line.
const maxSubject = 72

// trailer is a line that could be read as one (git-interpret-trailers(1)).
var trailer = regexp.MustCompile(`(?m)^[ \t]*([A-Za-z0-9-]+[ \t]*:)`)

// skipsChecks is what keeps forges from running checks on a commit (GitHub
// Docs, "Skipping workflow runs"; GitLab Docs, "Skip a pipeline").
var skipsChecks = regexp.MustCompile(`(?i)\[\s*((?:skip[ -]?(?:ci|actions))|(?:(?:ci|actions)[ -]?skip)|no[ -]?ci)\s*\]`)

// Commit makes the commit of a tree on top of parent (rule O3): the bot is the
// author, whoever asked is named, and so is the run. Subject and body may be
// somebody else's text: they add no trailer, close no issue and switch no check
// off. The same arguments make the same commit.
func (p *Publisher) Commit(ctx context.Context, tree, parent, subject, body string, when time.Time) (string, error) {
	sig := git.Signature{Name: p.Self.Login, Email: p.noreply(p.Self), When: when}
	spec := git.CommitSpec{Tree: tree, Parents: []string{parent}, Author: sig, Committer: sig, Message: p.message(subject, body)}
	sha, err := p.Mirror.Commit(ctx, spec)
	if err != nil {
		return "", fmt.Errorf("committing: %w", err)
	}
	return sha, nil
}

func (p *Publisher) message(subject, body string) string {
	var msg strings.Builder
	msg.WriteString(harmless(cmp.Or(oneLine(subject, maxSubject), "Change")) + "\n\n")
	if body = strings.TrimSpace(strings.ReplaceAll(body, "\r", "\n")); body != "" {
		msg.WriteString(trailer.ReplaceAllString(harmless(body), "> $1") + "\n\n")
	}
	if r := p.Job.Requester; r.ID != 0 && r.Kind == vcs.KindUser && p.Repo.Forge != vcs.Local {
		fmt.Fprintf(&msg, "Co-authored-by: %s <%s>\n", login(r), p.noreply(r))
	}
	fmt.Fprintf(&msg, "Greenwright-Run: %s\n", oneLine(string(p.Run), maxSubject))
	return msg.String()
}

func harmless(text string) string {
	return skipsChecks.ReplaceAllString(journal.Unclosing(text), "($1)")
}

func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// login is an account's name, with nothing that could end it early.
func login(a vcs.Actor) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '<' || r == '>' || r == '@' {
			return -1
		}
		return r
	}, a.Login)
}

// noreply is the address by which the forge knows an account without telling
// where its mail goes (GitHub Docs, "Setting your commit email address";
// GitLab Docs, "Change your commit email"). Each installation has a domain of
// its own: github.com's would name somebody else's account.
func (p *Publisher) noreply(a vcs.Actor) string {
	at, err := url.Parse(p.Repo.URL)
	if a.ID == 0 || err != nil || at.Hostname() == "" {
		return "noreply@localhost"
	}
	join := "+"
	if p.Repo.Forge == vcs.GitLab {
		join = "-"
	}
	return fmt.Sprintf("%d%s%s@users.noreply.%s", a.ID, join, login(a), at.Hostname())
}
