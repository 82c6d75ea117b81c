package outline_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/outline"
)

// TestAgainstCtags compares the functions and types found in real sources with
// those that universal-ctags finds. Which sources there are depends on the
// machine, and so does the share: 90 to 99 % were measured on several. The
// floors are well below that. What remains are declarations that only a parser
// finds (named by macros, or after an annotation inside an expression).
func TestAgainstCtags(t *testing.T) {
	version, err := exec.Command("ctags", "--version").Output()
	if err != nil || !bytes.Contains(version, []byte("Universal Ctags")) {
		t.Skip("SKIPPED: universal-ctags is not installed, so nothing was compared")
	}
	roots := sourceRoots(t)
	for _, c := range []struct {
		ext   string
		floor float64
		kinds string // what ctags calls functions and types
	}{
		{".go", 0.95, "func type struct interface"},
		{".py", 0.8, "function class member"},
		{".c", 0.8, "function struct enum union typedef macro"},
		{".js", 0.8, "function class method"},
		{".ts", 0.8, "function class method interface enum"},
		{".rb", 0.8, "method class module singletonMethod"},
		{".php", 0.8, "function class interface trait"},
		{".java", 0.8, "method class interface enum"},
		{".sh", 0.8, "function"},
		{".proto", 0.8, "message enum service rpc"},
	} {
		t.Run(c.ext, func(t *testing.T) {
			files := sample(roots, c.ext, 40)
			if len(files) == 0 {
				t.Skipf("SKIPPED: no %s files on this machine", c.ext)
			}
			want, found, missed := recall(t, files, c.kinds)
			if want < 10 {
				t.Skipf("SKIPPED: only %d names in %d files", want, len(files))
			}
			share := float64(found) / float64(want)
			t.Logf("%s: %d of %d names in %d files (%.1f %%); missed: %.300s", c.ext, found, want, len(files), 100*share, strings.Join(missed, " "))
			if share < c.floor {
				t.Errorf("recall %.3f is under %.2f", share, c.floor)
			}
		})
	}
}

// sourceRoots are places where foreign sources may be found.
func sourceRoots(t *testing.T) []string {
	t.Helper()
	var roots []string
	if out, err := exec.Command("go", "env", "GOMODCACHE").Output(); err == nil {
		roots = append(roots, strings.TrimSpace(string(out)))
	}
	return append(roots, "/usr/lib/python3", "/usr/lib/python3.13", "/usr/lib/python3.11", "/usr/lib/ruby", "/usr/share", "/usr/lib/node_modules")
}

// sample is up to n files of between 2 and 200 kB, in a fixed order.
func sample(roots []string, ext string, n int) []string {
	var all []string
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || len(all) > 5*n {
				return fs.SkipAll
			}
			if d.Type().IsRegular() && filepath.Ext(path) == ext && !strings.Contains(path, ".min.") {
				if info, err := d.Info(); err == nil && info.Size() > 2_000 && info.Size() < 200_000 {
					all = append(all, path)
				}
			}
			return nil
		})
	}
	sort.Strings(all)
	var few []string
	for i := 0; i < len(all) && len(few) < n; i += max(1, len(all)/n) {
		few = append(few, all[i])
	}
	return few
}

func recall(t *testing.T, files []string, kinds string) (want, found int, missed []string) {
	t.Helper()
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(src), "\n")
		ours := make(map[string]bool)
		for _, s := range outline.Of(path, src) {
			ours[fmt.Sprintf("%s %d", s.Name, s.From)] = true
		}
		out, err := exec.Command("ctags", "-f", "-", "-x", "--_xformat=%N\t%K\t%n", "--kinds-Go=+n", path).Output()
		if err != nil {
			t.Fatalf("ctags %s: %v", path, err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) != 3 || !strings.Contains(" "+kinds+" ", " "+f[1]+" ") || invented(path, f, lines) {
				continue
			}
			f[0] = strings.Trim(f[0], "#[]")
			want++
			if near(ours, f[0], f[2]) {
				found++
			} else if len(missed) < 40 {
				missed = append(missed, fmt.Sprintf("%s:%s %s %s;", filepath.Base(path), f[2], f[1], f[0]))
			}
		}
	}
	return want, found, missed
}

// invented says whether a tag is a name that nobody wrote or a known mistake of
// ctags 5.9: nameless functions, object literals as classes, arrays of a shell
// as functions, fields of a message as messages, and lines of minified code.
func invented(path string, tag, lines []string) bool {
	name := strings.Trim(tag[0], "#[]")
	if strings.HasPrefix(strings.ToLower(name), "anon") || strings.HasPrefix(name, "__anon") || strings.ContainsAny(name, "=\"'") {
		return true
	}
	var n int
	if _, err := fmt.Sscan(tag[2], &n); err != nil || n < 1 || n > len(lines) {
		return true
	}
	line := lines[n-1]
	switch filepath.Ext(path) {
	case ".js", ".ts":
		return len(line) > 500 || !strings.Contains(line, name) || tag[1] == "class" && !strings.Contains(line, "class")
	case ".proto":
		return !strings.Contains(line, tag[1]+" "+name)
	}
	return false
}

// near allows a declaration to begin a few lines above its name.
func near(ours map[string]bool, name, line string) bool {
	var n int
	if _, err := fmt.Sscan(line, &n); err != nil {
		return false
	}
	for d := range 4 {
		if ours[fmt.Sprintf("%s %d", name, n-d)] {
			return true
		}
	}
	return false
}

// line is a symbol in the golden files.
func line(s outline.Symbol) string {
	return fmt.Sprintf("%d-%d %s %s.%s | %s\n", s.From, s.To, s.Kind, s.Parent, s.Name, s.Signature)
}
