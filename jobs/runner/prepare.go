package runner

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/repoconfig"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// prepare finds out everything that needs the forge, and fetches.
func (s *session) prepare(ctx context.Context) error {
	var err error
	if s.self, err = s.forge.Self(ctx); err != nil {
		return fmt.Errorf("asking the forge who we are: %w", err)
	}
	if s.repo, err = s.forge.Repo(ctx, s.job.Thread.Repo); err != nil {
		return fmt.Errorf("reading the repository: %w", err)
	}
	if s.job.Kind.Changes() && !s.job.Command.Options.DryRun {
		// Before any money is spent (rule P7): a right that is missing is named now.
		if _, err := s.forge.Remote(ctx, s.repo.RepoRef, vcs.Write); err != nil {
			return fmt.Errorf("asking for write access: %w", err)
		}
	}
	for _, step := range []func(context.Context) error{s.readSubject, s.fetch, s.locate, s.readConfig, s.mayPush, s.furnish, s.findPlan, s.readGuides} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mayPush asks for the forge's rules before any money is spent (rule P7). What
// cannot be asked is found out by the push.
func (s *session) mayPush(ctx context.Context) error {
	if !s.job.Kind.Changes() || s.job.Command.Options.DryRun || s.past.prepared != nil {
		return nil
	}
	reason, err := s.publisher().Refused(ctx, s.pr, s.title(), s.subjectLine(), s.commitBody())
	if err != nil {
		s.log.Warn("rules about pushes could not be read", "error", err)
		return nil
	}
	if reason != "" {
		return end(jobs.Refused, "change that rule, or make an exception for this account, then ask again.", "what would be pushed would be refused: %s", reason)
	}
	return nil
}

// fetch brings the base and the head into the mirror and settles which commit
// the run begins at.
func (s *session) fetch(ctx context.Context) error {
	var err error
	if s.mirror, err = s.cfg.Git.Mirror(s.repo.RepoRef); err != nil {
		return fmt.Errorf("opening the mirror: %w", err)
	}
	remote, err := s.forge.Remote(ctx, s.repo.RepoRef, vcs.Read)
	if err != nil {
		return fmt.Errorf("asking for read access: %w", err)
	}
	s.baseRef = s.repo.DefaultBranch
	if b := s.job.Command.Options.Base; b != "" {
		s.baseRef = b
	}
	if s.baseRef == "" && s.repo.Forge == vcs.Local {
		return s.fetchDetached(ctx, remote)
	}
	if s.baseRef == "" {
		return end(jobs.Refused, "push a first commit, then ask again.", "the repository is empty")
	}
	if err := vcs.ValidateBranch(s.baseRef); err != nil {
		return end(jobs.Failed, "name a branch of this repository after `--base`.", "%q is no branch", s.baseRef)
	}
	refs := []string{"refs/heads/" + s.baseRef}
	start := refs[0]
	if s.pr != nil {
		start = "refs/heads/" + s.pr.Head.Name
		if s.pr.FromFork() { // only to be read: a question
			start = s.pr.HeadRef()
		}
		s.baseRef = s.pr.Base.Name
		refs = []string{"refs/heads/" + s.baseRef, start}
	}
	s.status.change(func(st *progress.Status) { st.Now = "fetch" })
	tips, err := s.mirror.Fetch(ctx, remote, slices.Compact(refs)...)
	if errors.Is(err, vcs.ErrNotFound) {
		return end(jobs.Failed, "check that the branch exists.", "branch %s is not there", strings.TrimPrefix(start, "refs/heads/"))
	}
	if err != nil {
		return fmt.Errorf("fetching: %w", err)
	}
	if s.past.prepared != nil {
		return s.pinned(ctx, remote)
	}
	if done, err := s.pinnedEarlier(ctx, remote); done || err != nil {
		return err
	}
	s.base = tips[start]
	if s.pr != nil && s.pr.Head.SHA != s.base {
		s.pr.Head.SHA = s.base // pushed since it was read: work on what is there now (rule R4)
		if s.job.Kind == jobs.KindCheckRepair {
			return end(jobs.NoChange, "", "the %s has moved on since the check became red", s.words().PullRequest)
		}
	}
	s.trusted = tips["refs/heads/"+s.baseRef]
	s.status.change(func(st *progress.Status) { st.HeadSHA = s.base })
	return s.records.Append(ctx, journal.TypePrepared, journal.Prepared{Base: s.base, Trusted: s.trusted, BaseRef: s.baseRef})
}

// fetchDetached begins at the commit of a checkout that is on no branch, as
// CI systems leave it.
func (s *session) fetchDetached(ctx context.Context, remote vcs.Remote) error {
	info, err := git.OpenLocal(remote.URL)
	if err != nil {
		return fmt.Errorf("reading the checkout: %w", err)
	}
	if _, err := s.mirror.Fetch(ctx, remote, info.Head); err != nil {
		return fmt.Errorf("fetching: %w", err)
	}
	s.base, s.trusted = info.Head, info.Head
	return nil
}

// commitTree reads a commit of the mirror.
type commitTree struct {
	s      *session
	commit string
}

func (t commitTree) ReadFile(ctx context.Context, name string, maxBytes int64) ([]byte, error) {
	return t.s.mirror.ReadFile(ctx, t.commit, name, maxBytes)
}

func (t commitTree) ListFiles(ctx context.Context, dir string) ([]string, error) {
	names, err := t.s.mirror.ListFiles(ctx, t.commit, dir)
	for i, n := range names {
		names[i] = path.Join(dir, n)
	}
	return names, err
}

// readConfig reads the repository's settings from the base branch, never from
// the head under review (decision 8).
func (s *session) readConfig(ctx context.Context) error {
	content, err := s.mirror.ReadFile(ctx, s.trusted, repoconfig.Path, repoconfig.MaxBytes)
	if errors.Is(err, vcs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", repoconfig.Path, err)
	}
	if s.config, err = repoconfig.Parse(content); err != nil {
		return end(jobs.Refused, "mend the file on "+s.baseRef+", then ask again.", "%s", err)
	}
	return nil
}

// findPlan settles which commands prove the change. The failed check's own
// command comes first.
func (s *session) findPlan(ctx context.Context) error {
	switch {
	case len(s.ctl.Verify) > 0:
		s.plan = verify.Explicit(s.ctl.Verify, "named when the job was asked for")
	case len(s.config.Verify) > 0:
		s.plan = verify.Explicit(s.config.Verify, repoconfig.Path)
	default:
		// From the base: a pull request does not choose what proves it.
		plan, err := verify.Find(ctx, commitTree{s, s.trusted}, s.repo.Forge)
		if err != nil {
			return fmt.Errorf("looking for verifying commands: %w", err)
		}
		s.plan = plan
	}
	for _, c := range s.failed {
		if !slices.ContainsFunc(s.plan.Commands, func(p verify.Command) bool { return p.Script == c.Script && p.Dir == c.Dir }) {
			s.plan.Commands = slices.Insert(s.plan.Commands, 0, c)
		}
	}
	for _, n := range s.plan.Notes {
		if err := s.note(ctx, journal.NoteNotice, "%s", n); err != nil {
			return err
		}
	}
	return nil
}
