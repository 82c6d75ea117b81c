package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// soon is in which time all jobs must have ended when the faults are over: what
// asynq's recoverer and a retry that waits take, several times.
const soon = 4 * time.Minute

// records are the jobs by the comment that asked for each.
func (c *chaos) records(ctx context.Context, st *store.Store) (map[int64][]store.JobRecord, error) {
	const most = 10_000
	all, err := st.Recent(ctx, most)
	out := map[int64][]store.JobRecord{}
	for _, rec := range all {
		out[rec.Job.Comment.ID] = append(out[rec.Job.Comment.ID], rec)
	}
	return out, err
}

func (c *chaos) store() *store.Store {
	c.t.Helper()
	st, err := store.Open(vcs.Secret(c.redis), time.Now)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = st.Close() })
	return st
}

// awaitEnds waits until everything that was asked for has ended and is told.
func (s *schedule) awaitEnds() {
	s.t.Helper()
	begun := time.Now()
	st := s.store()
	s.awaitFor(soon, "all ends", func() error {
		recs, err := s.records(s.t.Context(), st)
		if err != nil {
			return err
		}
		for _, a := range s.asked {
			if len(recs[a.ID]) == 0 {
				return fmt.Errorf("comment %d is no job", a.ID)
			}
			for _, rec := range recs[a.ID] {
				if !rec.State.Final() || rec.Untold != "" {
					return fmt.Errorf("job %s is %s: %s", rec.Job.ID, rec.State, rec.Cause)
				}
			}
		}
		return nil
	})
	if took := time.Since(begun); took > time.Minute {
		s.t.Logf("ended %s after the faults", took.Round(time.Second))
		s.tally.add("schedules ended later than a minute", 1)
	}
}

// judge looks at all that is left.
func (s *schedule) judge() {
	s.t.Helper()
	recs, err := s.records(s.t.Context(), s.store())
	if err != nil {
		s.t.Fatal(err)
	}
	runs, branches, pulls := map[jobs.RunID]bool{}, map[string]jobs.JobID{}, 0
	heard := map[string]int{}
	for _, a := range s.asked {
		for _, rec := range recs[a.ID] {
			if rec.Into == "" {
				s.judgeJob(rec, runs, branches, heard)
			}
		}
	}
	for _, a := range s.asked {
		s.judgeAsked(recs[a.ID], heard)
	}
	perBranch := map[string]int{}
	for _, p := range s.repo.Pulls() {
		pulls++
		if perBranch[p.Head.Name]++; perBranch[p.Head.Name] > 1 || branches[p.Head.Name] == "" {
			s.t.Errorf("pull request %d of branch %s is nobody's, or one too many", p.Number, p.Head.Name)
		}
	}
	s.tally.add("pull requests", pulls)
	made, err := s.repo.Branches()
	if err != nil {
		s.t.Fatal(err)
	}
	for name := range made {
		if name != "main" && branches[name] == "" {
			s.t.Errorf("branch %s is nobody's", name)
		}
	}
	s.judgeBucket(runs)
}

// judgeJob looks at one job and its run.
func (s *schedule) judgeJob(rec store.JobRecord, runs map[jobs.RunID]bool, branches map[string]jobs.JobID, heard map[string]int) {
	s.t.Helper()
	s.tally.add("jobs", 1)
	s.tally.add("jobs "+string(rec.State), 1)
	s.judgeComment(rec)
	if rec.Run == "" {
		return
	}
	runs[rec.Run] = true
	branch := s.judgeRun(rec, heard)
	if branch == "" {
		return
	}
	if other, ok := branches[branch]; ok {
		s.t.Errorf("jobs %s and %s share branch %s", rec.Job.ID, other, branch)
	}
	branches[branch] = rec.Job.ID
}

// judgeAsked: what somebody asked for is one job, or is heard once by a live
// run. A message that came too late for its run is a job again, under another
// id; one to a run that was stopped is stopped with it.
func (s *schedule) judgeAsked(recs []store.JobRecord, heard map[string]int) {
	s.t.Helper()
	n, stopped := 0, false
	var words []string
	for _, rec := range recs {
		words = append(words, fmt.Sprintf("%s %s: %s", rec.Job.ID, rec.State, rec.Cause))
		if rec.Into == "" {
			n++
			continue
		}
		n += heard[string(rec.Job.ID)]
		s.tally.add("messages heard", heard[string(rec.Job.ID)])
		by, err := s.store().StopRequested(s.t.Context(), rec.Into)
		if err != nil {
			s.t.Fatal(err)
		}
		stopped = stopped || by != ""
	}
	if n > 1 || n == 0 && !stopped {
		s.t.Errorf("what was asked for once came to pass %d times: %q, heard %v", n, words, heard)
	}
}

