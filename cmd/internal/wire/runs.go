package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// Runs is what an operator sees of jobs and runs, and does to them. Redis is
// asked only for what the archive does not have. It is not safe for concurrent
// use.
type Runs struct {
	cfg     config.Config
	version string
	log     *slog.Logger
	archive *archive

	url    vcs.Secret
	store  *store.Store // nil before it is needed, and where no Redis answers
	noRead error        // why none answers
}

// OpenRuns opens the archive. Close lets go of everything.
func OpenRuns(ctx context.Context, cfg config.Config, version string, log *slog.Logger) (*Runs, error) {
	a, err := openArchive(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	return &Runs{cfg: cfg, version: version, log: log, archive: a}, nil
}

// Close lets go of everything.
func (r *Runs) Close() {
	if r.store != nil {
		_ = r.store.Close()
	}
	r.archive.close()
}

// records are those of the configured Redis, else of the one that a `serve`
// over this data directory has started. The error says what to do when none
// answers.
func (r *Runs) records(ctx context.Context) (*store.Store, error) {
	if r.store != nil || r.noRead != nil {
		return r.store, r.noRead
	}
	r.store, r.noRead = r.connect(ctx)
	return r.store, r.noRead
}

// askLimit bounds the first question to Redis.
const askLimit = 3 * time.Second

func (r *Runs) connect(ctx context.Context) (*store.Store, error) {
	store.LogTo(r.log)
	hint := "GREENWRIGHT_REDIS_URL"
	if r.url = r.cfg.Redis.URL; r.url == "" {
		socket := filepath.Join(r.cfg.DataDir, "redis", "redis.sock")
		if st, err := os.Stat(socket); err != nil || st.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%w: no Redis: GREENWRIGHT_REDIS_URL is not set, and no `serve` is running over the data directory %s (it has no %s)", jobs.ErrUnavailable, r.cfg.DataDir, socket)
		}
		hint = "the `serve` of this data directory is not running: " + socket
		address := url.URL{Scheme: "unix", Path: socket}
		r.url = vcs.Secret(address.String())
	}
	client, err := queue.Open(r.url)
	if err != nil {
		return nil, err
	}
	asking, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if err := errors.Join(client.Ping(asking), client.Close()); err != nil {
		return nil, fmt.Errorf("redis does not answer (%s): %w", hint, err)
	}
	return store.Open(r.url, time.Now)
}

// threadName is how people write a thread.
var threadName = regexp.MustCompile(`^(?:(github|gitlab):)?([\w./-]+)/([\w.-]+)([#!])([1-9][0-9]{0,9})$`)

// ParseThread reads "owner/repo#N", of GitHub, or "gitlab:group/project#N" and
// "gitlab:group/project!N".
func ParseThread(s string) (vcs.Thread, error) {
	m := threadName.FindStringSubmatch(s)
	if m == nil {
		return vcs.Thread{}, fmt.Errorf("%w: thread %q: want owner/repo#N, or gitlab:group/project#N (!N for a merge request)", vcs.ErrInvalid, s)
	}
	n, err := strconv.Atoi(m[5])
	if err != nil {
		return vcs.Thread{}, fmt.Errorf("%w: thread %q: %w", vcs.ErrInvalid, s, err)
	}
	forge := vcs.ForgeName(m[1])
	if forge == "" {
		forge = vcs.GitHub
	}
	t := vcs.Thread{Repo: vcs.RepoRef{Forge: forge, Owner: m[2], Name: m[3]}, Number: n, PullRequest: m[4] == "!"}
	if t.PullRequest && forge != vcs.GitLab {
		return vcs.Thread{}, fmt.Errorf("%w: thread %q: %s numbers issues and pull requests alike: want #%d, or gitlab: before a merge request", vcs.ErrInvalid, s, forge.Words().Forge, n)
	}
	return t, t.Repo.Validate()
}

