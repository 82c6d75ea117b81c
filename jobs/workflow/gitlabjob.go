package workflow

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"mvdan.cc/sh/v3/syntax"
)

// errTooDeep ends the reading of what refers to itself, or is made to be large.
var errTooDeep = errors.New("it is nested too deep, or too large")

// layers are the mappings that a job is made of, the one that counts most
// first: its own in each file, then those of what it extends.
type layers struct {
	nodes []*yaml.Node
	// unknown is why the job is not known whole.
	unknown string
}

func (l layers) get(key string) *yaml.Node {
	for _, n := range l.nodes {
		if v := deref(value(n, key)); v != nil {
			return v
		}
	}
	return nil
}

func (l layers) text(key string) string {
	if n := l.get(key); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

func (c *gitlabCI) layers(name string, depth int) (layers, error) {
	if c.visits++; depth > maxDepth || c.visits > maxVisits {
		return layers{}, errTooDeep
	}
	var l layers
	for _, doc := range c.docs {
		if n := deref(value(doc, name)); n != nil && n.Kind == yaml.MappingNode {
			l.nodes = append(l.nodes, n)
		}
	}
	if len(l.nodes) == 0 {
		l.unknown = fmt.Sprintf("it extends %s, which this repository does not have", name)
		if c.beyond != "" {
			l.unknown += " (" + c.beyond + " is included)"
		}
		return l, nil
	}
	extends := texts(l.get("extends"))
	slices.Reverse(extends) // of two, the later counts
	for _, from := range extends {
		more, err := c.layers(from, depth+1)
		if err != nil {
			return l, err
		}
		l.nodes = append(l.nodes, more.nodes...)
		if l.unknown == "" {
			l.unknown = more.unknown
		}
	}
	return l, nil
}

// texts are a scalar, or the scalars of a list.
func texts(n *yaml.Node) []string {
	if n = deref(n); n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var out []string
	for _, c := range n.Content {
		if c = deref(c); c.Kind == yaml.ScalarNode {
			out = append(out, c.Value)
		}
	}
	return out
}

// expand makes a Job of each combination of `parallel`, of at most room
// commands together.
func (c *gitlabCI) expand(name string, room int) ([]Job, error) {
	l, err := c.layers(name, 0)
	if err != nil || l.get("trigger") != nil {
		return nil, err
	}
	before, err := c.script(l, "before_script")
	if err != nil {
		return nil, err
	}
	script, err := c.script(l, "script")
	if err != nil {
		return nil, err
	}
	if len(before)+len(script) > maxSteps {
		return nil, fmt.Errorf("more than %d commands", maxSteps)
	}
	shown, combos, err := parallel(name, l.get("parallel"))
	if err != nil {
		return nil, err
	}
	if len(combos)*(len(before)+len(script)) > room {
		return nil, fmt.Errorf("the file has more than %d commands in all copies", maxExpanded)
	}
	optional := l.optional()
	var out []Job
	for i, combo := range combos {
		vars := c.variables(l)
		maps.Copy(vars, combo)
		out = append(out, Job{ID: name, Name: shown[i], Optional: optional, Steps: c.commands(append(before[:len(before):len(before)], script...), vars, l.unknown)})
	}
	return out, nil
}

// optional reports a job that may fail, that somebody starts by hand, or that no
// change is judged by.
func (l layers) optional() bool {
	if l.text("when") == "manual" || l.get("allow_failure") != nil && l.text("allow_failure") != "false" {
		return true
	}
	if rules := l.get("rules"); rules != nil {
		return !slices.ContainsFunc(rules.Content, judges)
	}
	only := texts(l.get("only"))
	return len(only) > 0 && !slices.ContainsFunc(only, func(ref string) bool { return !slices.Contains(notChanges, ref) })
}

// notChanges are the refs and sources of pipelines that judge no change.
var notChanges = []string{"schedules", "tags", "triggers", "api", "web", "pipelines", "chat", "external"}

// judges reports a rule by which a job judges a change and must not fail.
func judges(rule *yaml.Node) bool {
	for _, key := range []string{"when", "allow_failure"} {
		if n := deref(value(rule, key)); n != nil && (n.Value == "manual" || n.Value == "never" || n.Value == "true") {
			return false
		}
	}
	cond := deref(value(rule, "if"))
	if cond == nil {
		return true
	}
	return !otherSource.MatchString(cond.Value)
}

// otherSource is a condition for pipelines that judge no change.
var otherSource = regexp.MustCompile(`^\s*(?:\$CI_PIPELINE_SOURCE\s*==\s*["'](?:schedule|web|trigger|api|pipeline|chat)["']|\$CI_COMMIT_TAG\b(?:\s*=~.*)?)\s*$`)

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

// variables are the environment of a job: the file's, then its own.
func (c *gitlabCI) variables(l layers) map[string]string {
	vars := map[string]string{}
	take := func(n *yaml.Node) {
		n = deref(n)
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			v := deref(n.Content[i+1])
			if v.Kind == yaml.MappingNode {
				v = deref(value(v, "value"))
			}
			if v != nil && v.Kind == yaml.ScalarNode {
				vars[n.Content[i].Value] = v.Value
			}
		}
	}
	if inherits(l, "variables", "") {
		for _, doc := range slices.Backward(c.docs) {
			take(value(doc, "variables"))
		}
	}
	for _, n := range slices.Backward(l.nodes) {
		take(value(n, "variables"))
	}
	return vars
}

