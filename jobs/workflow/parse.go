package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// The bounds of what is read.
const (
	MaxBytes        = 1 << 20
	maxJobs         = 200
	maxSteps        = 500
	maxCombinations = 256 // GitHub's own limit for a matrix
	// maxExpanded bounds the steps of all jobs in all combinations: some
	// megabytes, from a file that can hold a thousand times as many.
	maxExpanded = 20_000
)

// ErrInvalid is wrapped by the error of a file that is no workflow.
var ErrInvalid = errors.New("not a workflow file")

// Workflow is one file.
type Workflow struct {
	Path string
	// Events are the names under `on`.
	Events []string
	Jobs   []Job
}

// Job is one job, for one combination of its matrix.
type Job struct {
	ID string
	// Name is as the forge shows it, matrix values included.
	Name string
	// Optional jobs may fail, or are started by hand.
	Optional bool
	Steps    []Step
}

// Step is one step. Run is empty for steps that use an action.
type Step struct {
	Number int // 1-based, among the file's steps
	// Name is as the forge shows it: GitHub's "Run …" for a step without a
	// name, and of a command in a GitLab job its first line.
	Name string
	Run  string
	Dir  string // relative to the repository
	Env  []string
	// Shell is the argv that Run is appended to.
	Shell []string
	// Unresolved says why the step cannot be run here; empty if it can.
	Unresolved string
}

// The file's own shape. Scalars that may be anything are nodes.
type file struct {
	On       yaml.Node          `yaml:"on"`
	Env      map[string]string  `yaml:"env"`
	Defaults defaults           `yaml:"defaults"`
	Jobs     map[string]fileJob `yaml:"jobs"`
}

type defaults struct {
	Run struct {
		Shell string `yaml:"shell"`
		Dir   string `yaml:"working-directory"`
	} `yaml:"run"`
}

type fileJob struct {
	Name     string            `yaml:"name"`
	Env      map[string]string `yaml:"env"`
	Defaults defaults          `yaml:"defaults"`
	Strategy struct {
		Matrix yaml.Node `yaml:"matrix"`
	} `yaml:"strategy"`
	Steps []fileStep `yaml:"steps"`
}

type fileStep struct {
	Name  string            `yaml:"name"`
	Uses  string            `yaml:"uses"`
	Run   string            `yaml:"run"`
	Shell string            `yaml:"shell"`
	Dir   string            `yaml:"working-directory"`
	Env   map[string]string `yaml:"env"`
}

// Parse reads a workflow. Its error wraps ErrInvalid.
func Parse(path string, content []byte) (Workflow, error) {
	w := Workflow{Path: path}
	if len(content) > MaxBytes {
		return w, fmt.Errorf("%w: %s is over %d bytes", ErrInvalid, path, MaxBytes)
	}
	var f file
	if err := yaml.Unmarshal(content, &f); err != nil {
		return w, fmt.Errorf("%w: %s: %w", ErrInvalid, path, err)
	}
	if len(f.Jobs) > maxJobs {
		return w, fmt.Errorf("%w: %s has more than %d jobs", ErrInvalid, path, maxJobs)
	}
	w.Events = eventNames(&f.On)
	steps := 0
	for _, id := range slices.Sorted(maps.Keys(f.Jobs)) {
		jobs, err := f.expand(id, f.Jobs[id], maxExpanded-steps)
		if err != nil {
			return w, fmt.Errorf("%w: %s: job %s: %w", ErrInvalid, path, id, err)
		}
		w.Jobs = append(w.Jobs, jobs...)
		steps += len(jobs) * len(f.Jobs[id].Steps)
	}
	return w, nil
}

// eventNames reads `on`: a name, a list of names, or a mapping.
func eventNames(n *yaml.Node) []string {
	switch n.Kind {
	case yaml.ScalarNode:
		return []string{n.Value}
	case yaml.SequenceNode:
		var out []string
		for _, c := range n.Content {
			out = append(out, c.Value)
		}
		return out
	case yaml.MappingNode:
		var out []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			out = append(out, n.Content[i].Value)
		}
		return out
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return nil
}

// expand makes a Job of each combination of the matrix, of at most room steps
// together.
func (f file) expand(id string, j fileJob, room int) ([]Job, error) {
	if len(j.Steps) > maxSteps {
		return nil, fmt.Errorf("more than %d steps", maxSteps)
	}
	combos, err := combinations(&j.Strategy.Matrix)
	if err != nil {
		return nil, err
	}
	if len(combos)*len(j.Steps) > room {
		return nil, fmt.Errorf("the file has more than %d steps in all combinations", maxExpanded)
	}
	var out []Job
	for _, c := range combos {
		scope := scope{matrix: c.values}
		job := Job{ID: id, Name: scope.jobName(id, j.Name, c)}
		for i, s := range j.Steps {
			job.Steps = append(job.Steps, f.step(scope, j, s, i+1))
		}
		out = append(out, job)
	}
	return out, nil
}

func (f file) step(sc scope, j fileJob, s fileStep, number int) Step {
	sc.env = map[string]string{}
	var missing []string
	for _, env := range []map[string]string{f.Env, j.Env, s.Env} {
		for _, k := range slices.Sorted(maps.Keys(env)) {
			v, unresolved := sc.resolve(env[k])
			if unresolved != "" {
				missing = append(missing, unresolved)
			}
			sc.env[k] = v
		}
	}
	out := Step{Number: number, Name: stepName(s)}
	if s.Run == "" {
		out.Unresolved = "the step runs no command"
		return out
	}
	var unresolved string
	if out.Run, unresolved = sc.resolve(s.Run); unresolved != "" {
		out.Unresolved = unresolved
	}
	if out.Dir, unresolved = sc.resolve(first(s.Dir, j.Defaults.Run.Dir, f.Defaults.Run.Dir)); unresolved != "" {
		out.Unresolved = unresolved
	}
	shell, known := shells[first(s.Shell, j.Defaults.Run.Shell, f.Defaults.Run.Shell)]
	if !known {
		out.Unresolved = "shell " + first(s.Shell, j.Defaults.Run.Shell, f.Defaults.Run.Shell) + " is not supported"
	}
	out.Shell = shell
	for _, k := range slices.Sorted(maps.Keys(sc.env)) {
		out.Env = append(out.Env, k+"="+sc.env[k])
	}
	if out.Unresolved == "" && len(missing) > 0 {
		out.Unresolved = missing[0]
	}
	return out
}

// shells are GitHub's command lines for `shell`, on Linux.
var shells = map[string][]string{
	"":     {"/bin/bash", "-e", "-c"},
	"bash": {"/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"},
	"sh":   {"/bin/sh", "-e", "-c"},
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
