package bench_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// targetMemory is what an idle `serve` may keep resident.
const targetMemory = 60.0 // MB

const (
	idleFor     = 10 * time.Second
	memoryCount = 10_000
	memoryConns = 16
	drainLimit  = 3 * time.Minute
)

// BenchmarkMemory measures what the whole of `serve` keeps resident: after its
// start, and after deliveries that went all the way to the dispatcher, which
// asked the forge about the person and refused.
func BenchmarkMemory(b *testing.B) {
	gh, dir := newGitHub(b), dataDir(b)
	about := stranger(b, gh)
	p, err := serve(build(b), dir, "all", "", gh)
	if err != nil {
		b.Fatal(err)
	}
	socket := filepath.Join(dir, "data", "redis", "redis.sock")
	idle, err := settled(b, p)
	if err == nil {
		err = flood(b, p, socket, about)
	}
	if err != nil {
		b.Fatal(err)
	}
	loaded, err := memoryOf(p.pid())
	if err != nil {
		b.Fatal(err)
	}
	after, err := settled(b, p)
	if err != nil {
		b.Fatal(err)
	}
	reportMemory(b, socket, idle, loaded, after)
	if err := p.stop(); err != nil {
		b.Errorf("serve: %v", err)
	}
}

// stranger is somebody who may only read and asks all the same.
func stranger(b *testing.B, gh *vcstest.GitHub) subject {
	b.Helper()
	gh.CreateUser("eve")
	repo, err := gh.CreateRepo("acme", "widgets", map[string]string{"README.md": "Widgets\n"})
	if err == nil {
		err = repo.SetPermission("eve", vcs.PermissionRead)
	}
	if err != nil {
		b.Fatal(err)
	}
	issue, err := repo.OpenIssue("eve", "Division by zero", "It panics.")
	if err != nil {
		b.Fatal(err)
	}
	comment, err := repo.Comment(issue.Number, "eve", "/agent fix")
	if err != nil {
		b.Fatal(err)
	}
	return subject{site: webhooktest.Site{URL: gh.WebURL(), At: time.Now()}, repo: repo.Info(), issue: issue, comment: comment}
}

func settled(b *testing.B, p *process) (memory, error) {
	if err := rest(b.Context(), idleFor); err != nil {
		return memory{}, err
	}
	return memoryOf(p.pid())
}

// flood delivers and waits until the events are handled.
func flood(b *testing.B, p *process, socket string, about subject) error {
	l := &load{addr: p.addr, about: about, conns: memoryConns}
	t, err := l.count(b.Context(), memoryCount)
	if err != nil {
		return err
	}
	if t.codes[http.StatusAccepted] != memoryCount {
		return fmt.Errorf("answers %v, want %d times 202", t.codes, memoryCount)
	}
	for until := time.Now().Add(drainLimit); time.Now().Before(until); {
		waiting, err := queued(socket)
		if err != nil {
			return err
		}
		active, err := number(socket, "LLEN asynq:{events}:active")
		if err != nil {
			return err
		}
		if waiting+active == 0 {
			return handled(socket)
		}
		if err := rest(b.Context(), 50*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("events are not handled within %s", drainLimit)
}

// handled holds that every event was: none is kept as given up or to be tried
// again.
func handled(socket string) error {
	done, err := number(socket, "ZCARD asynq:{events}:completed")
	if err == nil && done != memoryCount {
		err = fmt.Errorf("%d events were handled, want %d", done, memoryCount)
	}
	return err
}

func reportMemory(b *testing.B, socket string, idle, loaded, after memory) {
	const mb = 1 << 20
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(idle.rss)/mb, "idle-rss-MB")
	b.ReportMetric(float64(idle.pss)/mb, "idle-pss-MB")
	b.ReportMetric(float64(loaded.rss)/mb, "loaded-rss-MB")
	b.ReportMetric(float64(after.rss)/mb, "after-rss-MB")
	b.ReportMetric(float64(after.pss)/mb, "after-pss-MB")
	if pid, err := redisPID(socket); err == nil {
		if m, err := memoryOf(pid); err == nil {
			b.ReportMetric(float64(m.rss)/mb, "redis-rss-MB")
		}
	}
	verdicts(b, verdict{what: "resident when idle", got: float64(idle.rss) / mb, target: targetMemory, unit: "MB"},
		verdict{what: fmt.Sprintf("resident after %d deliveries and 10 s", memoryCount), got: float64(after.rss) / mb, target: targetMemory, unit: "MB"})
}