// parallel gives the shown name and the variables of each of a job's copies.
func parallel(name string, n *yaml.Node) (shown []string, combos []map[string]string, err error) {
	if n == nil {
		return []string{name}, []map[string]string{{}}, nil
	}
	if n.Kind == yaml.ScalarNode {
		total, err := strconv.Atoi(n.Value)
		if err != nil || total < 1 || total > maxCombinations {
			return nil, nil, fmt.Errorf("parallel: %q: want a number up to %d", n.Value, maxCombinations)
		}
		for i := range total {
			shown = append(shown, fmt.Sprintf("%s %d/%d", name, i+1, total))
			combos = append(combos, map[string]string{"CI_NODE_INDEX": strconv.Itoa(i + 1), "CI_NODE_TOTAL": n.Value})
		}
		return shown, combos, nil
	}
	matrix := deref(value(n, "matrix"))
	if matrix == nil || matrix.Kind != yaml.SequenceNode {
		return nil, nil, errors.New("parallel: want a number or a matrix")
	}
	for _, set := range matrix.Content {
		product := []combination{{}}
		for i := 0; deref(set).Kind == yaml.MappingNode && i+1 < len(deref(set).Content); i += 2 {
			list := deref(set).Content[i+1]
			if deref(list).Kind == yaml.ScalarNode {
				list = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{deref(list)}}
			}
			if product, err = times(product, deref(set).Content[i].Value, deref(list)); err != nil {
				return nil, nil, err
			}
		}
		for _, c := range product {
			var values []string
			for _, k := range c.order {
				values = append(values, c.values[k])
			}
			shown = append(shown, fmt.Sprintf("%s: [%s]", name, strings.Join(values, ", ")))
			combos = append(combos, c.values)
		}
	}
	if len(shown) > maxCombinations {
		return nil, nil, fmt.Errorf("the matrix has more than %d combinations", maxCombinations)
	}
	return shown, combos, nil
}

// known are the predefined variables whose value is the same here.
var known = map[string]string{"CI": "true", "GITLAB_CI": "true", "CI_PROJECT_DIR": "."}

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

// The bounds of a job's environment, in bytes.
const (
	maxValue       = 32 << 10
	maxEnvironment = 128 << 10
	// maxEnvironments bounds those of all jobs of a file together.
	maxEnvironments = 8 << 20
)

// variableName is what a shell can take for a variable's name.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment puts known values into each other; lost are the variables whose
// value is not known here, or is more than is taken.
func (c *gitlabCI) environment(vars map[string]string) (env []string, lost map[string]bool) {
	lost = map[string]bool{}
	left := min(maxEnvironment, maxEnvironments-c.environments)
	defer func() { c.environments += size(env) }()
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		v, ok := expanded(name, vars)
		if left -= len(name) + len(v); !ok || left < 0 || strings.ContainsRune(v, 0) {
			lost[name] = true
			continue
		}
		if variableName.MatchString(name) {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		env = append(env, name+"="+known[name])
	}
	return env, lost
}

func size(env []string) int {
	n := 0
	for _, kv := range env {
		n += len(kv)
	}
	return n
}

// expanded is a variable's value with others put in, once.
func expanded(name string, vars map[string]string) (value string, ok bool) {
	if len(vars[name]) > maxValue {
		return "", false
	}
	ok, total := true, 0
	value = os.Expand(vars[name], func(ref string) string {
		inner, found := vars[ref]
		if !found || ref == name || strings.Contains(inner, "$") {
			inner, found = known[ref]
		}
		if total += len(inner); !found || total > maxValue {
			ok = false
			return ""
		}
		return inner
	})
	return value, ok
}

// variable is a use of one in a shell command.
var variable = regexp.MustCompile(`\$\{?([A-Z_][A-Z0-9_]*)`)

// firstUnknown is a variable of the CI's own that a command uses and whose value
// is not known here.
func firstUnknown(script string, lost map[string]bool, vars map[string]string) string {
	for _, m := range variable.FindAllStringSubmatch(script, -1) {
		name := m[1]
		_, own := vars[name]
		_, same := known[name]
		predefined := strings.HasPrefix(name, "CI_") || strings.HasPrefix(name, "GITLAB_")
		if lost[name] || predefined && !own && !same {
			return name
		}
	}
	return ""
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
