package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/jobs/workflow"
	"github.com/greenwright/greenwright/vcs"
)

// Tree reads a commit of the trusted mirror.
type Tree interface {
	// ReadFile gives a file's content; vcs.ErrNotFound when there is none.
	ReadFile(ctx context.Context, path string, maxBytes int64) ([]byte, error)
	// ListFiles gives the paths of the files in a directory.
	ListFiles(ctx context.Context, dir string) ([]string, error)
}

// Plan is what will prove a change.
type Plan struct {
	Commands []Command
	// Notes say what was left out and why.
	Notes []string
}

// maxCommands bounds a plan: each runs twice at least.
const maxCommands = 20

// Explicit makes a plan of commands that somebody wrote down.
func Explicit(scripts []string, source string) Plan {
	var p Plan
	for _, s := range scripts {
		if s = strings.TrimSpace(s); s != "" {
			p.Commands = append(p.Commands, Command{Name: firstLine(s), Script: s, Source: source})
		}
	}
	return p
}

// Find looks for the commands: in the forge's CI files, else in those of another
// forge, else in build files. An error is the tree's; nothing found is an empty
// plan.
func Find(ctx context.Context, tree Tree, forge vcs.ForgeName) (Plan, error) {
	places := []func(context.Context, Tree) (Plan, error){fromWorkflows, fromGitLab, fromBuildFiles}
	if forge == vcs.GitLab {
		places[0], places[1] = fromGitLab, fromWorkflows
	}
	var notes []string
	for _, find := range places {
		plan, err := find(ctx, tree)
		notes = append(notes, plan.Notes...)
		if plan.Notes = notes; err != nil || len(plan.Commands) > 0 {
			return plan, err
		}
	}
	return Plan{Notes: notes}, nil
}

// fromGitLab takes the checks of a GitLab CI file.
func fromGitLab(ctx context.Context, tree Tree) (Plan, error) {
	var plan Plan
	content, err := tree.ReadFile(ctx, workflow.GitLabPath, workflow.MaxBytes)
	if errors.Is(err, vcs.ErrNotFound) {
		return plan, nil
	}
	if err != nil {
		return plan, fmt.Errorf("reading %s: %w", workflow.GitLabPath, err)
	}
	w, err := workflow.ParseGitLab(workflow.GitLabPath, content, func(path string) ([]byte, error) {
		return tree.ReadFile(ctx, path, workflow.MaxBytes)
	})
	if err != nil {
		plan.Notes = append(plan.Notes, err.Error())
		return plan, nil
	}
	plan.takeWorkflow(w)
	return plan, nil
}

const workflowDir = ".github/workflows"

func fromWorkflows(ctx context.Context, tree Tree) (Plan, error) {
	var plan Plan
	files, err := tree.ListFiles(ctx, workflowDir)
	if errors.Is(err, vcs.ErrNotFound) {
		return plan, nil
	}
	if err != nil {
		return plan, fmt.Errorf("looking for workflows: %w", err)
	}
	for _, name := range files {
		if ext := path.Ext(name); ext != ".yml" && ext != ".yaml" {
			continue
		}
		content, err := tree.ReadFile(ctx, name, workflow.MaxBytes)
		if err != nil {
			return plan, fmt.Errorf("reading %s: %w", name, err)
		}
		w, err := workflow.Parse(name, content)
		if err != nil {
			plan.Notes = append(plan.Notes, err.Error())
			continue
		}
		plan.takeWorkflow(w)
	}
	return plan, nil
}

// checksChanges are the events on which a workflow judges a change.
var checksChanges = []string{"push", "pull_request", "merge_group"}

func (p *Plan) takeWorkflow(w workflow.Workflow) {
	if !slices.ContainsFunc(w.Events, func(e string) bool { return slices.Contains(checksChanges, e) }) {
		return
	}
	for _, job := range w.Jobs {
		if job.Optional {
			continue
		}
		for _, s := range job.Steps {
			if s.Run == "" {
				continue
			}
			p.takeStep(w.Path, job, s)
		}
	}
}

func (p *Plan) takeStep(file string, job workflow.Job, s workflow.Step) {
	source := fmt.Sprintf("%s › %s › %s", file, job.Name, s.Name)
	if !isCheck(s.Run) {
		return
	}
	if s.Unresolved != "" {
		p.Notes = append(p.Notes, source+" is left out: "+s.Unresolved)
		return
	}
	cmd := FromStep(file, job, s)
	same := func(c Command) bool { return c.Script == cmd.Script && c.Dir == cmd.Dir }
	switch {
	case slices.ContainsFunc(p.Commands, same): // another combination of a matrix
	case len(p.Commands) == maxCommands:
		p.Notes = append(p.Notes, source+" is left out: there are more than 20 checks")
	default:
		cmd.Name = p.unused(cmd)
		p.Commands = append(p.Commands, cmd)
	}
}

// unused is a name for the command that no other has: two jobs may well have a
// step of the same name.
func (p *Plan) unused(cmd Command) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(p.Commands, func(c Command) bool { return c.Name == name })
	}
	name := cmd.Name
	if taken(name) && cmd.Dir != "" {
		name = fmt.Sprintf("%s (%s)", cmd.Name, cmd.Dir)
	}
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s (%d)", cmd.Name, n)
	}
	return name
}

// FromStep makes the command of a workflow's step.
func FromStep(file string, job workflow.Job, s workflow.Step) Command {
	return Command{
		Name: s.Name, Script: strings.TrimSpace(s.Run), Dir: path.Clean("/" + s.Dir)[1:], Env: s.Env, Shell: s.Shell,
		Source: fmt.Sprintf("%s › %s › %s", file, job.Name, s.Name),
	}
}

// goCommands prove a Go module that has no CI.
var goCommands = []Command{
	{Name: "gofmt", Script: `test -z "$(gofmt -l $(git ls-files '*.go' ':!vendor/*'))"`},
	{Name: "go mod tidy", Script: "go mod tidy -diff"},
	{Name: "go vet", Script: "go vet ./..."},
	{Name: "go test", Script: "go test ./..."},
}

// maxBuildFile bounds the build files that are read.
const maxBuildFile = 1 << 20

// npmScripts are the scripts of a package.json that check.
var npmScripts = []string{"format:check", "lint", "typecheck", "test"}

func fromBuildFiles(ctx context.Context, tree Tree) (Plan, error) {
	var plan Plan
	if _, err := tree.ReadFile(ctx, "go.mod", maxBuildFile); err == nil {
		for _, c := range goCommands {
			c.Source = "go.mod"
			plan.Commands = append(plan.Commands, c)
		}
	} else if !errors.Is(err, vcs.ErrNotFound) {
		return plan, fmt.Errorf("reading go.mod: %w", err)
	}
	content, err := tree.ReadFile(ctx, "package.json", maxBuildFile)
	if errors.Is(err, vcs.ErrNotFound) {
		return plan, nil
	}
	if err != nil {
		return plan, fmt.Errorf("reading package.json: %w", err)
	}
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal(content, &pkg); err != nil {
		plan.Notes = append(plan.Notes, "package.json cannot be read: "+err.Error())
		return plan, nil //nolint:nilerr // noted
	}
	for _, name := range npmScripts {
		// npm init writes a test script that only says that there is none.
		if s := pkg.Scripts[name]; s != "" && !strings.Contains(s, "no test specified") {
			plan.Commands = append(plan.Commands, Command{Name: "npm run " + name, Script: "npm run --silent " + name, Source: "package.json"})
		}
	}
	return plan, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
