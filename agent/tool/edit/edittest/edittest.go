// Package edittest reads the shared edit cases and judges what came of them.
//
// It sits under agent/tool/edit for the tests of that package and for whoever
// runs the same cases another way, such as through the command line. A case is
// a tree of files, one call, and the tree or the refusal that must come out.
//
// Invariants: bytes are compared, not text; a refusal must leave the tree as it
// was. The package imports no testing: faults are returned as errors.
//
// To add a suite: a .jsonl file in the folder; its form is in the folder's README.
package edittest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
)

const maxCaseBytes = 16 << 20 // of one line of a suite

// content is a file in one of two spellings.
type content struct {
	Text string `json:"text"`
	B64  []byte `json:"b64"`
}

func (c content) bytes() string {
	if c.B64 != nil {
		return string(c.B64)
	}
	return c.Text
}

type files map[string]content

func (f files) flat() map[string]string {
	tree := make(map[string]string, len(f))
	for name, c := range f {
		tree[name] = c.bytes()
	}
	return tree
}

type expectation struct {
	Status     string  `json:"status"`
	ErrorClass string  `json:"error_class"`
	Files      files   `json:"files"`
	Edits      [][]any `json:"edits"`
}

type arguments struct {
	Path, Patch, Target, Text string
	OldString                 string `json:"old_string"`
	NewString                 string `json:"new_string"`
	ReplaceAll                bool   `json:"replace_all"`
	ExpectedCount             int    `json:"expected_count"`
	PatchB64                  []byte `json:"patch_b64"`
}

type generator struct {
	File string `json:"file"`
	Line struct {
		Char  string `json:"char"`
		Times int    `json:"times"`
	} `json:"line"`
	Lines     int `json:"lines"`
	OldString struct {
		Char   string `json:"char"`
		Times  int    `json:"times"`
		Suffix string `json:"suffix"`
	} `json:"old_string"`
}

// Case is one case.
type Case struct {
	ID         string          `json:"id"`
	Tool       string          `json:"tool"`
	Files      files           `json:"files"`
	RawArgs    json.RawMessage `json:"args"`
	Expect     expectation     `json:"expect"`
	ExpectOurs *expectation    `json:"expect_ours"`
	Alt        []files         `json:"expect_alt_files"`
	Tier       string          `json:"tier"`
	Note       string          `json:"note"`
	Generate   *generator      `json:"generate"`

	args arguments
}

// Load reads the cases of all .jsonl files of a folder, in order of file name.
// A folder without any gives none.
func Load(dir string) ([]Case, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("looking for edit cases: %w", err)
	}
	var all []Case
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading edit cases: %w", err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, maxCaseBytes)
		for lines.Scan() {
			c, err := parse(lines.Bytes())
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			all = append(all, c)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return all, nil
}

func parse(line []byte) (Case, error) {
	var c Case
	err := json.Unmarshal(line, &c)
	if err == nil {
		err = json.Unmarshal(c.RawArgs, &c.args)
	}
	if g := c.Generate; g != nil {
		line := strings.Repeat(g.Line.Char, g.Line.Times)
		c.Files = files{g.File: {Text: strings.TrimSuffix(strings.Repeat(line+"\n", g.Lines), "\n")}}
		c.args.OldString = strings.Repeat(g.OldString.Char, g.OldString.Times) + g.OldString.Suffix
	}
	return c, err
}

// Tree is the files before the call, by path.
func (c Case) Tree() map[string]string { return c.Files.flat() }

// IsText says that the case is of edits written as text in a reply, for
// [Case.JudgeText]; others are calls.
func (c Case) IsText() bool { return strings.HasPrefix(c.Tool, "parse_") }

// Text is the reply of a text case.
func (c Case) Text() string { return c.args.Text }

// Call is the call to make. A diff for one file of another name is written
// for the file that it is meant for.
func (c Case) Call() (name string, args json.RawMessage, err error) {
	a := map[string]any{"path": c.args.Path, "old_string": c.args.OldString, "new_string": c.args.NewString}
	name = c.Tool
	switch c.Tool {
	case "edit_file":
		if c.args.ReplaceAll {
			a["replace_all"] = true
		}
		if c.args.ExpectedCount > 0 {
			a["expected_count"] = c.args.ExpectedCount
		}
	case "apply_patch":
		a = map[string]any{"patch": c.args.Patch}
	case "apply_unified_diff":
		patch := c.args.Patch
		if c.args.PatchB64 != nil {
			patch = string(c.args.PatchB64)
		}
		name, a = "apply_patch", map[string]any{"patch": retarget(patch, c.args.Target)}
	default:
		return "", nil, fmt.Errorf("case %s: %q is no call", c.ID, c.Tool)
	}
	args, err = json.Marshal(a)
	return name, args, err
}

