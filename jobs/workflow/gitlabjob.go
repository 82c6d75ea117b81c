package workflow

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
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
