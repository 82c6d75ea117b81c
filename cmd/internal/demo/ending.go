package demo

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/greenwright/greenwright/cmd/internal/plaintext"
	"github.com/greenwright/greenwright/jobs/journal"
)

// ending shows what came of the scenes.
func (s *stage) ending(shown []*outcome) {
	s.out.section("Each check's command, before and after (from the journals)")
	for _, o := range shown {
		s.checks(o)
	}
	for _, o := range shown {
		s.texts(o)
	}
	s.out.section("Proof")
	for _, o := range shown {
		s.proof(o)
	}
	s.next()
}

func (s *stage) checks(o *outcome) {
	s.out.line("  %s, %s", o.repo.Ref().FullName(), o.title)
	width := 0
	for _, c := range o.report.Checks {
		width = max(width, utf8.RuneCountInString(c.Command))
	}
	for _, c := range o.report.Checks {
		s.out.line("    %-*s   %s   %s", width, clip(visible(c.Command), maxLine), s.side(c.Before), s.side(c.After))
	}
}

// side shows one run of a check.
func (s *stage) side(c *journal.CheckRan) string {
	switch {
	case c == nil:
		return "⚪ not run"
	case c.Green():
		return "🟢 " + s.out.exit(c.ExitCode)
	}
	return "🔴 " + s.out.exit(c.ExitCode)
}

// texts shows what people read: the diff, the pull request, the comment.
func (s *stage) texts(o *outcome) {
	name := o.repo.Ref().FullName()
	if o.pull != nil {
		s.out.section("%s: the diff that was pushed for %s %s", name, s.forge.words.PullRequest, o.pull.Label())
		s.out.diff(o.diff)
		if o.pull.Author.Is(s.forge.Bot()) {
			s.out.section("%s: %s %s as its readers see it", name, s.forge.words.PullRequest, o.pull.Label())
			s.out.line("   %s\n", s.out.paint(bold, visible(o.pull.Title)))
			s.out.block(plaintext.Readable(o.pull.Body))
		}
	}
	s.out.section("%s: the audit summary, as thread #%d shows it", name, o.thread)
	s.out.block(plaintext.Readable(o.comment.Body))
}

func (s *stage) proof(o *outcome) {
	s.out.line("  %s", o.repo.Ref().FullName())
	if o.verified != "" {
		s.out.line("    greenwright journal verify    %s", o.verified)
	}
	if o.outside.commit != "" {
		s.out.line("    a fresh clone at %s   %s   %s", short(o.outside.commit), formatRun, s.out.exit(o.outside.exitCode))
	}
}

// next says where to look now.
func (s *stage) next() {
	s.out.section("Where to look next")
	binary := s.opts.Greenwright
	lines := [][2]string{
		{s.forge.guide, "the way to the first real " + s.forge.words.PullRequest},
		{binary + " doctor", "what this machine has, and what it lacks"},
		{binary + " run --repo DIR --task 'make the checks green'", "the same on a checkout, no forge"},
		{binary + " event explain --event NAME FILE", "what would be done about a webhook"},
		{"docs/", "how it is built, and why"},
	}
	width := 0
	for _, l := range lines {
		width = max(width, len(l[0]))
	}
	for _, l := range lines {
		s.out.line("  %-*s  %s", width, l[0], s.out.paint(dim, l[1]))
	}
	s.out.line("")
}

// summary is the last line of a demonstration in which everything came.
func (s *stage) summary(shown []*outcome) {
	var pulls []string
	for _, o := range shown {
		pulls = append(pulls, o.repo.Ref().FullName()+o.pull.Label())
	}
	took := s.out.now().Sub(s.out.begun).Round(100 * time.Millisecond)
	s.out.line("%s %s, in %s.", s.out.paint(green, "Everything came:"), strings.Join(pulls, ", "), took)
}
