package cgroup

import (
	"fmt"
	"os"
	"strings"
)

// Files is how this package reaches the control group file system; tests give
// another. Errors must satisfy errors.Is with the syscall errors and with
// fs.ErrNotExist, as those of package os do.
type Files interface {
	ReadFile(path string) ([]byte, error)
	// WriteFile writes to a file that exists, in one write.
	WriteFile(path, data string) error
	Mkdir(path string) error
	Rmdir(path string) error
	// Dirs names the directories in a directory.
	Dirs(path string) ([]string, error)
}

type kernelFiles struct{}

func (kernelFiles) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

func (kernelFiles) WriteFile(path, data string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (kernelFiles) Mkdir(path string) error { return os.Mkdir(path, 0o750) }

// Rmdir is not os.Remove, which would try to unlink too.
func (kernelFiles) Rmdir(path string) error {
	if err := rmdir(path); err != nil {
		return &os.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

func (kernelFiles) Dirs(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// field returns the number after a key in a flat-keyed file such as cpu.stat,
// or 0.
func field(content []byte, key string) int64 {
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, key+" "); ok {
			return number([]byte(rest))
		}
	}
	return 0
}

// number reads a file of one number; what is none ("max") is 0.
func number(content []byte) int64 {
	var n int64
	if _, err := fmt.Sscan(string(content), &n); err != nil {
		return 0
	}
	return n
}

func words(content []byte) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(string(content)) {
		set[w] = true
	}
	return set
}