// retarget puts another path into the headers of a diff for one file.
func retarget(patch, target string) string {
	head, rest := patch, ""
	if i := strings.Index(patch, "\n@@"); i >= 0 {
		head, rest = patch[:i], patch[i:]
	}
	lines := strings.Split(head, "\n")
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l, "diff --git "):
			lines[i] = "diff --git a/" + target + " b/" + target
		case strings.HasPrefix(l, "--- ") && l != "--- /dev/null":
			lines[i] = "--- a/" + target
		case strings.HasPrefix(l, "+++ ") && l != "+++ /dev/null":
			lines[i] = "+++ b/" + target
		}
	}
	return strings.Join(lines, "\n") + rest
}

// argued are the cases whose expectation this project does not share, with
// what it expects instead.
var argued = map[string]struct {
	why  string
	want expectation
}{
	"gitdiff-apply/file_delete": {
		why: "the case expects an empty file because the library that it comes from writes a content and cannot remove a file; " +
			"the patch says \"deleted file mode\" and +++ /dev/null, for which git apply removes the file, and so do we",
		want: expectation{Status: "ok", Files: files{}},
	},
}

// Argued is why this project disagrees with the case, empty when it does not.
func (c Case) Argued() string { return argued[c.ID].why }

// want is what this project expects.
func (c Case) want() expectation {
	if a, found := argued[c.ID]; found {
		return a.want
	}
	if c.ExpectOurs != nil {
		return *c.ExpectOurs
	}
	return c.Expect
}

// Judge compares how a call ended, and the tree that it left, with the case.
func (c Case) Judge(ok bool, code tool.Code, after map[string]string) error {
	want := c.want()
	if !ok {
		if err := sameTree(c.Tree(), after); err != nil {
			return fmt.Errorf("refused with %s, but the tree changed: %w", code, err)
		}
	}
	mayRefuse := c.Tier == "fuzzy" && c.ExpectOurs == nil || strings.Contains(c.Note, "refusing is also acceptable")
	switch {
	case want.Status == "ok" && !ok && mayRefuse:
		return nil
	case ok != (want.Status == "ok"):
		return fmt.Errorf("ended with %s, want %s", code, want.Status)
	case !ok && want.ErrorClass != "" && !slices.Contains(strings.Split(want.ErrorClass, "|"), string(code)):
		return fmt.Errorf("refused with %s, want %s", code, want.ErrorClass)
	case !ok:
		return nil
	}
	for _, alt := range c.Alt {
		if sameTree(alt.flat(), after) == nil {
			return nil
		}
	}
	return sameTree(want.Files.flat(), after)
}

func sameTree(want, got map[string]string) error {
	var faults []error
	for name, w := range want {
		if g, found := got[name]; !found {
			faults = append(faults, fmt.Errorf("%s is missing", name))
		} else if g != w {
			faults = append(faults, fmt.Errorf("%s is %.400q, want %.400q", name, g, w))
		}
	}
	for name := range got {
		if _, found := want[name]; !found {
			faults = append(faults, fmt.Errorf("%s should not be there", name))
		}
	}
	return errors.Join(faults...)
}

// JudgeText compares the edits read from a reply with the case.
func (c Case) JudgeText(edits []edit.TextEdit, err error) error {
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	var got [][]any
	for _, e := range edits {
		if e.Hunk == nil {
			got = append(got, []any{e.Path, e.Old, e.New})
			continue
		}
		got = append(got, []any{e.Path, e.Hunk})
	}
	have, err := json.Marshal(got)
	if err != nil {
		return fmt.Errorf("writing edits: %w", err)
	}
	want, err := json.Marshal(c.want().Edits)
	if err != nil {
		return fmt.Errorf("writing edits: %w", err)
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("edits %s, want %s", have, want)
	}
	return nil
}
