package gitlab

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/greenwright/greenwright/vcs/gitlabwire"
	"github.com/greenwright/greenwright/vcs/markdown"
)

const (
	// maxBody is GitLab's limit for a note or description in characters (rule
	// O7; docs.gitlab.com/administration/instance_limits).
	maxBody = 1_000_000
	// maxTitle is GitLab's limit for a title in characters.
	maxTitle = 255

	cutNotice = "*This text was cut to GitLab's limit; the console has the whole.*"

	// draftPrefix is how a merge request is marked as a draft: there is no
	// other way (docs.gitlab.com/user/project/merge_requests/drafts).
	draftPrefix = "Draft: "
)

// body is a text as it may be posted.
func body(text string, limit int) string { return markdown.Cut(inert(text), limit, cutNotice) }

// newlines makes every end of a line the same. GitLab deletes carriage returns
// before it looks for quick actions, which would put what follows one at the
// beginning of a line; and its database takes no zero byte.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD") //nolint:gochecknoglobals // never changed

// inert is the last gate before a text leaves: no line of it is a quick action,
// which GitLab would execute with the bot's rights, and it calls nobody
// together. GitLab takes a line for a quick action that begins with a slash at
// its first column and stands in no code; what it takes for code has changed
// over the years, so within fences the slash leaves the first column too
// (docs.gitlab.com/user/project/quick_actions).
func inert(text string) string {
	var (
		b      strings.Builder
		fences markdown.Fences
	)
	for line := range strings.Lines(newlines.Replace(text)) {
		if fences.Inside(line) {
			if line[0] == '/' {
				b.WriteByte(' ')
			}
			b.WriteString(uncalled(line, "@\u200b")) // what is a fence here may have ended there
			continue
		}
		rest := strings.TrimLeftFunc(line, blank)
		b.WriteString(line[:len(line)-len(rest)])
		if strings.HasPrefix(rest, "/") {
			b.WriteByte('\\')
		}
		b.WriteString(uncalled(rest, "@<!-- -->"))
	}
	return b.String()
}

// blank is what looks like nothing at the beginning of a line.
func blank(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// atEntity is an at sign as HTML can write it.
var atEntity = regexp.MustCompile(`&(?:#0*64|#[xX]0*40|commat);`)

// everybody is a mention of all members of a project; what follows the at sign
// can be written as entities as well.
var everybody = regexp.MustCompile(`(?i)^@(?:&|(?:all|here)(?:[^0-9a-z_-]|$))`)

// uncalled takes the mention of everybody out of a text.
func uncalled(text, at string) string {
	text = atEntity.ReplaceAllString(text, "@")
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '@')
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i:]
		if everybody.MatchString(text) {
			b.WriteString(at)
		} else {
			b.WriteByte('@')
		}
		text = text[1:]
	}
}

// titleOf is a title as it is posted: the draft's mark belongs to it, and
// nothing but the wish decides of it.
func titleOf(title string, draft bool) string {
	title = gitlabwire.Undrafted(uncalled(strings.ToValidUTF8(strings.ReplaceAll(title, "\x00", ""), "\uFFFD"), "@ "))
	if !draft {
		return markdown.CutTitle(title, maxTitle)
	}
	return draftPrefix + markdown.CutTitle(title, maxTitle-len(draftPrefix))
}
