package sticky

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// maxMarker keeps the marker's line short.
const maxMarker = 200

// Line is the first line of a comment with the marker, its end included. The
// error wraps vcs.ErrInvalid.
func Line(marker string) (string, error) {
	if marker == "" || len(marker) > maxMarker {
		return "", fmt.Errorf("%w: comment marker %q", vcs.ErrInvalid, marker)
	}
	for _, c := range []byte(marker) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && strings.IndexByte("-_:.", c) < 0 {
			return "", fmt.Errorf("%w: comment marker %q", vcs.ErrInvalid, marker)
		}
	}
	return "<!-- greenwright:" + marker + " -->\n", nil
}

// Begins reports whether a body begins with the marker's line, whichever line
// ends the forge stores.
func Begins(body, line string) bool {
	rest, found := strings.CutPrefix(body, strings.TrimSuffix(line, "\n"))
	return found && (rest == "" || rest[0] == '\n' || rest[0] == '\r')
}
