package cgroup

import (
	"fmt"
	"path/filepath"
	"strings"
)

// membership says in which groups a thread is: by controller for version 1,
// and under "" for version 2.
type membership map[string]string

// parseMembership reads a file of the form of /proc/PID/cgroup.
func parseMembership(content []byte) membership {
	m := membership{}
	for line := range strings.Lines(string(content)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for c := range strings.SplitSeq(parts[1], ",") {
			m[c] = parts[2]
		}
	}
	return m
}

// dir finds the directory of a group under the mount point of its hierarchy.
// Where the path is not there, the mount point shows the group itself, as it
// does in a container without a control group name space.
func (m membership) dir(files Files, mount, controller string) (string, error) {
	path, ok := m[controller]
	if !ok {
		return "", fmt.Errorf("this process is in no group of %q", controller)
	}
	dir := filepath.Join(mount, filepath.Clean("/"+path))
	if _, err := files.ReadFile(filepath.Join(dir, "cgroup.procs")); err == nil {
		return dir, nil
	}
	if _, err := files.ReadFile(filepath.Join(mount, "cgroup.procs")); err != nil {
		return "", fmt.Errorf("reading the members of %s: %w", mount, err)
	}
	return mount, nil
}
