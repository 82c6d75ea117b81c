package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
)

// mostDrain is how long a worker may take whose boundary is a second away.
const mostDrain = 10 * time.Second

// drain sends SIGTERM, and expects a good end in time.
func (c *chaos) drain(cmd *exec.Cmd) {
	c.t.Helper()
	begun := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		c.t.Errorf("the drained worker ended with %v", err)
	}
	if took := time.Since(begun); took > mostDrain {
		c.t.Errorf("draining took %s", took)
	}
}

// handedOver is what must hold of a run that was handed over at a boundary.
func (c *chaos) handedOver(number int) {
	c.t.Helper()
	o := c.outcome(number)
	if o.Pulls != 1 || o.Comments != 1 || !o.Verdict || o.Uncertain != 0 || o.Files["log.txt"] != "once" {
		c.t.Errorf("%+v", o)
	}
	records := c.journal()
	report, err := journal.Fold(records)
	if err != nil || report.Resumed != 1 || report.Calls["run_command"] != 2 {
		c.t.Errorf("taken up %d times, calls %v, %v", report.Resumed, report.Calls, err)
	}
}

// TestDrainInARequest: the reply comes while the worker drains, and the run is
// handed over behind it. The model is not asked again.
func TestDrainInARequest(t *testing.T) {
	t.Parallel()
	p := pauseAt(t, chaosScript(), 4)
	c := newChaos(t, p.steps)
	first := c.worker()
	number, _ := c.issue("Adding is wrong", "", "/agent fix")
	<-p.asked
	time.AfterFunc(time.Second, p.release)
	c.drain(first)
	c.awaitText(number, "another goes on")
	asked := len(c.model.Requests())
	c.worker()
	c.ended(number)
	c.handedOver(number)
	if n := len(c.model.Requests()) - asked; n != 2 {
		t.Errorf("%d requests after the handing over, want the last two", n)
	}
}

// TestDrainInACommand: the command comes to its end, and counts.
func TestDrainInACommand(t *testing.T) {
	t.Parallel()
	finish := does("finish", map[string]any{"summary": "it adds"})
	c := newChaos(t, byTurn(
		calls(read("add.sh")), calls(edit("add.sh", "$1 - $2", "$1 + $2")), calls(command("sleep 2; echo once >> log.txt")), calls(command("make test")), calls(finish), calls(finish),
	))
	first := c.worker()
	number, _ := c.issue("Adding is wrong", "", "/agent fix")
	w := &inhabited{c.world}
	w.await("the command", func() error { return w.asked("Adding is wrong", 3) })
	pause(t.Context(), time.Second)
	c.drain(first)
	c.awaitText(number, "another goes on")
	c.worker()
	c.ended(number)
	c.handedOver(number)
}

// on calls back once, when a record that holds text was written.
func on(text string, do func()) wire.Option {
	var once sync.Once
	return wire.WithJournals(func(inner journal.Sink) journal.Sink {
		return sinkFunc(func(ctx context.Context, seq uint64, line []byte) error {
			err := inner.Append(ctx, seq, line)
			if err == nil && bytes.Contains(line, []byte(text)) {
				once.Do(do)
			}
			return err
		})
	})
}

// TestDrainInVerification: what was half proved is proved again.
func TestDrainInVerification(t *testing.T) {
	t.Parallel()
	c := newChaos(t, chaosScript())
	w := &inhabited{c.world}
	scripted(&w.cfg)
	w.cfg.Redis.URL, w.cfg.Artifacts = c.secret(), c.bucket
	w.begin(wire.RoleReceiver)
	verifying := make(chan struct{})
	stop := w.begin(wire.RoleWorker, on(`"to":"verifying"`, func() { close(verifying) }))
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	<-verifying
	stop()
	w.begin(wire.RoleWorker)
	c.ended(number)
	if o := c.outcome(number); o.Pulls != 1 || o.Comments != 1 || !o.Verdict || o.Uncertain != 0 {
		t.Errorf("%+v", o)
	}
}

// TestJournalOfAnOlderVersion: a run in the middle of which the program is
// replaced by a version that writes more is begun anew, and says so.
func TestJournalOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	p := pauseAt(t, chaosScript(), 4)
	c := newChaos(t, p.steps)
	w := &inhabited{c.world}
	scripted(&w.cfg)
	w.cfg.Redis.URL, w.cfg.Artifacts = c.secret(), c.bucket
	w.begin(wire.RoleReceiver)
	stop := w.begin(wire.RoleWorker)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	<-p.asked
	time.AfterFunc(time.Second, p.release)
	stop()
	c.outdate()
	w.begin(wire.RoleWorker)
	c.ended(number)
	last := c.awaitText(number, "Done and verified")
	if !strings.Contains(last.Body, "the work was begun again: its journal was begun by an older version") {
		t.Errorf("the last word:\n%s", last.Body)
	}
	if o := c.outcome(number); o.Pulls != 1 || o.Comments != 1 || !o.Verdict || o.Files["log.txt"] != "once" {
		t.Errorf("%+v", o)
	}
}

// outdate rewrites the journal of the one run as the first version wrote it:
// schema 1, without the records that are new since.
func (c *chaos) outdate() {
	c.t.Helper()
	ctx, rdb := c.t.Context(), c.client()
	keys, err := rdb.Keys(ctx, "greenwright:journal:*").Result()
	if err != nil || len(keys) != 1 {
		c.t.Fatalf("journals %q, %v", keys, err)
	}
	entries, err := rdb.XRange(ctx, keys[0], "-", "+").Result()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := rdb.Del(ctx, keys[0]).Err(); err != nil {
		c.t.Fatal(err)
	}
	var run jobs.RunID
	var lines [][]byte
	prev, seq := "", uint64(0)
	for _, e := range entries {
		for field, value := range e.Values {
			var r journal.Record
			if err := json.Unmarshal([]byte(fmt.Sprint(value)), &r); err != nil || newSince(c.t, r) {
				continue
			}
			seq++
			r.Schema, r.Seq, r.Prev, r.Hash = 1, seq, prev, ""
			b, err := json.Marshal(r)
			if err != nil {
				c.t.Fatal(err)
			}
			sum := sha256.Sum256(b)
			r.Hash = hex.EncodeToString(sum[:])
			prev = r.Hash
			if b, err = json.Marshal(r); err != nil {
				c.t.Fatal(err)
			}
			run, lines = r.Run, append(lines, b)
			if err := rdb.Do(ctx, "XADD", keys[0], fmt.Sprintf("%d-0", seq), field, string(b)).Err(); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	archive, err := journal.OpenArchive(ctx, c.bucket)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	if err := archive.Put(ctx, run, lines); err != nil {
		c.t.Fatal(err)
	}
}

// newSince reports whether the first version had no such record.
func newSince(t *testing.T, r journal.Record) bool {
	switch r.Type {
	case journal.TypePrepared, journal.TypeResumed, journal.TypeSetupDue, journal.TypeApproval, journal.TypeTarget:
		return true
	case journal.TypeState:
		var s journal.StateChanged
		if err := json.Unmarshal(r.Data, &s); err != nil {
			t.Fatal(err)
		}
		return s.To == jobs.Paused
	case journal.TypeAgent:
		var e agent.Entry
		if err := json.Unmarshal(r.Data, &e); err != nil {
			t.Fatal(err)
		}
		return e.Kind == agent.EntryCheckpoint || e.Kind == agent.EntrySnapshot || e.Kind == agent.EntryNotice
	}
	return false
}
