package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
)

// repairCheck looks at the pull request of a red check before it becomes a
// job: open, not a fork's, still at that commit, and ours or opened to us.
func (h *handling) repairCheck(ctx context.Context, p trigger.Proposal) error {
	check := h.ev.Check
	numbers, err := h.pullsOf(ctx, check)
	if err != nil {
		return err
	}
	for _, number := range numbers {
		thread := vcs.Thread{Repo: h.ev.Repo.RepoRef, Number: number, PullRequest: true}
		pr, err := h.forge.PullRequest(ctx, thread)
		if errors.Is(err, vcs.ErrNotFound) {
			continue
		}
		if err != nil {
			return fromForge("reading the pull request of a red check", err)
		}
		if reason := h.notRepaired(pr, check); reason != "" {
			h.log.Info("red check is left alone", "check", check.Name, "thread", thread.Key(), "reason", reason)
			continue
		}
		job := h.job(p, vcs.PermissionNone)
		job.Thread = thread
		job.ID = jobID("head|" + thread.Key() + "|" + check.HeadSHA) // one job per head, whichever check came first (rule C1)
		if over, err := h.repairedEnough(ctx, job); over || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := h.startJob(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// pullsOf are the numbers of the open pull requests at a check's commit; a forge
// whose event does not tell them is asked.
func (h *handling) pullsOf(ctx context.Context, check *vcs.Check) ([]int, error) {
	finder, ok := h.forge.(vcs.PullRequestFinder)
	if !check.PullRequestsUnknown || !ok {
		return check.PullRequests, nil
	}
	numbers, err := finder.PullRequestsAt(ctx, h.ev.Repo.RepoRef, check.HeadSHA)
	if err != nil {
		return nil, fromForge("looking for the pull requests of a red check", err)
	}
	if len(numbers) == 0 {
		h.log.Info("event ignored", "reason", "check is on no open pull request of this repository")
	}
	return numbers, nil
}

// repairsLooked is how many of a thread's jobs are looked at for repairs.
const repairsLooked = 20

// repairedEnough: a pull request whose checks are red again after so many
// repairs in a row waits for a person (rules L3, C7). It says so once.
func (h *handling) repairedEnough(ctx context.Context, job jobs.Job) (bool, error) {
	before, err := h.cfg.Store.ThreadJobs(ctx, job.Thread, repairsLooked)
	if err != nil {
		return false, err
	}
	rounds := 0
	for _, rec := range before {
		if rec.Job.ID == job.ID || rec.Into != "" {
			continue
		}
		if rec.Job.Kind != jobs.KindCheckRepair {
			break
		}
		rounds++
	}
	limit := h.rules.Policy.RepairRounds
	if rounds < limit {
		return false, nil
	}
	h.log.Warn("red check is left to a person", "thread", job.Thread.Key(), "rounds", rounds)
	body := fmt.Sprintf("The checks are red again after %d repairs in a row (`policy.repair_rounds`), so this one was not started. Ask for it with the command `fix`, or repair it by hand.", limit)
	return true, h.say(ctx, job.Thread, "rounds|"+string(before[0].Job.ID), body)
}

func (h *handling) notRepaired(pr vcs.PullRequest, check *vcs.Check) string {
	ours := pr.Author.Is(h.rules.Self)
	switch {
	case !pr.Open:
		return "pull request is closed"
	case pr.FromFork():
		return "pull request is from a fork"
	case pr.Head.SHA != check.HeadSHA:
		return "pull request has moved on"
	case !ours && h.rules.Policy.AutoRepair != policy.AutoRepairAll:
		return "policy.auto_repair is off for pull requests of others"
	}
	return ""
}
