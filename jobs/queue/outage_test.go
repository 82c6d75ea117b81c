package queue_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/vcs"
)

// ledger counts what was handled.
type ledger struct {
	mu    sync.Mutex
	begun map[string]int // under mu
	ended map[string]int // under mu
}

func newLedger() *ledger { return &ledger{begun: map[string]int{}, ended: map[string]int{}} }

// handlers take so long for each job; an event is done at once.
func (l *ledger) handlers(takes func(jobs.Job) time.Duration) queue.Handlers {
	count := func(in map[string]int, id string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		in[id]++
	}
	return queue.Handlers{
		Event: func(_ context.Context, ev vcs.Event) error {
			count(l.begun, ev.Object)
			count(l.ended, ev.Object)
			return nil
		},
		Job: func(ctx context.Context, j jobs.Job, _ int) error {
			count(l.begun, string(j.ID))
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(takes(j)):
			}
			count(l.ended, string(j.ID))
			return nil
		},
	}
}

func (l *ledger) copies() (begun, ended map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.begun), maps.Clone(l.ended)
}

// all reports whether each was handled to its end.
func (l *ledger) all(ids ...string) bool {
	_, ended := l.copies()
	for _, id := range ids {
		if ended[id] == 0 {
			return false
		}
	}
	return true
}

// Redis loses the queues, but not the records: what ran goes on, what is put
// in again runs, and the states are told as they are.
func TestQueuesAreLost(t *testing.T) {
	onBoth(t, func(t *testing.T, url vcs.Secret) {
		c, r, l := client(t, url), raw(t, url), newLedger()
		work(t, url, queue.WorkerConfig{Runs: 2}, l.handlers(func(j jobs.Job) time.Duration {
			if strings.HasPrefix(string(j.ID), "long") {
				return 1500 * time.Millisecond
			}
			return 10 * time.Millisecond
		}))
		ids := []string{"long-0", "long-1", "w-0", "w-1", "w-2"}
		for _, id := range ids {
			enqueue(t, c, id)
		}
		eventually(t, "two run", func() bool { begun, _ := l.copies(); return len(begun) == 2 })
		keys := r.Keys(ctx, "asynq:*").Val()
		if len(keys) == 0 {
			t.Fatal("there are no queues to lose")
		}
		check(t, r.Del(ctx, keys...).Err())
		for _, id := range ids {
			if s, err := c.JobTask(ctx, jobs.JobID(id)); err != nil || s != queue.TaskNone {
				t.Errorf("%s is %q, %v", id, s, err)
			}
		}
		for _, id := range ids { // as whoever looks at the records does
			if duplicate, err := c.EnqueueAgain(ctx, job(id)); err != nil || duplicate {
				t.Errorf("%s again: duplicate %v, %v", id, duplicate, err)
			}
		}
		if d, err := c.Depth(ctx); err != nil || d.RunsWaiting+d.RunsActive == 0 {
			t.Errorf("depth is %+v, %v", d, err)
		}
		_, err := c.EnqueueEvent(ctx, event("e"))
		check(t, err)
		eventually(t, "all are handled", func() bool { return l.all("e", "long-0", "long-1", "w-0", "w-1", "w-2") })
		eventually(t, "nothing is left", func() bool { d, err := c.Depth(ctx); return err == nil && d == queue.Depth{} })
		if _, ended := l.copies(); ended["w-0"] != 1 || ended["long-0"] > 2 {
			t.Errorf("handled are %v", ended)
		}
	})
}

// redis-server is killed and comes back with its file, while workers run.
func TestRedisRestarts(t *testing.T) {
	needRedis(t)
	dir := shortDir(t)
	first := embedded(t, dir)
	c, l := client(t, first.URL), newLedger()
	work(t, first.URL, queue.WorkerConfig{Runs: 2}, l.handlers(func(j jobs.Job) time.Duration {
		if j.ID == "long" {
			return 4 * time.Second // ends while redis is away
		}
		return 200 * time.Millisecond
	}))
	enqueue(t, c, "long")
	eventually(t, "it runs", func() bool { begun, _ := l.copies(); return begun["long"] == 1 })
	ids := []string{"long"}
	for i := range 10 {
		ids = append(ids, fmt.Sprint("j", i))
		enqueue(t, c, ids[len(ids)-1])
	}
	check(t, syscall.Kill(pidOf(t, dir), syscall.SIGKILL))
	if err := recv(t, "the death is told", first.Done()); err == nil {
		t.Error("the death is told as an orderly end")
	}
	check(t, first.Close())
	before := cpu(t)
	<-time.After(8 * time.Second)
	if used := cpu(t) - before; used > 1500*time.Millisecond {
		t.Errorf("waiting for redis took %s of the processor's time in 8 s", used)
	}
	embedded(t, dir)
	within(t, 150*time.Second, "all are handled", func() bool { return l.all(ids...) })
	within(t, 150*time.Second, "nothing is left", func() bool { d, err := c.Depth(ctx); return err == nil && d == queue.Depth{} })
	if _, ended := l.copies(); ended["long"] != 1 {
		t.Errorf("the one that ran meanwhile was handled %d times", ended["long"])
	}
}

