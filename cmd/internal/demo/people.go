package demo

// The accounts that act, by login, and who owns the repositories.
const (
	owner       = "acme"
	maintainer  = "maintainer"
	contributor = "contributor"
)

// The names of the CI's job and step that look at the formatting, and what
// they run.
const (
	formatJob = "format"
	formatRun = `test -z "$(gofmt -l .)"`
)

// module is the go.mod of a repository: the oldest language version that is
// enough, so that whatever Go is installed will do.
func module(name string) string { return "module example.com/" + owner + "/" + name + "\n\ngo 1.21\n" }

// widgets is red on main: price.go is not formatted.
func (f *forge) widgets() map[string]string {
	return map[string]string{
		"README.md": "# widgets\n\nWhat a box of widgets costs.\n",
		"go.mod":    module("widgets"),
		f.ciPath:    f.ciFile("test", "go test ./..."),
		"price.go": `// Package widgets knows what a box of widgets costs.
package widgets

// Price is the price of n widgets in cents; from a dozen on each is cheaper.
func Price(n int) int {
  const single, bulk = 25,20
  if n>=12 {
      return n*bulk
  }
  return n*single
}
`,
		"price_test.go": `package widgets

import "testing"

func TestPrice(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 25, 11: 275, 12: 240} {
		if got := Price(n); got != want {
			t.Errorf("Price(%d) = %d, want %d", n, got, want)
		}
	}
}
`,
	}
}

// gadgets is green on main. Its second check only builds: each run has a build
// cache of its own, and one cold one is enough for a demonstration.
func (f *forge) gadgets() map[string]string {
	return map[string]string{
		"README.md": "# gadgets\n\nHow many boxes a number of gadgets needs.\n",
		"go.mod":    module("gadgets"),
		f.ciPath:    f.ciFile("build", "go build ./..."),
		"box.go": `// Package gadgets packs gadgets.
package gadgets

// Boxes is how many boxes of six are needed for n gadgets.
func Boxes(n int) int { return (n + 5) / 6 }
`,
	}
}

// unformatted is what the contributor adds to gadgets.
func unformatted() map[string]string {
	return map[string]string{"weight.go": `package gadgets

// Weight is what n gadgets weigh in grams, boxes included.
func Weight( n int ) int {
	const gadget,box = 120, 35
	return n*gadget+Boxes(n) * box
}
`}
}

// gizmos has a real bug, which its test shows.
func (f *forge) gizmos() map[string]string {
	return map[string]string{
		"README.md": "# gizmos\n\nPages of gizmos.\n",
		"go.mod":    module("gizmos"),
		f.ciPath:    f.ciFile("test", "go test ./..."),
		"page.go": `// Package gizmos shows gizmos in pages.
package gizmos

// Page is the page'th part of items, counted from 1, with at most size items.
// A page that does not exist is empty.
func Page(items []string, page, size int) []string {
	begin := page * size
	end := begin + size
	if begin > len(items) {
		return nil
	}
	return items[begin:end]
}
`,
		"page_test.go": `package gizmos

import (
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	items := []string{"a", "b", "c", "d", "e"}
	for page, want := range map[int]string{0: "", 1: "ab", 2: "cd", 3: "e", 4: ""} {
		if got := strings.Join(Page(items, page, 2), ""); got != want {
			t.Errorf("page %d is %q, want %q", page, got, want)
		}
	}
}
`,
	}
}
