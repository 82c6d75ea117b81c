package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Entry is one entry of an image's top level: a directory or file, or a
// symbolic link.
type Entry struct{ Name, Link string }

// own are the top-level directories that every sandbox makes for itself.
func own() []string { return []string{"proc", "dev", "tmp", "run", "workspace", "sys"} }

// TopLevel lists what an image shows at /, without what a sandbox makes for
// itself.
func TopLevel(root string) ([]Entry, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("reading an image: %w", err)
	}
	var out []Entry
	for _, e := range entries {
		if slices.Contains(own(), e.Name()) {
			continue
		}
		item := Entry{Name: e.Name()}
		if e.Type()&os.ModeSymlink != 0 {
			if item.Link, err = os.Readlink(filepath.Join(root, e.Name())); err != nil {
				return nil, fmt.Errorf("reading an image: %w", err)
			}
		}
		out = append(out, item)
	}
	return out, nil
}
