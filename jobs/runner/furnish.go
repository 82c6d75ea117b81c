package runner

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/repoconfig"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/image"
	"github.com/greenwright/greenwright/vcs"
)

// furnishings are what a run's sandboxes have besides files: an image, a way
// out, and commands that set them up.
type furnishings struct {
	image  *image.Image // nil is the worker's own system
	egress egress.Policy
	setup  []verify.Command
	// failedSetup is what the agent is told of set-up commands that failed.
	failedSetup []string
}

// spec is what every sandbox of the run is made of.
func (s *session) spec() sandbox.Spec {
	spec := s.cfg.Box
	spec.RunID = string(s.ctl.Run)
	spec.Env, spec.Path = slices.Clone(spec.Env), slices.Clone(spec.Path)
	if s.image != nil {
		s.image.Apply(&spec)
	}
	return spec
}

// furnish settles image, way out and set-up: what the repository asks for on
// its base branch, as far as the operator allows it.
func (s *session) furnish(ctx context.Context) error {
	ref, err := s.chooseImage(ctx)
	if err != nil {
		return err
	}
	box := journal.Box{Image: ref}
	if ref != "" {
		s.status.change(func(st *progress.Status) { st.Now = "image " + ref })
		bounded, cancel := context.WithTimeout(ctx, pullLimit)
		defer cancel()
		if s.image, err = s.cfg.Images.Pull(bounded, ref); err != nil {
			return end(jobs.Failed, "the operator: check the image's name, the registry and the network with `greenwright sandbox exec --image "+ref+" -- true`.", "the image %s could not be brought: %s", ref, s.tellable(err))
		}
		box.Digest = s.image.Digest
	}
	s.egress = s.cfg.Egress
	if s.config.Egress != nil {
		if s.egress, err = s.cfg.Egress.Narrow(s.config.Egress); err != nil {
			return end(jobs.Refused, "ask the operator to add it to sandbox.egress, or mend `egress` in "+repoconfig.Path+".", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	if err := s.findSetup(ctx); err != nil {
		return err
	}
	if len(s.setup) > 0 {
		for _, r := range s.egress.Rules() {
			box.Egress = append(box.Egress, r.String())
		}
	}
	if s.past.box != nil && reflect.DeepEqual(*s.past.box, box) {
		return nil
	}
	return s.records.Append(ctx, journal.TypeBox, box)
}

// devcontainerFile may name an image; real ones have a few kilobytes.
const (
	devcontainerFile = ".devcontainer/devcontainer.json"
	maxDevcontainer  = 64 << 10
)

// chooseImage is the repository's choice, its development container's, or the
// operator's. The second is only a hint: one that is not allowed is passed
// over.
func (s *session) chooseImage(ctx context.Context) (string, error) {
	if ref := s.config.Image; ref != "" {
		if image.IsLocal(ref) {
			return "", end(jobs.Refused, "name an image of a registry in "+repoconfig.Path+".", "the image %q is a path of the worker's machine, which no repository may name", ref)
		}
		if !s.allowedImage(ref) {
			return "", end(jobs.Refused, "ask the operator to add it to sandbox.images, or take `image` out of "+repoconfig.Path+".", "the image %q is not among those that repositories may choose", ref)
		}
		return ref, nil
	}
	if len(s.cfg.AllowedImages) == 0 {
		return s.cfg.Image, nil
	}
	content, err := s.mirror.ReadFile(ctx, s.trusted, devcontainerFile, maxDevcontainer)
	if errors.Is(err, vcs.ErrNotFound) {
		return s.cfg.Image, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", devcontainerFile, err)
	}
	ref, err := image.DevcontainerImage(content)
	switch {
	case err != nil:
		return s.cfg.Image, s.note(ctx, journal.NoteNotice, "%s is not used: %v", devcontainerFile, err)
	case ref == "":
		return s.cfg.Image, nil
	case !s.allowedImage(ref):
		return s.cfg.Image, s.note(ctx, journal.NoteNotice, "the image of %s is not used: %s is not among those that repositories may choose", devcontainerFile, ref)
	}
	return ref, nil
}

func (s *session) allowedImage(ref string) bool {
	if image.IsLocal(ref) { // a path of the worker's machine
		return false
	}
	return slices.ContainsFunc(s.cfg.AllowedImages, func(pattern string) bool {
		ok, err := doublestar.Match(pattern, ref)
		return err == nil && ok
	})
}

// maxSetup bounds set-up commands: they run in every room.
const maxSetup = 20

// pullLimit bounds the bringing of an image.
const pullLimit = 15 * time.Minute

// findSetup settles which commands bring what the others need.
func (s *session) findSetup(ctx context.Context) error {
	if s.pr != nil && s.pr.FromFork() {
		return nil // a stranger's code gets no network, whoever asks about it
	}
	if s.config.Setup != nil {
		s.setup = verify.Explicit(s.config.Setup, repoconfig.Path).Commands
		if len(s.setup) > maxSetup {
			return end(jobs.Refused, "put them into one script.", "%s names more than %d set-up commands", repoconfig.Path, maxSetup)
		}
		return nil
	}
	var err error
	s.setup, err = verify.Setup(ctx, commitTree{s, s.trusted}, s.egress.Covers)
	return err
}

// setUp runs the set-up commands in a room, with the network open to the list.
// One that fails is told, and the run goes on: what it should have brought may
// be there, or may be what is to be repaired.
func (s *session) setUp(ctx context.Context, r *room, commit string) error {
	s.failedSetup = nil
	for _, c := range s.setup {
		s.status.change(func(st *progress.Status) { st.Now = "set-up: " + c.Line() })
		if err := s.records.Append(ctx, journal.TypeSetupDue, journal.SetupIntended{Room: r.name, Command: strings.TrimSpace(c.Script), Commit: commit}); err != nil {
			return err
		}
		ran, err := s.runSetup(ctx, r, c)
		if err != nil {
			return err
		}
		ran.Commit = commit
		if err := s.records.Append(ctx, journal.TypeSetup, ran); err != nil {
			return err
		}
		s.log.Info("set-up command ran", "room", r.name, "command", c.Name, "exit_code", ran.ExitCode, "cause", ran.Cause, "duration", ran.Duration)
		if !ran.Green() {
			s.failedSetup = append(s.failedSetup, fmt.Sprintf("$ %s\nexit %d (%s)\n%s", ran.Command, ran.ExitCode, ran.Cause, ran.Output))
		}
	}
	return nil
}

// runSetup runs one of them. Each has a gateway's tallies of its own, so that
// the journal says what it reached.
func (s *session) runSetup(ctx context.Context, r *room, c verify.Command) (journal.SetupRan, error) {
	before := r.gateway.Tallies()
	res, err := r.box.Exec(ctx, sandbox.Cmd{Script: c.Script, Shell: c.Shell, Dir: c.Dir, Env: c.Env, Network: true, Idle: s.checkIdle()})
	if err != nil {
		return journal.SetupRan{}, fmt.Errorf("running %q: %w", c.Name, err)
	}
	if ctx.Err() != nil {
		return journal.SetupRan{}, context.Cause(ctx)
	}
	return journal.SetupRan{
		Room: r.name, Command: strings.TrimSpace(c.Script), Source: c.Source, ExitCode: res.ExitCode, Cause: string(res.Cause),
		Duration: res.Duration, Output: verify.Reduce(res.Output.String()), Connections: connections(before, r.gateway.Tallies()),
	}, nil
}

// connections are what was added between two looks at the tallies.
func connections(before, after []egress.Tally) []journal.Connection {
	var out []journal.Connection
	for _, t := range after {
		c := journal.Connection{Host: t.Host, Port: t.Port, Verdict: t.Verdict.String(), Reason: t.Reason, Count: t.Connections, BytesOut: t.BytesOut, BytesIn: t.BytesIn}
		for _, b := range before {
			if b.Host == t.Host && b.Port == t.Port && b.Verdict == t.Verdict && b.Reason == t.Reason {
				c.Count -= b.Connections
				c.BytesOut -= b.BytesOut
				c.BytesIn -= b.BytesIn
			}
		}
		if c.Count > 0 {
			out = append(out, c)
		}
	}
	return out
}

// unfurnish gives the image back.
func (s *session) unfurnish() {
	if s.image != nil {
		s.image.Release()
		s.image = nil
	}
}

// resolver is the option of a gateway that answers names otherwise.
func (r *Runner) resolver() []egress.Option {
	if r.cfg.Resolver == nil {
		return nil
	}
	return []egress.Option{egress.WithResolver(r.cfg.Resolver)}
}
