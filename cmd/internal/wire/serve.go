package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/dispatch"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook"
)

// Role is what a process of `serve` does.
type Role string

// The roles.
const (
	RoleAll      Role = "all"
	RoleReceiver Role = "receiver" // takes deliveries
	RoleWorker   Role = "worker"   // handles events and runs jobs
)

// server is one process of `serve`.
type server struct {
	cfg     config.Config
	role    Role
	version string
	log     *slog.Logger
	metrics *metrics

	dirs   dirs
	redis  vcs.Secret
	hosts  hosts
	client *queue.Client
	store  *store.Store
	// archive is nil in a receiver.
	archive *archive

	now      func() time.Time
	pace     runner.Pace
	journals func(journal.Sink) journal.Sink
}

// gcPercent lets the small heap of a receiver grow a little before it is
// collected (after 10,000 deliveries the process had 42 MB instead of 40).
const gcPercent = 200

// Serve receives deliveries and works until ctx ends, then drains. ready, if
// set, is told the address of the receiver.
func Serve(ctx context.Context, cfg config.Config, role Role, version string, log *slog.Logger, ready func(addr string), opts ...Option) error {
	if err := cfg.ValidateServe(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	s := &server{cfg: cfg, role: role, version: version, log: log, metrics: newMetrics(), now: time.Now}
	for _, o := range opts {
		o(s)
	}
	var err error
	if s.dirs, err = makeDirs(cfg.DataDir); err != nil {
		return err
	}
	closeRedis, died, err := s.openRedis(ctx)
	if err != nil {
		return err
	}
	defer closeRedis()
	if s.hosts, err = openHosts(cfg.Forges); err != nil {
		return err
	}
	return s.run(ctx, died, ready)
}

// openRedis takes the configured Redis or starts a private one.
func (s *server) openRedis(ctx context.Context) (closeAll func(), died <-chan error, err error) {
	store.LogTo(s.log)
	s.redis = s.cfg.Redis.URL
	stop := func() error { return nil }
	if s.redis == "" {
		embedded, err := queue.StartEmbedded(ctx, s.dirs.redis, s.log)
		if err != nil {
			return nil, nil, err
		}
		s.redis, stop, died = embedded.URL, embedded.Close, embedded.Done()
	}
	if s.client, err = queue.Open(s.redis); err == nil {
		s.store, err = store.Open(s.redis, s.now)
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	s.metrics.watch(s.client.Oldest, begun(s.store))
	if err := s.client.Ping(ctx); err != nil {
		s.log.Error("redis does not answer: check GREENWRIGHT_REDIS_URL; until it does, deliveries get 503 and no job runs", "error", err)
	}
	return func() {
		if err := errors.Join(s.store.Close(), s.client.Close(), stop()); err != nil {
			s.log.Warn("redis was not closed cleanly", "error", err)
		}
	}, died, nil
}

// run starts the parts of the role and waits for the first to end.
func (s *server) run(ctx context.Context, died <-chan error, ready func(string)) error {
	group, ctx := errgroup.WithContext(ctx)
	if died != nil {
		group.Go(func() error {
			select {
			case err := <-died:
				return err
			case <-ctx.Done():
				return nil
			}
		})
	}
	for _, h := range s.hosts {
		group.Go(func() error { h.learnSelf(ctx, s.log); return nil })
	}
	if s.role != RoleReceiver {
		m, err := newModels(s.cfg, s.metrics, s.log)
		if err != nil {
			return err
		}
		probed := make(chan struct{})
		group.Go(func() error { defer close(probed); m.probe(ctx); return nil })
		awaitProbe(ctx, probed)
		if s.archive, err = openArchive(ctx, s.cfg, s.log); err != nil {
			return err
		}
		defer s.archive.close()
		work, err := s.worker(ctx, m)
		if err != nil {
			return err
		}
		group.Go(func() error { return work(ctx) })
		group.Go(func() error { s.keepPruned(ctx); return nil })
	}
	if s.role != RoleWorker {
		handler, err := s.receiver()
		if err != nil {
			return err
		}
		group.Go(func() error { return s.http(ctx, s.cfg.Listen, handler, ready) })
	}
	if s.cfg.InternalListen != "" && s.cfg.InternalListen != "off" {
		group.Go(func() error { return s.http(ctx, s.cfg.InternalListen, s.internal(), nil) })
	}
	return group.Wait()
}

// worker builds what pulls from the queues and looks after jobs.
func (s *server) worker(ctx context.Context, m *models) (work func(context.Context) error, err error) {
	box, err := boxDriver(ctx, s.cfg.Sandbox, s.dirs.sandbox, s.log)
	if err == nil { // a mount that cannot be made is found here and not by the first job
		err = tryConfigured(ctx, box, s.cfg.Sandbox, s.dirs.sandbox)
	}
	if err != nil {
		return nil, fmt.Errorf("no job can run: %w", err)
	}
	forges := s.hosts.drivers()
	run, err := makeRunner(s.cfg, s.dirs, s.archive.Archive, box, forges, m, s.version, s.log, s.now)
	if err != nil {
		return nil, err
	}
	if err := run.Sweep(); err != nil {
		s.log.Warn("what dead runs left could not be removed", "error", err)
	}
	c := s.newCrew(run, forges)
	queues, err := s.pull(ctx, c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		looking, stop := context.WithCancel(ctx)
		var looked sync.WaitGroup
		looked.Go(func() { c.reconciler.Run(looking) })
		defer looked.Wait()
		defer stop()
		return queues.Run(ctx)
	}, nil
}

// workerID tells workers apart, also two on one machine.
func workerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	const tail = 6 // containers share names and process numbers
	return host + "-" + strconv.Itoa(os.Getpid()) + "-" + strings.ToLower(rand.Text()[:tail])
}

// sink joins the receiver to the intake.
type sink struct{ *dispatch.Intake }

// Accept implements webhook.Sink.
func (s sink) Accept(ctx context.Context, d webhook.Delivery) (bool, error) {
	return s.Intake.Accept(ctx, d.Event)
}

// receiver builds the door: one for each forge.
func (s *server) receiver() (http.Handler, error) {
	intake := dispatch.NewIntake(func(name vcs.ForgeName) trigger.Rules {
		if h := s.hosts.of(name); h != nil {
			return rules(s.cfg, h.knownSelf())
		}
		return trigger.Rules{}
	}, s.client)
	mux := http.NewServeMux()
	for _, h := range s.hosts {
		parser, err := parserOf(s.cfg.Forges, h.name)
		if err != nil {
			return nil, fmt.Errorf("forges.%s: %w", h.name, err)
		}
		self := func() []int64 {
			if a := h.knownSelf(); a.ID != 0 {
				return []int64{a.ID}
			}
			return nil
		}
		hook, err := webhook.New(parser, sink{intake}, webhook.Config{}, s.log, webhook.WithObserver(s.metrics), webhook.WithSelf(self))
		if err != nil {
			return nil, err
		}
		mux.Handle("/webhooks/"+string(h.name), hook)
	}
	mux.HandleFunc("GET /healthz", s.health)
	return mux, nil
}

// healthTimeout bounds the question to Redis.
const healthTimeout = 2 * time.Second

func (s *server) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	if err := s.client.Ping(ctx); err != nil {
		http.Error(w, "redis does not answer", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

func (s *server) internal() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("GET /healthz", s.health)
	return mux
}

// The bounds of an HTTP connection; bodies have their own in package webhook.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 60 * time.Second
	closeTimeout  = 10 * time.Second
	maxHeader     = 32 << 10
)

func (s *server) http(ctx context.Context, addr string, handler http.Handler, ready func(string)) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listening on %s (set listen or internal_listen to another address): %w", addr, err)
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	s.log.Info("listening", "address", l.Addr().String())
	if ready != nil {
		ready(l.Addr().String())
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serving %s: %w", addr, err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err = srv.Shutdown(closing)
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		return errors.Join(err, served)
	}
	return err
}