// thread reads a thread's name; one that names no forge is on the one that is
// configured, GitHub if there are two.
func (r *Runs) thread(s string) (vcs.Thread, error) {
	if r.cfg.Forges.GitHub == nil && r.cfg.Forges.GitLab != nil && !strings.Contains(s, ":") {
		s = string(vcs.GitLab) + ":" + s
	}
	return ParseThread(s)
}

// JobLine is one job in a list.
type JobLine struct {
	Job    jobs.JobID `json:"job"`
	Kind   jobs.Kind  `json:"kind"`
	Thread string     `json:"thread"`
	State  jobs.State `json:"state"`
	Since  time.Time  `json:"since"`
	Cause  string     `json:"cause,omitempty"` // untrusted
	Run    jobs.RunID `json:"run,omitempty"`
	Live   bool       `json:"live"`
}

// How many jobs a list holds besides those that live: all that Redis lists, or
// about a screen.
const (
	listAll   = 1000
	listShort = 20
)

// List gives the jobs that live, oldest first, then the latest that have ended.
// An empty thread is all.
func (r *Runs) List(ctx context.Context, thread string, all bool) ([]JobLine, error) {
	var of vcs.Thread
	if thread != "" {
		var err error
		if of, err = r.thread(thread); err != nil {
			return nil, err
		}
	}
	st, err := r.records(ctx)
	if err != nil {
		return nil, err
	}
	live, err := st.Live(ctx)
	if err != nil {
		return nil, err
	}
	latest := func(n int) ([]store.JobRecord, error) { return st.Recent(ctx, n) }
	if thread != "" {
		latest = func(n int) ([]store.JobRecord, error) { return st.ThreadJobs(ctx, of, n) }
	}
	recent, err := latest(listAll)
	if err != nil {
		return nil, err
	}
	out := []JobLine{}
	for _, rec := range live {
		if rec.State.Final() { // and not told yet: it is among the recent
			continue
		}
		if thread == "" || rec.Job.Thread.Key() == of.Key() {
			out = append(out, lineOf(rec))
		}
	}
	ended := 0
	for _, rec := range recent {
		if rec.State.Final() && (all || ended < listShort) {
			ended++
			out = append(out, lineOf(rec))
		}
	}
	return out, nil
}

func lineOf(rec store.JobRecord) JobLine {
	return JobLine{
		Job: rec.Job.ID, Kind: rec.Job.Kind, Thread: rec.Job.Thread.Repo.FullName() + "#" + strconv.Itoa(rec.Job.Thread.Number), State: rec.State,
		Since: rec.UpdatedAt, Cause: rec.Cause, Run: rec.Run, Live: !rec.State.Final(),
	}
}

// Patch is the kept change of a run, or of a job's; vcs.ErrNotFound when none
// was kept.
func (r *Runs) Patch(ctx context.Context, name string) ([]byte, error) {
	patch, err := r.archive.Read(ctx, jobs.RunID(name), journal.PatchName)
	if err == nil || !errors.Is(err, vcs.ErrNotFound) && !errors.Is(err, vcs.ErrInvalid) {
		return patch, err
	}
	_, run, err := r.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if patch, err = r.archive.Read(ctx, run, journal.PatchName); errors.Is(err, vcs.ErrNotFound) {
		return nil, fmt.Errorf("%w: %s keeps no change: it was published, or there was none", vcs.ErrNotFound, name)
	}
	return patch, err
}

// Maintenance is its text, and whether it is on.
func (r *Runs) Maintenance(ctx context.Context) (text string, on bool, err error) {
	st, err := r.records(ctx)
	if err != nil {
		return "", false, err
	}
	return st.Maintenance(ctx)
}

// SetMaintenance begins it, or ends it by the empty text.
func (r *Runs) SetMaintenance(ctx context.Context, text string) error {
	st, err := r.records(ctx)
	if err != nil {
		return err
	}
	return st.SetMaintenance(ctx, text)
}
