package edit

import (
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
)

// plain reads a part that has only --- and +++ lines.
func (p *unified) plain() *RefusalError {
	f := FilePatch{Action: ActionUpdate, At: p.line()}
	from, to := headerPath(p.lines[p.at][4:]), headerPath(p.lines[p.at+1][4:])
	p.at += 2
	from, to = stripped(from, to)
	switch {
	case from == devNull:
		f.Action, f.Path = ActionAdd, to
	case to == devNull:
		f.Action, f.Path = ActionDelete, from
	default:
		f.Path, f.Alias = to, from
	}
	return p.hunks(f)
}

const devNull = "/dev/null"

// headerPath takes the path of a --- or +++ line: up to a tab, behind which
// diff writes the time, and unquoted.
func headerPath(s string) string {
	s = strings.TrimSuffix(s, "\r")
	if name, rest, ok := unquote(s); ok && (rest == "" || rest[0] == '\t') {
		return name
	}
	name, _, found := strings.Cut(s, "\t")
	if found {
		return name // git puts a tab behind a name with spaces, so that all of them count
	}
	return strings.TrimRight(name, " ")
}

// stripped takes off the a/ and b/ that git puts in front, or another of its
// pairs (diff.mnemonicPrefix).
func stripped(from, to string) (oldName, newName string) {
	for _, pair := range [][2]string{{"a/", "b/"}, {"i/", "w/"}, {"c/", "i/"}, {"c/", "w/"}, {"o/", "w/"}, {"b/", "a/"}} {
		f, fromOK := strings.CutPrefix(from, pair[0])
		t, toOK := strings.CutPrefix(to, pair[1])
		switch {
		case fromOK && toOK:
			return f, t
		case fromOK && to == devNull:
			return f, to
		case toOK && from == devNull:
			return from, t
		}
	}
	return from, to
}

// gitHeader is what the lines of a part before its hunks say.
type gitHeader struct {
	file     FilePatch
	from, to string
	named    bool // the paths are known
	bare     bool // and stand without a/ and b/ (diff.noPrefix)
	final    bool // they come from rename or copy lines, which have no prefix
}

// git reads a part that begins with diff --git.
func (p *unified) git() *RefusalError {
	h := gitHeader{file: FilePatch{Action: ActionUpdate, At: p.line()}}
	h.from, h.to, h.bare, h.named = gitPaths(strings.TrimPrefix(p.lines[p.at], "diff --git "))
	for p.at++; p.at < len(p.lines) && !p.plainHeader() && !strings.HasPrefix(p.lines[p.at], "@@") && !strings.HasPrefix(p.lines[p.at], "diff --git "); p.at++ {
		if failed := p.extended(&h); failed != nil {
			return failed
		}
	}
	if p.at < len(p.lines) && p.plainHeader() {
		h.plain(headerPath(p.lines[p.at][4:]), headerPath(p.lines[p.at+1][4:]))
		p.at += 2
	}
	f := h.file
	if !h.named {
		return parseError(f.At, "the paths of this diff --git line cannot be told apart")
	}
	f.Path = h.from
	switch f.Action {
	case ActionMove, ActionCopy:
		f.To = h.to
	case ActionUpdate:
		f.Path, f.Alias = h.to, h.from
	case ActionAdd:
		f.Path = h.to
	case ActionDelete:
	}
	return p.hunks(f)
}

// plain adds what the --- and +++ lines say.
func (h *gitHeader) plain(oldName, newName string) {
	if !h.bare {
		oldName, newName = stripped(oldName, newName)
	}
	switch {
	case oldName == devNull:
		h.file.Action = ActionAdd
	case newName == devNull:
		h.file.Action = ActionDelete
	}
	if h.final {
		return
	}
	if oldName != devNull {
		h.from, h.named = oldName, true
	}
	if newName != devNull {
		h.to, h.named = newName, true
	}
}

// extended reads one of git's extended header lines.
func (p *unified) extended(h *gitHeader) *RefusalError {
	f := &h.file
	l := strings.TrimSuffix(p.lines[p.at], "\r")
	key, value := "", ""
	for _, k := range []string{"new file mode ", "deleted file mode ", "old mode ", "new mode ", "rename from ", "rename to ",
		"copy from ", "copy to ", "index ", "similarity index ", "dissimilarity index "} {
		if v, ok := strings.CutPrefix(l, k); ok {
			key, value = k, v
			break
		}
	}
	switch key {
	case "new file mode ", "new mode ":
		if key == "new file mode " {
			f.Action = ActionAdd
		}
		return f.setMode(value, p.line())
	case "deleted file mode ", "old mode ":
		f.Link = f.Link || strings.HasPrefix(value, "120")
		if key == "deleted file mode " {
			f.Action = ActionDelete
		}
	case "index ":
		f.Link = f.Link || strings.HasSuffix(value, " 120000")
	case "rename from ", "copy from ":
		h.from, h.named, h.final = pathOf(value), true, true
	case "rename to ", "copy to ":
		h.to, h.named, h.final = pathOf(value), true, true
		f.Action = ActionMove
		if key == "copy to " {
			f.Action = ActionCopy
		}
	case "":
		if strings.HasPrefix(l, "Binary files ") || strings.HasPrefix(l, "GIT binary patch") {
			return &RefusalError{Code: tool.CodeBinaryFile, Message: lineOfPatch(p.line()) + "binary patches are not applied"}
		}
	}
	return nil
}

// setMode reads a mode as git writes it: 100644, 100755, 120000 or 160000.
func (f *FilePatch) setMode(mode string, line int) *RefusalError {
	switch mode {
	case "100644", "100664":
		f.Mode = 0o644
	case "100755":
		f.Mode = 0o755
	case "120000":
		return &RefusalError{Code: tool.CodeSymlinkRefused, Message: lineOfPatch(line) + "a patch may not make a symlink"}
	default:
		return parseError(line, "a file cannot get the mode %q", shorten(mode))
	}
	return nil
}

func lineOfPatch(n int) string { return "line " + strconv.Itoa(n) + " of the patch: " }

func pathOf(s string) string {
	if name, rest, ok := unquote(s); ok && rest == "" {
		return name
	}
	return s
}

// gitPaths reads the two paths of a diff --git line. Unquoted ones are told
// apart only when they are the same, as git itself does. bare says that there
// was no prefix to take off.
func gitPaths(s string) (from, to string, bare, ok bool) {
	s = strings.TrimSuffix(s, "\r")
	for _, pair := range splits(s) {
		if from, to = stripped(pair[0], pair[1]); from == to {
			return from, to, from == pair[0], true
		}
	}
	if all := splits(s); len(all) == 1 {
		from, to = stripped(all[0][0], all[0][1])
		return from, to, from == all[0][0], true
	}
	return "", "", false, false
}

// splits are the ways in which a line can be two paths.
func splits(s string) [][2]string {
	if first, rest, quoted := unquote(s); quoted {
		return [][2]string{{first, pathOf(strings.TrimPrefix(rest, " "))}}
	}
	if i := strings.Index(s, ` "`); i >= 0 && strings.HasSuffix(s, `"`) {
		return [][2]string{{s[:i], pathOf(s[i+1:])}}
	}
	const most = 10_000 // bytes; two of the longest paths are shorter
	var all [][2]string
	for i := range min(len(s), most) {
		if s[i] == ' ' {
			all = append(all, [2]string{s[:i], s[i+1:]})
		}
	}
	return all
}
