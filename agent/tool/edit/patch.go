package edit

import (
	"io/fs"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
)

// Patch is a parsed patch: what it asks for, not yet held against any file.
type Patch struct {
	Files []FilePatch
	// Unified says that it is a unified diff, whose line numbers are a hint;
	// otherwise it is in the V4A grammar.
	Unified bool
}

// Action is what a patch does with a file.
type Action string

// The closed set of actions. A move may also change the content.
const (
	ActionAdd    Action = "add"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
	ActionMove   Action = "move"
	ActionCopy   Action = "copy"
)

// FilePatch is one file's part of a patch.
type FilePatch struct {
	Action Action
	Path   string
	To     string // of a move or a copy
	// Alias is the name on the other side of a diff, for the file when there
	// is none at Path.
	Alias string
	// Mode is the permission bits that the file gets, zero to leave them.
	Mode fs.FileMode
	// Link says that the entry is a symlink and its content the target.
	Link    bool
	Hunks   []Hunk
	Content string // of an added file
	At      int    // line of the patch, counted from 1
}

// Hunk is one place of a file.
type Hunk struct {
	// Headers are the lines of V4A's @@ under which the place is searched,
	// the outermost first.
	Headers []string
	// Numbered says that the hunk came with line numbers; Start is the first
	// old line, counted from 1.
	Numbered bool
	Start    int
	Lines    []HunkLine
	// EndOfFile says that the old lines are the last ones of the file.
	EndOfFile bool
	// Loose counts the empty lines at the end that may be context or only
	// space before the next part of the patch.
	Loose int
	At    int // line of the patch, counted from 1
}

// HunkLine is a line of a hunk. Op is a space (context), a minus or a plus.
type HunkLine struct {
	Op   byte
	Text string // a carriage return at its end stays
	// NoEnd says that the file ends with this line, without a newline.
	NoEnd bool
}

// side collects the lines before or after the change.
func (h Hunk) side(other byte) []HunkLine {
	var lines []HunkLine
	for _, l := range h.Lines {
		if l.Op != other {
			lines = append(lines, l)
		}
	}
	return lines
}

// added collects the new lines as text.
func (h Hunk) added() string {
	var b strings.Builder
	for _, l := range h.Lines {
		if l.Op == '+' {
			b.WriteString(l.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (h Hunk) removed() string {
	var b strings.Builder
	for _, l := range h.Lines {
		if l.Op != '+' {
			b.WriteString(l.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// ParsePatch reads a patch in the V4A grammar (*** Begin Patch … *** End
// Patch) or a unified diff as git writes it. A code fence or a here-document
// around it is taken off. The error is always a *[RefusalError].
func ParsePatch(text string) (Patch, error) {
	lines := patchLines(text)
	begin := -1
	for i, l := range lines {
		if strings.TrimSpace(l) == beginPatch {
			begin = i
			break
		}
		if strings.HasPrefix(l, "diff --git ") || strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "*** ") {
			break
		}
	}
	if begin < 0 {
		return parseUnified(lines, 0)
	}
	body, failed := envelope(lines, begin)
	if failed != nil {
		return Patch{}, failed
	}
	for _, l := range body {
		if strings.TrimSpace(l) != "" {
			if strings.HasPrefix(l, "diff --git ") || strings.HasPrefix(l, "--- ") {
				return parseUnified(body, begin+1)
			}
			break
		}
	}
	return parseV4A(body, begin+1)
}

// patchLines cuts the text into lines. When all of them end in CRLF the
// carriage returns came with the transport, else they are content.
func patchLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	wrapped := len(lines) > 1
	for i, l := range lines {
		wrapped = wrapped && (strings.HasSuffix(l, "\r") || i == len(lines)-1)
	}
	if wrapped {
		for i, l := range lines {
			lines[i] = strings.TrimSuffix(l, "\r")
		}
	}
	return lines
}

func parseError(line int, format string, args ...any) *RefusalError {
	r := refusef(tool.CodeParse, format, args...)
	r.Message = lineOfPatch(line) + r.Message
	return r
}
