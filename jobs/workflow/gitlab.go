package workflow

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// GitLabPath is where a GitLab project describes its CI, unless its settings
// name another file.
const GitLabPath = ".gitlab-ci.yml"

// The bounds of what is read of a GitLab CI file.
const (
	maxIncludes = 50
	maxDepth    = 12 // GitLab's own is 11 for extends, 10 for nested scripts
	maxVisits   = 200_000
	// A mapping that is merged in merges others in, so far.
	maxMerges   = 3
	maxMergeSet = 20
)

// reserved are the keys of a CI file that name no job.
var reserved = map[string]bool{
	"default": true, "include": true, "stages": true, "variables": true, "workflow": true, "image": true, "services": true,
	"before_script": true, "after_script": true, "cache": true, "spec": true,
}

// ReadFile reads a file of the repository, for `include: local`.
type ReadFile func(path string) ([]byte, error)

// ParseGitLab reads a GitLab CI file with what it includes from the repository;
// what it includes from elsewhere is not known, and jobs that need it say so.
// Each command of a job's before_script and script is a step. Its error wraps
// ErrInvalid.
func ParseGitLab(path string, content []byte, read ReadFile) (Workflow, error) {
	w := Workflow{Path: path, Events: []string{"push"}}
	c := &gitlabCI{read: read, seen: map[string]bool{path: true}}
	if err := c.add(path, content, 0); err != nil {
		return w, err
	}
	names := c.jobNames()
	if len(names) > maxJobs {
		return w, fmt.Errorf("%w: %s has more than %d jobs", ErrInvalid, path, maxJobs)
	}
	steps := 0
	for _, name := range names {
		jobs, err := c.expand(name, maxExpanded-steps)
		if err != nil {
			return w, fmt.Errorf("%w: %s: job %s: %w", ErrInvalid, path, name, err)
		}
		for _, j := range jobs {
			steps += len(j.Steps)
		}
		w.Jobs = append(w.Jobs, jobs...)
	}
	return w, nil
}

// gitlabCI is a CI file with what it includes: the file itself first, which
// goes before what it includes.
type gitlabCI struct {
	read   ReadFile
	docs   []*yaml.Node
	seen   map[string]bool
	beyond string // the first thing that is included from elsewhere
	visits int
	// environments is how many bytes the jobs' environments have.
	environments int
}

// add parses a file, then what it includes.
func (c *gitlabCI) add(path string, content []byte, depth int) error {
	if len(content) > MaxBytes {
		return fmt.Errorf("%w: %s is over %d bytes", ErrInvalid, path, MaxBytes)
	}
	root, err := lastDocument(content)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, path, err)
	}
	if root == nil {
		return nil
	}
	c.docs = append(c.docs, root)
	includes := deref(value(root, "include"))
	if includes == nil {
		return nil
	}
	list := []*yaml.Node{includes}
	if includes.Kind == yaml.SequenceNode {
		list = includes.Content
	}
	for i := len(list) - 1; i >= 0; i-- { // of two, the later counts
		if err := c.include(deref(list[i]), depth); err != nil {
			return err
		}
	}
	return nil
}

// lastDocument is the mapping of the file; one with a header (`spec:`) has two
// documents.
func lastDocument(content []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(content)))
	var root *yaml.Node
	for range 2 {
		var doc yaml.Node
		if err := dec.Decode(&doc); err != nil {
			if root == nil && err.Error() != "EOF" {
				return nil, err
			}
			break
		}
		if len(doc.Content) > 0 && deref(doc.Content[0]).Kind == yaml.MappingNode {
			root = deref(doc.Content[0])
		}
	}
	return root, nil
}

// include reads one that is in the repository, and remembers one that is not.
func (c *gitlabCI) include(n *yaml.Node, depth int) error {
	local := ""
	switch n.Kind {
	case yaml.ScalarNode:
		local = n.Value
	case yaml.MappingNode:
		if l := deref(value(n, "local")); l != nil {
			local = l.Value
		}
	case yaml.DocumentNode, yaml.SequenceNode, yaml.AliasNode:
	}
	local = strings.TrimPrefix(local, "/")
	if local == "" || strings.Contains(local, "://") || strings.ContainsAny(local, "*$") || c.read == nil || depth == maxDepth || len(c.docs) >= maxIncludes {
		c.missing(n)
		return nil
	}
	if c.seen[local] {
		return nil
	}
	c.seen[local] = true
	content, err := c.read(local)
	if err != nil {
		c.missing(n)
		return nil //nolint:nilerr // a job that needs it says so
	}
	return c.add(local, content, depth+1)
}

// missing notes what is included and not known here.
func (c *gitlabCI) missing(n *yaml.Node) {
	if c.beyond != "" {
		return
	}
	c.beyond = "something"
	if n.Kind == yaml.ScalarNode {
		c.beyond = n.Value
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		switch n.Content[i].Value {
		case "local", "project", "template", "remote", "component":
			c.beyond = n.Content[i].Value + " " + deref(n.Content[i+1]).Value
			return
		}
	}
}

// jobNames are the jobs in the order of the files; templates are none.
func (c *gitlabCI) jobNames() []string {
	var names []string
	seen := map[string]bool{}
	for _, doc := range c.docs {
		for i := 0; i+1 < len(doc.Content); i += 2 {
			name := doc.Content[i].Value
			if seen[name] || reserved[name] || strings.HasPrefix(name, ".") || deref(doc.Content[i+1]).Kind != yaml.MappingNode {
				continue
			}
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// deref follows an alias.
func deref(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode && i < maxDepth; i++ {
		n = n.Alias
	}
	return n
}

// value is a member of a mapping, also one that is merged in by `<<`.
func value(m *yaml.Node, key string) *yaml.Node { return member(m, key, 0) }

func member(m *yaml.Node, key string, depth int) *yaml.Node {
	if m = deref(m); m == nil || m.Kind != yaml.MappingNode || depth > maxMerges {
		return nil
	}
	var merged *yaml.Node
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
		if m.Content[i].Value == "<<" {
			merged = deref(m.Content[i+1])
		}
	}
	if merged == nil {
		return nil
	}
	if merged.Kind != yaml.SequenceNode {
		return member(merged, key, depth+1)
	}
	for _, from := range merged.Content[:min(len(merged.Content), maxMergeSet)] {
		if v := member(from, key, depth+1); v != nil {
			return v
		}
	}
	return nil
}
