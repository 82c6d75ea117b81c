package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// JobView is what is known of one job.
type JobView struct {
	// Record is nil where only the archive knows the run.
	Record *store.JobRecord `json:"record,omitempty"`
	// Worker has the job's lease; StopBy has asked it to stop.
	Worker    string          `json:"worker,omitempty"`
	StopBy    string          `json:"stop_by,omitempty"`
	Approvals []jobs.Approval `json:"approvals,omitempty"`
	Spent     []ScopeSpent    `json:"spent,omitempty"` // thread, repository, month
	// Report is the audit summary of the run, Markdown; empty for a job without
	// one.
	Report string `json:"report,omitempty"`
	// Broken says where the journal breaks.
	Broken string `json:"broken,omitempty"`
}

// ScopeSpent is what was spent together, in millionths of a US dollar.
type ScopeSpent struct {
	Scope    string `json:"scope"`
	MicroUSD int64  `json:"micro_usd"`
	Tokens   int64  `json:"tokens"`
	Reserved int64  `json:"reserved_micro_usd"`
}

// Show looks one up, by its id or its run's.
func (r *Runs) Show(ctx context.Context, name string) (JobView, error) {
	rec, run, err := r.find(ctx, name)
	if err != nil {
		return JobView{}, err
	}
	v := JobView{Record: rec}
	if rec != nil {
		if err := r.showLive(ctx, &v); err != nil {
			return v, err
		}
	}
	if run == "" {
		return v, nil
	}
	lines, err := r.lines(ctx, run)
	if errors.Is(err, vcs.ErrNotFound) { // not begun, or pruned
		return v, nil
	}
	if err != nil {
		return v, err
	}
	records, err := journal.Parse(lines)
	if err != nil {
		v.Broken = err.Error()
	}
	if len(records) == 0 {
		return v, nil
	}
	report, err := journal.Fold(records)
	v.Report = report.Markdown()
	return v, err
}

// showLive adds what only Redis knows.
func (r *Runs) showLive(ctx context.Context, v *JobView) error {
	id := v.Record.Job.ID
	var err error
	if v.Worker, err = r.store.Owner(ctx, id); err != nil {
		return err
	}
	if v.StopBy, err = r.store.StopRequested(ctx, id); err != nil {
		return err
	}
	if v.Approvals, err = r.store.Approvals(ctx, id); err != nil {
		return err
	}
	thread, repository, month := runner.ScopeNames(v.Record.Job, time.Now().UTC().Format(runner.Month))
	spent, err := r.store.Spent(ctx, thread, repository, month)
	for _, s := range spent {
		v.Spent = append(v.Spent, ScopeSpent{Scope: s.Name, MicroUSD: s.Spent.MicroUSD, Tokens: s.Spent.Tokens, Reserved: s.Reserved.MicroUSD})
	}
	return err
}

// followEvery is how often a live journal is read again.
const followEvery = time.Second

// Journal hands the lines of a run's journal over, in order; following, until
// the run has ended or ctx does.
func (r *Runs) Journal(ctx context.Context, name string, follow bool, line func([]byte) error) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for last := uint64(0); ; {
		rec, run, err := r.find(ctx, name)
		if err != nil {
			return err
		}
		if rec != nil {
			name = string(rec.Job.ID) // which is found sooner
		}
		lines, err := r.linesSoFar(ctx, rec, run)
		if err != nil {
			return err
		}
		for _, l := range lines {
			n := journal.NumberOf(l)
			if follow && n != 0 && n <= last {
				continue
			}
			last = n
			if err := line(l); err != nil {
				return err
			}
		}
		if !follow || rec == nil || rec.State.Final() {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// linesSoFar: a job that is still to begin has none.
func (r *Runs) linesSoFar(ctx context.Context, rec *store.JobRecord, run jobs.RunID) ([][]byte, error) {
	var lines [][]byte
	err := fmt.Errorf("%w: the job has no run yet", vcs.ErrNotFound)
	if run != "" {
		lines, err = r.lines(ctx, run)
	}
	if errors.Is(err, vcs.ErrNotFound) && rec != nil {
		return nil, nil
	}
	return lines, err
}
