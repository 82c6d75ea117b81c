package journal

import (
	"regexp"
	"strings"
)

// mention is an @ that a forge would turn into a notification.
var mention = regexp.MustCompile(`@([A-Za-z0-9_])`)

// slashLine is a line that could be read as a command.
var slashLine = regexp.MustCompile(`(?m)^([ \t]*)/`)

// closing is a word and a reference by which forges close an issue when the
// text around them is merged (GitHub Docs, "Linking a pull request to an
// issue"; GitLab Docs, "Default closing pattern"), markup between them or not.
var closing = regexp.MustCompile("(?i)\\b((?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)\\b[:\\s*_~\\[(`\"]+)" +
	`(?:((?:[\w.-]+/[\w.-]+)?#|GH-)(\d)|(https?:)(//[^\s<>]+/\d))`)

// picture is what makes a forge fetch an address whenever the text is looked
// at: enough to carry something out of a private repository.
var picture = regexp.MustCompile(`!\[`)

// media is the same in HTML.
var media = regexp.MustCompile(`(?i)<(/?(?:img|picture|source|video|audio|image|svg|object|embed|link)\b)`)

// structure is HTML that could end or swallow what stands around a text.
var structure = regexp.MustCompile(`(?i)<(/?(?:blockquote|details|summary|table|thead|tbody|tr|td|th|div|pre|ul|ol|li|h[1-6]|style|script|textarea|title|iframe|xmp|plaintext)\b)`)

// tag is the beginning of any HTML.
var tag = regexp.MustCompile(`<([A-Za-z/!?])`)

// fenceRun is what can open a fenced code block.
var fenceRun = regexp.MustCompile("`{3,}|~{3,}")

// newlines makes every end of a line the same: CommonMark ends lines at a lone
// carriage return too.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n") //nolint:gochecknoglobals // never changed

// ours begins the hidden marker of a comment of ours.
const ours = "<!-- greenwright:"

// Inert makes somebody else's text safe to post (rule L4): no line of it
// begins a command, nobody is mentioned, no issue is closed by its merge, no
// picture is fetched when it is looked at, and nothing is hidden. It stays
// readable as Markdown.
func Inert(text string) string {
	text = newlines.Replace(text)
	text = strings.ReplaceAll(text, "<!--", "&lt;!--") // no marker of ours can be forged
	text = slashLine.ReplaceAllString(text, `$1\/`)
	text = closing.ReplaceAllString(text, "$1$2$4<!-- -->$3$5")
	text = picture.ReplaceAllString(text, "!<!-- -->[")
	text = media.ReplaceAllString(text, "&lt;$1")
	return mention.ReplaceAllString(text, "@<!-- -->$1")
}

// Unclosing is text for a title or a commit message, where no markup can take
// the sting out of a reference: it closes no issue.
func Unclosing(text string) string {
	return closing.ReplaceAllStringFunc(text, func(found string) string {
		m := closing.FindStringSubmatch(found)
		if m[3] != "" {
			where := strings.TrimSuffix(m[2], "#") // another repository, or none
			if where == m[2] {
				where = ""
			}
			return m[1] + strings.TrimLeft(where+" no. ", " ") + m[3]
		}
		return m[1] + strings.TrimPrefix(m[5], "//")
	})
}

// Contained is Inert text whose last fence is closed, so that what follows it
// is not taken for code.
func Contained(text string) string {
	text = Inert(text)
	open := ""
	for line := range strings.Lines(text) {
		mark, rest := fenceMark(strings.TrimRight(line, "\n"))
		switch {
		case open == "":
			open = mark
		case mark != "" && mark[0] == open[0] && len(mark) >= len(open) && strings.Trim(rest, " \t") == "":
			open = ""
		}
	}
	if open == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n" + open
}

// fenceMark is the run of a line that opens or closes a fenced code block
// (CommonMark 0.31, 4.5), and what follows it.
func fenceMark(line string) (mark, rest string) {
	const maxIndent, minRun = 3, 3
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > maxIndent || text == "" || text[0] != '`' && text[0] != '~' {
		return "", ""
	}
	rest = strings.TrimLeft(text, text[:1])
	mark = text[:len(text)-len(rest)]
	if len(mark) < minRun || mark[0] == '`' && strings.Contains(rest, "`") {
		return "", ""
	}
	return mark, rest
}

// Quote is Inert text as a block quote that it cannot leave.
func Quote(text string) string {
	text = structure.ReplaceAllString(Inert(text), "&lt;$1")
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ")
}

// maxLine is how much of somebody else's text a line of ours takes in.
const maxLine = 1000

// Line is somebody else's text as a part of a line of ours: Inert, on one
// line, without HTML or fences, cut at 1000 characters.
func Line(text string) string {
	text = shorten(strings.Join(strings.Fields(text), " "), maxLine)
	text = tag.ReplaceAllString(text, "&lt;$1")
	text = fenceRun.ReplaceAllStringFunc(text, func(run string) string { return strings.Repeat(`\`+run[:1], len(run)) })
	return Inert(text)
}

// disown breaks a marker of ours where it can only be shown as it is.
func disown(text string) string {
	return strings.ReplaceAll(text, ours, strings.TrimSuffix(ours, ":")+" :")
}

// Code shows text as inline code, whatever it holds, on one line.
func Code(text string) string {
	text = disown(strings.Join(strings.Fields(text), " "))
	if text == "" {
		return "` `"
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// Fence shows text as a code block that its content cannot end.
func Fence(info, text string) string {
	text = disown(newlines.Replace(text))
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + info + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}