// cpu is what this process has used.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	check(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cable is a connection to Redis that can be cut: nothing passes then, and
// nothing says so.
type cable struct {
	to    string
	lis   net.Listener
	all   sync.WaitGroup
	mu    sync.Mutex
	dead  bool       // under mu
	conns []net.Conn // under mu
}

func newCable(t *testing.T, url vcs.Secret) (*cable, vcs.Secret) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	k := &cable{to: strings.TrimPrefix(url.Reveal(), "unix://"), lis: lis}
	k.all.Go(k.accept)
	t.Cleanup(func() {
		_ = lis.Close()
		k.hang()
		k.all.Wait()
	})
	return k, vcs.Secret("redis://" + lis.Addr().String())
}

// hang ends every connection.
func (k *cable) hang() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.conns {
		_ = c.Close()
	}
	k.conns = nil
}

func (k *cable) cut()  { k.mu.Lock(); k.dead = true; k.mu.Unlock() }
func (k *cable) mend() { k.mu.Lock(); k.dead = false; k.mu.Unlock(); k.hang() }

func (k *cable) isDead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dead
}

func (k *cable) keep(c net.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conns = append(k.conns, c)
}

func (k *cable) accept() {
	for {
		in, err := k.lis.Accept()
		if err != nil {
			return
		}
		k.keep(in)
		if k.isDead() {
			continue // it is connected, to nobody
		}
		out, err := net.Dial("unix", k.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		k.keep(out)
		k.all.Go(func() { k.pass(in, out) })
		k.all.Go(func() { k.pass(out, in) })
	}
}

func (k *cable) pass(from, to net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			_ = to.Close()
			return
		}
		if k.isDead() {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			_ = from.Close()
			return
		}
	}
}

// A worker is cut off for 20 s: what it has goes on, what came meanwhile is
// worked off afterwards, and nothing is handled twice or lost.
func TestConnectionIsCut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	needRedis(t)
	t.Parallel()
	url := embedded(t, shortDir(t)).URL
	k, through := newCable(t, url)
	c, l := client(t, url), newLedger()
	work(t, through, queue.WorkerConfig{Runs: 2}, l.handlers(func(j jobs.Job) time.Duration {
		switch j.ID {
		case "over":
			return 24 * time.Second // ends when the connection is there again
		case "within":
			return 5 * time.Second
		}
		return 10 * time.Millisecond
	}))
	enqueue(t, c, "over")
	enqueue(t, c, "within")
	eventually(t, "both run", func() bool { begun, _ := l.copies(); return len(begun) == 2 })
	k.cut()
	ids := []string{"over", "within"}
	for i := range 20 {
		id := fmt.Sprint("j", i)
		enqueue(t, c, id)
		_, err := c.EnqueueEvent(ctx, event("e"+id))
		check(t, err)
		ids = append(ids, id, "e"+id)
	}
	<-time.After(20 * time.Second)
	k.mend()
	mended := time.Now()
	within(t, 150*time.Second, "all are handled", func() bool { return l.all(ids...) })
	t.Logf("all were handled %s after the connection was back", time.Since(mended).Round(time.Millisecond))
	within(t, 150*time.Second, "nothing is left", func() bool { d, err := c.Depth(ctx); return err == nil && d == queue.Depth{} })
	t.Logf("the queues were empty %s after the connection was back", time.Since(mended).Round(time.Millisecond))
	begun, _ := l.copies()
	for _, id := range ids {
		// "within" ends while nobody can be told: it comes once more, and the
		// job's record says that it is done
		if n := begun[id]; n != 1 && id != "within" || n > 2 {
			t.Errorf("%s was handled %d times", id, n)
		}
	}
}