// judgeComment: a job that ran, or was to, has one comment, which tells its
// end.
func (s *schedule) judgeComment(rec store.JobRecord) {
	s.t.Helper()
	var found []string
	for _, c := range s.ours(rec.Job.Thread.Number) {
		if strings.Contains(c.Body, progress.Marker(rec.Job.ID)+" ") {
			found = append(found, c.Body)
		}
	}
	if len(found) != 1 {
		s.t.Errorf("job %s (%s: %s) has %d comments", rec.Job.ID, rec.State, rec.Cause, len(found))
		return
	}
	if rec.Run != "" && !strings.Contains(found[0], "journal head") {
		s.t.Errorf("job %s is %s, and its comment says:\n%s", rec.Job.ID, rec.State, found[0])
	}
}

// judgeRun checks a run's archived journal, and gives its branch.
func (s *schedule) judgeRun(rec store.JobRecord, heard map[string]int) (branch string) {
	s.t.Helper()
	archive, err := journal.OpenArchive(s.t.Context(), s.bucket)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	records, err := archive.Load(s.t.Context(), rec.Run)
	if err != nil {
		s.t.Errorf("run %s of job %s: %v", rec.Run, rec.Job.ID, err)
		return ""
	}
	report, err := journal.Fold(records)
	if err != nil || report.Ended == nil || report.Ended.State != rec.State || records[len(records)-1].Type != journal.TypeEnded {
		s.t.Errorf("run %s ended as %+v (%v), its job as %s", rec.Run, report.Ended, err, rec.State)
	}
	s.tally.add("times taken up", report.Resumed)
	if rec.State == jobs.Failed {
		s.t.Errorf("job %s failed: %s", rec.Job.ID, rec.Cause)
	}
	s.judgeRecords(rec, records, heard)
	for _, r := range records {
		var aimed journal.Aimed
		if r.Type == journal.TypeTarget && json.Unmarshal(r.Data, &aimed) == nil {
			branch = aimed.Branch
		}
	}
	return branch
}

// judgeRecords: a run ends once, and no call that writes or runs has finished
// twice. It counts the messages that the run heard.
func (s *schedule) judgeRecords(rec store.JobRecord, records []journal.Record, heard map[string]int) {
	s.t.Helper()
	ends, turns, finished := 0, 0, map[string]int{}
	for _, r := range records {
		if r.Type == journal.TypeOutcome {
			turns++
		}
		if r.Type == journal.TypeEnded {
			ends++
		}
		var e agent.Entry
		if r.Type != journal.TypeAgent || json.Unmarshal(r.Data, &e) != nil {
			continue
		}
		if e.Kind == agent.EntryMessage && e.Said == agent.SaidPerson && e.From != nil {
			heard[e.From.ID]++
		}
		if e.Kind != agent.EntryFinished {
			continue
		}
		if e.Call.Effect != tool.EffectWrite && e.Call.Effect != tool.EffectExec {
			continue
		}
		if e.Call.Result.Code == tool.CodeUncertain {
			s.tally.add("commands uncertain", 1)
		}
		if finished[e.Call.Call.ID]++; finished[e.Call.Call.ID] > 1 {
			s.t.Errorf("run %s: call %s of %s finished %d times", rec.Run, e.Call.Call.ID, e.Call.Call.Name, finished[e.Call.Call.ID])
		}
	}
	if turns > 1 {
		s.tally.add("runs of several turns", 1)
	}
	if ends != 1 {
		s.t.Errorf("run %s ended %d times", rec.Run, ends)
	}
}

// judgeBucket: no run but those of the jobs.
func (s *schedule) judgeBucket(runs map[jobs.RunID]bool) {
	s.t.Helper()
	archive, err := journal.OpenArchive(s.t.Context(), s.bucket)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	all, err := archive.Runs(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range all {
		if !runs[r.Run] {
			s.t.Errorf("run %s is no job's", r.Run)
		}
	}
	for _, p := range s.repo.Pulls() {
		if log, err := s.repo.File(p.Head.Name, "log.txt"); err == nil && strings.Count(log, "once") > 1 {
			s.t.Errorf("branch %s: a command ran twice:\n%s", p.Head.Name, log)
		}
	}
}
