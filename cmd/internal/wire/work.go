package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/control"
	"github.com/greenwright/greenwright/jobs/dispatch"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
)

// crew is what works on jobs, and what people ask about them.
type crew struct {
	worker     *runner.Worker
	dispatcher *dispatch.Dispatcher
	control    *control.Control
	reconciler *runner.Reconciler
}

// newCrew joins runner, records and queue.
func (s *server) newCrew(run *runner.Runner, forges map[vcs.ForgeName]vcs.Forge) crew {
	c := crew{worker: &runner.Worker{
		ID: workerID(), Runner: run, Store: s.store, Fairness: s.cfg.Jobs.Fairness(), Pace: s.pace, Journals: s.journals, Wake: s.client.Wake, Draining: queue.Draining, Ended: s.metrics.ended, Log: s.log, Now: s.now,
	}}
	c.control = control.New(control.Config{
		Store: s.store, End: c.worker.End, Enqueue: s.client.EnqueueAgain, SecondPerson: s.cfg.Policy.SecondPerson, Now: s.now,
		Budget: threadBudget(s.cfg, s.store),
		Start:  func(ctx context.Context, job jobs.Job) error { return c.dispatcher.Start(ctx, job) },
	})
	c.dispatcher = dispatch.New(dispatch.Config{
		Forges: forges, Store: s.store, Queue: s.client, Control: c.control.Do, Workers: s.cfg.Jobs.Concurrency, Log: s.log, Now: s.now,
		Rules: func(ctx context.Context, name vcs.ForgeName) (trigger.Rules, error) {
			return s.hosts.rules(ctx, s.cfg, name)
		},
	})
	c.worker.Next = c.dispatcher.Next
	c.reconciler = &runner.Reconciler{Worker: c.worker, Queue: s.client, Start: c.dispatcher.Start, Log: s.log, Now: s.now}
	return c
}

// threadBudget is what people may ask about the money of a thread.
func threadBudget(cfg config.Config, records *store.Store) control.Budget {
	return control.Budget{
		Thread: cfg.Budgets.Ceilings().Thread.MicroUSD, Most: cfg.Budgets.Raise(),
		Spent: func(ctx context.Context, job jobs.Job) (int64, error) {
			thread, _, _ := runner.ScopeNames(job, time.Now().UTC().Format(runner.Month))
			spent, err := records.Spent(ctx, thread)
			if err != nil || len(spent) == 0 {
				return 0, err
			}
			return spent[0].Spent.MicroUSD, nil
		},
	}
}

// lobby is how many handlers find out that a job must wait while all others
// run one.
const lobby = 2

// pull makes what pulls from the queues.
func (s *server) pull(ctx context.Context, c crew) (*queue.Worker, error) {
	handlers := queue.Handlers{Event: c.dispatcher.Handle, Job: c.worker.Handle, Lost: func(ctx context.Context, kind, id string, err error) {
		s.metrics.lost.WithLabelValues(kind).Inc()
		if kind == queue.KindJob {
			c.worker.Lost(ctx, jobs.JobID(id), err)
		}
	}}
	cfg := queue.WorkerConfig{Runs: s.cfg.Jobs.Concurrency, Lobby: lobby, Drain: s.cfg.Jobs.Drain}
	worker, err := queue.NewWorker(context.WithoutCancel(ctx), s.redis, cfg, handlers, s.log)
	if err != nil {
		return nil, fmt.Errorf("preparing the worker: %w", err)
	}
	return worker, nil
}
