package workflow

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"mvdan.cc/sh/v3/syntax"
)

// script is the list of a job's commands; before_script may come from the
// defaults.
func (c *gitlabCI) script(l layers, key string) ([]string, error) {
	n := l.get(key)
	if n == nil && key == "before_script" && inherits(l, "default", key) {
		for _, doc := range c.docs {
			if n = deref(value(value(doc, "default"), key)); n == nil {
				n = deref(value(doc, key))
			}
			if n != nil {
				break
			}
		}
	}
	return c.lines(n, 0)
}

// inherits reports whether a job takes a default (`inherit`).
func inherits(l layers, what, key string) bool {
	n := deref(value(l.get("inherit"), what))
	switch {
	case n == nil:
		return true
	case n.Kind == yaml.ScalarNode:
		return n.Value != "false"
	}
	return slices.Contains(texts(n), key)
}

// lines flattens a script: strings, lists of them, and `!reference`.
func (c *gitlabCI) lines(n *yaml.Node, depth int) ([]string, error) {
	n = deref(n)
	if c.visits++; depth > maxDepth || c.visits > maxVisits {
		return nil, errTooDeep
	}
	switch {
	case n == nil:
		return nil, nil
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}, nil
	case n.Tag == "!reference":
		return c.lines(c.reference(texts(n)), depth+1)
	case n.Kind != yaml.SequenceNode:
		return nil, errors.New("script: want a command or a list of commands")
	}
	var out []string
	for _, item := range n.Content {
		more, err := c.lines(item, depth+1)
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxSteps {
			return nil, fmt.Errorf("more than %d commands", maxSteps)
		}
	}
	return out, nil
}

// reference is what `!reference [job, key]` names.
func (c *gitlabCI) reference(at []string) *yaml.Node {
	if len(at) < 2 {
		return nil
	}
	l, err := c.layers(at[0], 0)
	if err != nil {
		return nil
	}
	n := l.get(at[1])
	for _, key := range at[2:] {
		n = deref(value(n, key))
	}
	return n
}

// changesShell is a command among others in a line after which the shell is
// another for the lines after it.
var changesShell = regexp.MustCompile(`(?m)(?:^|[;&|({]\s*|\bthen\s+|\bdo\s+)\s*(?:cd|pushd|popd|export|source|\.|eval|nvm|set|unset)\s`)

// maxState bounds what is put before a command, in bytes.
const maxState = 4 << 10

// commands are the steps of a job. GitLab runs all of them in one shell: what
// only changes that shell's state goes before each later one.
func (c *gitlabCI) commands(lines []string, vars map[string]string, unknown string) []Step {
	env, lost := c.environment(vars)
	var state []string
	told, unclear := 0, false
	var out []Step
	for i, line := range lines {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "\n")
		s := Step{Number: i + 1, Name: name, Run: strings.Join(append(state[:len(state):len(state)], line), "\n"), Env: env, Shell: shells["bash"], Unresolved: unknown}
		if v := firstUnknown(s.Run, lost, vars); v != "" && s.Unresolved == "" {
			s.Unresolved = "the value of $" + v + " is known only to the CI"
		}
		if unclear && s.Unresolved == "" {
			s.Unresolved = "an earlier command of the job may have changed its directory or environment"
		}
		if len(state) > 0 && strings.Contains(line, "CI_PROJECT_DIR") {
			s.Run = "CI_PROJECT_DIR=$PWD\n" + s.Run
		}
		switch {
		case !onlyState(line):
			unclear = unclear || changesShell.MatchString(line)
		case told <= maxState:
			state, told = append(state, line), told+len(line)
		}
		if told > maxState && s.Unresolved == "" {
			s.Unresolved = "what the job's shell is told before it is too long"
		}
		out = append(out, s)
	}
	return out
}

// stateful are the commands that change nothing but the shell they run in.
var stateful = []string{"cd", "set", "shopt", "umask", "unset", "alias", "pushd", "popd"}

// onlyState reports a command after which only the shell is another.
func onlyState(line string) bool {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) == 0 {
		return false
	}
	for _, s := range file.Stmts {
		if len(s.Redirs) > 0 || s.Background {
			return false
		}
		switch cmd := s.Cmd.(type) {
		case *syntax.DeclClause:
		case *syntax.CallExpr:
			if len(cmd.Args) > 0 && !slices.Contains(stateful, path.Base(cmd.Args[0].Lit())) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
