package edit

import (
	"context"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// Request is one edit.
type Request struct {
	Old, New string
	All      bool // every place, not exactly one
	Expected int  // how many places there should be; zero means unsaid
	// Bytes restricts matching to exact bytes, for text whose encoding is unknown.
	Bytes bool
	// Path names the language of the file in messages; it may be empty.
	Path string
}

// Step names the rule that found the place.
type Step string

// The steps of the chain, in the order in which they are tried.
const (
	StepExact       Step = "exact text"
	StepTrailing    Step = "lines, but for spaces at their ends"
	StepIndent      Step = "lines with another indentation"
	StepTypographic Step = "lines, but for typographic quotes, dashes or spaces"
	StepBlankEnds   Step = "lines, but for a blank line at an end of old_string"
	StepEscapes     Step = "old_string with its escapes (such as \\n) resolved"
)

// Applied is an edit that can be made.
type Applied struct {
	Body    string
	Step    Step
	Changes []workspace.Change // in lines of the old body
}

// RefusalError is an edit that is not made.
type RefusalError struct {
	Code    tool.Code
	Message string
	Detail  string // what the file looks like there
	Hints   []string
}

// Error is the message.
func (r *RefusalError) Error() string { return string(r.Code) + ": " + r.Message }

// place is where a match stands in the normalised body and what replaces it.
type place struct {
	from, to int // byte offsets
	text     string
}

func refusef(code tool.Code, format string, args ...any) *RefusalError {
	return &RefusalError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// maxLines is how many lines a file may have to be edited: what is kept for
// each line would otherwise outgrow the file many times over.
const maxLines = 1_000_000

func tooManyLines(body string) *RefusalError {
	if strings.Count(body, "\n") <= maxLines {
		return nil
	}
	return refusef(tool.CodeFileTooLarge, "the file has more than %d lines; change it with run_command", maxLines)
}

// Apply makes the edit in memory. When ctx ends, the search ends as if there
// were nothing more to find. The error is always a *[RefusalError].
func Apply(ctx context.Context, body string, req Request) (Applied, error) {
	req.Old, req.New = normalise(req.Old), normalise(req.New)
	if r := vet(req); r != nil {
		return Applied{}, r
	}
	if r := tooManyLines(body); r != nil {
		return Applied{}, r
	}
	if r := unwritable(body, req.New); r != nil {
		return Applied{}, r
	}
	v := newView(body, newEffort(ctx))
	step, places := find(v, req)
	if v.work.spent() {
		return Applied{}, notSearched()
	}
	if r := judge(v, req, places); r != nil {
		return Applied{}, r
	}
	out := v.replace(places)
	if out == body {
		return Applied{}, &RefusalError{Code: tool.CodeNoChange, Message: "the file already reads like this"}
	}
	return Applied{Body: out, Step: step, Changes: v.changes(places)}, nil
}

// notSearched is said when the time was up before a place was found for sure.
func notSearched() *RefusalError {
	r := refusef(tool.CodeNoMatch, "the search took too long and was not carried further; nothing was changed")
	r.Hints = []string{"send lines that are exactly as in the file, and fewer of them"}
	return r
}

// vet refuses requests that are wrong whatever the file holds.
func vet(req Request) *RefusalError {
	switch req.Old {
	case req.New:
		return &RefusalError{Code: tool.CodeNoChange, Message: "old_string and new_string are the same"}
	case "":
		return &RefusalError{Code: tool.CodeFileExists, Message: "old_string is empty but the file exists",
			Hints: []string{"give the text to replace, or write_file with overwrite"}}
	}
	if line, found := placeholder(req.Old, req.New); found {
		return &RefusalError{Code: tool.CodePlaceholder,
			Message: "new_string holds a placeholder instead of code: " + visible(line),
			Hints:   []string{"write out what belongs there, or make old_string smaller"}}
	}
	return nil
}

// judge decides whether the places found may be changed.
func judge(v *view, req Request, places []place) *RefusalError {
	switch {
	case len(places) == 0:
		return noMatch(v, req)
	case req.Expected > 0 && len(places) != req.Expected:
		return ambiguous(v, req.Path, places, "%d places match, but expected_count says otherwise", len(places))
	case len(places) > 1 && !req.All && req.Expected == 0:
		return ambiguous(v, req.Path, places, "%d places match", len(places))
	}
	for _, p := range places {
		if oversized(v.lf[p.from:p.to], req.Old) {
			return &RefusalError{Code: tool.CodeOversizedMatch, Message: "the place found is much larger than old_string, so it was not touched"}
		}
	}
	return nil
}

// oversized guards every step: a match has at most two lines more than what
// was asked for and one and a half times its bytes, indentation aside.
func oversized(found, asked string) bool {
	const slack = 16 // bytes, so that a few spaces on a short line are no matter
	if strings.Count(found, "\n") > strings.Count(asked, "\n")+2 {
		return true
	}
	return len(unindented(found)) > len(unindented(asked))*3/2+slack
}

func unindented(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimLeft(l, " \t")
	}
	return strings.Join(lines, "\n")
}

func normalise(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
