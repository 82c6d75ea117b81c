package outline

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxTask is how much of a task's text is looked at.
const maxTask = 64 << 10

// mentions is what a task's text names of an index.
type mentions struct {
	files  map[string]bool // named by path, or in a stack frame
	names  map[string]bool // declared names that are meant as such
	frames []frame
	terms  map[uint32]float64 // words and their weight
	quoted [][]uint32         // the words of each quoted string
	dirs   map[string]bool    // named directories
}

// frame is a place in a file that the text names, in order of appearance.
type frame struct {
	paths []string // the files that it can be
	line  int      // 0 when none is given
	// exact says that several elements of the path agree, or that no other
	// file has the name.
	exact bool
}

// mentions reads the text of a task.
func (x *Index) mentions(task string) *mentions {
	task = strings.ToValidUTF8(task[:min(len(task), maxTask)], " ")
	m := &mentions{files: make(map[string]bool), names: make(map[string]bool), terms: make(map[uint32]float64), dirs: make(map[string]bool)}
	title, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	m.weigh(title, 2)
	m.weigh(task, 1)
	for _, w := range strings.FieldsFunc(task, splitsPath) {
		x.place(m, w)
	}
	x.called(m, task)
	m.quotes(task)
	return m
}

// maxTermWeight bounds what a word gains by being repeated.
const maxTermWeight = 4

func (m *mentions) weigh(text string, weight float64) {
	eachTerm([]byte(text), func(term []byte) {
		id := hashTerm(term)
		m.terms[id] = min(m.terms[id]+weight, maxTermWeight)
	})
}

// splitsPath says whether r ends what may be a path.
func splitsPath(r rune) bool {
	return r <= ' ' || strings.ContainsRune("\"'`()<>[]{},;|*=", r)
}

// maxFrames bounds the places taken from one text.
const maxFrames = 100

// place looks for the file that a word names: a path, with a line perhaps, a
// module of Python or a class of Java.
func (x *Index) place(m *mentions, word string) {
	if len(m.frames) >= maxFrames || len(word) > 1_000 {
		return
	}
	word = strings.ReplaceAll(strings.TrimRight(word, ".:!?"), `\`, "/")
	name, line := cutLine(word)
	name = strings.TrimPrefix(strings.TrimPrefix(name, "file://"), "./")
	if !strings.ContainsAny(name, "./") && len(x.base[name]) == 0 || name == "" {
		return
	}
	f := x.resolve(name)
	if len(f.paths) == 0 && strings.Count(name, ".") > 1 {
		f = x.module(name)
	}
	if len(f.paths) == 0 {
		x.directory(m, name)
		return
	}
	f.line = line
	m.frames = append(m.frames, f)
	for _, p := range f.paths {
		if f.exact {
			m.files[p] = true
		}
	}
}

// directory notes a directory of the tree that the text names by its path.
func (x *Index) directory(m *mentions, name string) {
	name = path.Clean(name) + "/"
	i, _ := slices.BinarySearch(x.paths, name)
	if strings.Count(name, "/") > 1 && i < len(x.paths) && strings.HasPrefix(x.paths[i], name) {
		m.dirs[strings.TrimSuffix(name, "/")] = true
	}
}

// cutLine splits "file.go:12:3" and "file.go#L12".
func cutLine(word string) (name string, line int) {
	if n, rest, ok := strings.Cut(word, "#L"); ok {
		digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if digits < 0 {
			digits = len(rest)
		}
		line, _ = strconv.Atoi(rest[:digits])
		return n, line
	}
	for {
		i := strings.LastIndexByte(word, ':')
		if i < 0 {
			return word, line
		}
		n, err := strconv.Atoi(word[i+1:])
		if err != nil {
			return word, line
		}
		word, line = word[:i], n
	}
}

// resolve finds the files whose last elements agree best with name: a stack
// frame knows its file by the path of another machine.
func (x *Index) resolve(name string) frame {
	name = path.Clean(name)
	best, f := 0, frame{}
	for _, i := range x.base[path.Base(name)] {
		p := x.paths[i]
		n := common(p, name)
		if n > best {
			best, f.paths = n, f.paths[:0]
		}
		if n == best {
			f.paths = append(f.paths, p)
		}
	}
	f.exact = best > 1 && len(f.paths) == 1 || len(f.paths) == 1 && best == 1+strings.Count(f.paths[0], "/") ||
		len(f.paths) == 1 && !strings.Contains(name, "/")
	return f
}

// common is how many elements from the end two paths share.
func common(a, b string) int {
	n := 0
	for {
		i, j := strings.LastIndexByte(a, '/'), strings.LastIndexByte(b, '/')
		if a[i+1:] != b[j+1:] {
			return n
		}
		n++
		if i < 0 || j < 0 {
			return n
		}
		a, b = a[:i], b[:j]
	}
}

// module finds the file of "package.module.name".
func (x *Index) module(name string) frame {
	parts := strings.Split(strings.ReplaceAll(name, "$", "."), ".")
	if len(parts) > 12 {
		return frame{}
	}
	for n := len(parts); n > 1; n-- {
		for _, ext := range []string{".py", ".java", ".kt", ".scala", ".cs", ".php", ".ex"} {
			f := x.resolve(strings.Join(parts[:n], "/") + ext)
			if len(f.paths) == 1 && common(f.paths[0], strings.Join(parts[:n], "/")+ext) > 1 {
				f.exact = true
				return f
			}
		}
	}
	return frame{}
}

// maxNames bounds the declared names taken from one text.
const maxNames = 200

// called collects the declared names that the text uses as names: compound
// ones, called ones, and those in code quotes or after a dot.
func (x *Index) called(m *mentions, text string) {
	for i := 0; i < len(text) && len(m.names) < maxNames; {
		if !isWord(text[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(text) && isWord(text[j]) {
			j++
		}
		word := text[i:j]
		before, after := byte(' '), byte(' ')
		if i > 0 {
			before = text[i-1]
		}
		if j < len(text) {
			after = text[j]
		}
		quoted := before == '\'' && after == '\'' // the first alone is an apostrophe
		meant := quoted || strings.IndexByte("`.\"", before) >= 0 || strings.IndexByte("`(\"", after) >= 0 || hasCapitalInside(word) || strings.Contains(strings.Trim(word, "_"), "_")
		if meant && len(word) > 2 && x.names[hashName(word)] != nil {
			m.names[word] = true
		}
		i = j
	}
}

func hasCapitalInside(s string) bool {
	for i := 1; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' && isLower(s[i-1]) {
			return true
		}
	}
	return false
}

// maxQuoted bounds the quoted strings of a text and their length.
const (
	maxQuoted      = 50
	maxQuotedBytes = 300
	maxQuotedTerms = 20
)

// quotes collects the strings that the text quotes.
func (m *mentions) quotes(text string) {
	for i := 0; i < len(text) && len(m.quoted) < maxQuoted; i++ {
		c := text[i]
		if c != '"' && c != '`' {
			continue
		}
		end := strings.IndexByte(text[i+1:min(len(text), i+1+maxQuotedBytes)], c)
		if end < 0 {
			continue
		}
		inside := text[i+1 : i+1+end]
		if !strings.Contains(inside, "\n") && strings.Contains(strings.TrimSpace(inside), " ") {
			var terms []uint32
			eachTerm([]byte(inside), func(t []byte) {
				if len(terms) < maxQuotedTerms {
					terms = append(terms, hashTerm(t))
				}
			})
			if len(terms) > 1 {
				m.quoted = append(m.quoted, terms)
			}
		}
		i += end + 1
	}
}
