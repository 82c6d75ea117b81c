package workflow

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// expression is ${{ … }}.
var expression = regexp.MustCompile(`\$\{\{(.*?)\}\}`)

// scope is what expressions may refer to.
type scope struct {
	matrix map[string]string
	env    map[string]string
}

// resolve puts in the values that are known here; unresolved names the first
// expression that is not.
func (s scope) resolve(text string) (out, unresolved string) {
	out = expression.ReplaceAllStringFunc(text, func(e string) string {
		inner := strings.TrimSpace(expression.FindStringSubmatch(e)[1])
		v, ok := s.lookup(inner)
		if !ok && unresolved == "" {
			unresolved = "the value of ${{ " + inner + " }} is known only to the CI"
		}
		return v
	})
	return out, unresolved
}

func (s scope) lookup(name string) (string, bool) {
	if key, ok := strings.CutPrefix(name, "matrix."); ok {
		v, known := s.matrix[key]
		return v, known
	}
	if key, ok := strings.CutPrefix(name, "env."); ok {
		v, known := s.env[key]
		return v, known
	}
	if name == "github.workspace" {
		return ".", true
	}
	return "", false
}

// jobName is the name that GitHub shows: the name with its values put in, or
// with the values in parentheses when the name uses none.
func (s scope) jobName(id, name string, c combination) string {
	shown := first(name, id)
	resolved, _ := s.resolve(shown)
	if resolved != shown || len(c.order) == 0 {
		return resolved
	}
	var values []string
	for _, k := range c.order {
		values = append(values, c.values[k])
	}
	return fmt.Sprintf("%s (%s)", shown, strings.Join(values, ", "))
}

// stepName is the name that GitHub shows for a step.
func stepName(s fileStep) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Run != "":
		line, _, _ := strings.Cut(strings.TrimSpace(s.Run), "\n")
		return "Run " + line
	case s.Uses != "":
		return "Run " + s.Uses
	}
	return ""
}

// combination is one set of matrix values, in the order of the file.
type combination struct {
	values map[string]string
	order  []string
}

func (c combination) with(key, value string) combination {
	values := map[string]string{key: value}
	for k, v := range c.values {
		if k != key {
			values[k] = v
		}
	}
	order := slices.Clone(c.order)
	if !slices.Contains(order, key) {
		order = append(order, key)
	}
	return combination{values: values, order: order}
}

// combinations is the product of the matrix's lists, with `include` added and
// `exclude` taken out. A matrix made by an expression has no known values.
func combinations(n *yaml.Node) ([]combination, error) {
	out := []combination{{}}
	if n.Kind != yaml.MappingNode {
		return out, nil
	}
	var include, exclude *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, list := n.Content[i].Value, n.Content[i+1]
		switch {
		case key == "include":
			include = list
		case key == "exclude":
			exclude = list
		case list.Kind == yaml.SequenceNode:
			var err error
			if out, err = times(out, key, list); err != nil {
				return nil, err
			}
		}
	}
	out = slices.DeleteFunc(out, func(c combination) bool { return matchesAny(c, exclude) })
	return included(out, include), nil
}

func times(combos []combination, key string, list *yaml.Node) ([]combination, error) {
	if len(combos)*len(list.Content) > maxCombinations { // before they are made
		return nil, fmt.Errorf("the matrix has more than %d combinations", maxCombinations)
	}
	var out []combination
	for _, c := range combos {
		for _, v := range list.Content {
			out = append(out, c.with(key, v.Value))
		}
	}
	return out, nil
}

// pairs reads a mapping of scalars.
func pairs(n *yaml.Node) [][2]string {
	var out [][2]string
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		out = append(out, [2]string{n.Content[i].Value, n.Content[i+1].Value})
	}
	return out
}

func matchesAny(c combination, list *yaml.Node) bool {
	if list == nil {
		return false
	}
	return slices.ContainsFunc(list.Content, func(n *yaml.Node) bool {
		ps := pairs(n)
		return len(ps) > 0 && !slices.ContainsFunc(ps, func(p [2]string) bool { return c.values[p[0]] != p[1] })
	})
}

// included adds what `include` lists: to the combinations it fits, or as one
// of its own.
func included(combos []combination, list *yaml.Node) []combination {
	if list == nil || list.Kind != yaml.SequenceNode {
		return combos
	}
	original := len(combos)
	for _, n := range list.Content {
		ps := pairs(n)
		fits := false
		for i, c := range combos[:original] {
			if len(c.values) == 0 || slices.ContainsFunc(ps, func(p [2]string) bool { v, has := c.values[p[0]]; return has && v != p[1] }) {
				continue
			}
			fits = true
			for _, p := range ps {
				combos[i].values[p[0]] = p[1] // not part of the shown name
			}
		}
		if !fits && len(combos) < maxCombinations {
			var c combination
			for _, p := range ps {
				c = c.with(p[0], p[1])
			}
			combos = append(combos, c)
		}
	}
	return slices.DeleteFunc(combos, func(c combination) bool { return len(c.values) == 0 && len(combos) > 1 })
}
