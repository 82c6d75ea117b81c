package workflow

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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

// known are the predefined variables whose value is the same here.
var known = map[string]string{"CI": "true", "GITLAB_CI": "true", "CI_PROJECT_DIR": "."}

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
