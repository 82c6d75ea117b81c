package github

import (
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/markdown"
	"github.com/greenwright/greenwright/vcs/sticky"
)

const (
	// maxBody is GitHub's limit for a body in characters (rule O7).
	maxBody = 65536
	// maxTitle is GitHub's limit for a title in characters.
	maxTitle = 256

	cutNotice = "*This text was cut to GitHub's limit; the console has the whole.*"
)

// compose is a sticky comment's whole text.
func compose(c vcs.StickyComment) (string, error) {
	line, err := sticky.Line(c.Marker)
	if err != nil {
		return "", err
	}
	return line + cutBody(c.Body, maxBody-len(line)), nil
}

func cutBody(body string, limit int) string { return markdown.Cut(body, limit, cutNotice) }

func cutTitle(title string) string { return markdown.CutTitle(title, maxTitle) }
