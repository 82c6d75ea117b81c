package dispatch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

func TestRepliesAreOneComment(t *testing.T) {
	for body, want := range map[string]string{
		"/agent help":                        "| `/agent fix [text]` |",
		"/agent status":                      "Nothing is going on in this thread.",
		"/agent stop":                        "Nothing is going on in this thread.",
		"/agent fxi":                         "there is no command \"fxi\". Did you mean `fix`? `/agent help` lists the commands.",
		"/agent ask":                         "Ask what?",
		"/agent rebase":                      "This version does not do `rebase` yet.",
		"/agent @all-of-you/team </details>": "no command",
	} {
		t.Run(body, func(t *testing.T) {
			w := newWorld(t)
			thread := w.issue()
			ev := w.says(w.writer, thread, body)
			for range 3 {
				w.handle(ev)
			}
			w.told(thread, want)
			text := strings.Join(w.ours(thread), "\n")
			if got := w.rules().Parser.Parse(text); !got.Empty() {
				t.Errorf("our reply is a command: %+v", got)
			}
			if strings.Contains(text, "@all-of-you") || strings.Contains(text, "</details>") {
				t.Errorf("our reply repeats what it should not: %s", text)
			}
			if w.depth() != 0 {
				t.Errorf("%d jobs wait", w.depth())
			}
		})
	}
}

func TestEachCommandOfACommentIsAnswered(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	ev := w.says(w.writer, thread, "/agent help\n\n/agent status")
	for range 2 {
		w.handle(ev)
	}
	if got := w.ours(thread); len(got) != 2 || !strings.Contains(got[0], "What it does") || !strings.Contains(got[1], "Nothing is going on") {
		t.Errorf("our comments are %q", got)
	}
}

func TestStatusOfALiveJob(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	w.handle(w.says(w.writer, thread, "/agent fix"))
	rec := w.holder(thread)
	_, err := w.store.MoveJob(ctx, rec.Job.ID, jobs.Preparing, "@all <b>\n/agent", nil)
	check(t, err)
	w.now = w.now.Add(90 * time.Second)
	w.handle(w.says(w.writer, thread, "/agent status"))
	w.told(thread, "(fix, asked by `writer`): **preparing**: @<!-- -->all &lt;b> /agent, since 1m30s.")
}

func TestWhoMayNot(t *testing.T) {
	t.Run("stranger", func(t *testing.T) {
		w := newWorld(t)
		thread := w.issue()
		for _, body := range []string{"/agent fix", "/agent stop", "/agent help", "/agent fxi", "/agent status"} {
			w.handle(w.says(w.stranger, thread, body))
			w.handle(w.says(w.reader, thread, body))
		}
		w.silent(thread)
	})
	t.Run("stranger, policy answers", func(t *testing.T) {
		w := newWorld(t)
		w.policy.ReplyToStrangers = true
		thread := w.issue()
		w.handle(w.says(w.reader, thread, "/agent fix"))
		w.told(thread, "Not done: reader has permission read; fix needs write.")
	})
	t.Run("repository not enabled", func(t *testing.T) {
		w := newWorld(t)
		w.policy.Repositories = []string{"other/*"}
		thread := w.issue()
		ev := w.says(w.writer, thread, "/agent fix")
		for range 2 {
			w.handle(ev)
		}
		w.told(thread, "Not done: repository acme/widgets is not enabled in policy.repositories.")
		if w.depth() != 0 || w.holder(thread).Job.ID != "" {
			t.Error("something was started")
		}
	})
	t.Run("bot", func(t *testing.T) {
		w := newWorld(t)
		bot := w.srv.CreateBot("ci")
		check(t, w.repo.SetPermission(bot.Login, vcs.PermissionAdmin))
		thread := w.issue()
		w.handle(w.says(bot, thread, "/agent fix"))
		w.silent(thread)
	})
	t.Run("ourselves", func(t *testing.T) {
		w := newWorld(t)
		thread := w.issue()
		ev := w.says(w.writer, thread, "/agent fix")
		ev.Actor = w.srv.Bot()
		w.handle(ev)
		w.silent(thread)
	})
	t.Run("fork", func(t *testing.T) {
		w := newWorld(t)
		fork, err := w.repo.Fork("stranger")
		check(t, err)
		_, err = fork.PushCommit("patch", map[string]string{"x": "y"}, "change")
		check(t, err)
		pr, err := w.repo.OpenPull("stranger", "stranger:patch", "main", "x", "")
		check(t, err)
		w.handle(w.says(w.stranger, pr.Thread, "/agent fix"))
		w.silent(pr.Thread)
		w.handle(w.says(w.writer, pr.Thread, "/agent fix"))
		w.told(pr.Thread, "pull requests from forks are closed to fix")
		w.handle(w.says(w.writer, pr.Thread, "/agent ask what does it do?"))
		if w.depth() != 1 || w.holder(pr.Thread).Job.Kind != jobs.KindAsk {
			t.Errorf("a question on a fork's pull request: %d jobs, %+v", w.depth(), w.holder(pr.Thread))
		}
	})
}

func TestPermissionThatCannotBeAsked(t *testing.T) {
	t.Run("away", func(t *testing.T) {
		w := newWorld(t)
		thread := w.issue()
		ev := w.says(w.writer, thread, "/agent fix")
		w.srv.Fail(vcstest.Failure{Path: "/permission", Status: 500, Times: 1})
		if err := w.disp.Handle(ctx, ev); jobs.ClassOf(err) != jobs.Retryable {
			t.Fatalf("error is %v, want a retryable one", err)
		}
		w.silent(thread)
		w.handle(ev)
		if w.depth() != 1 {
			t.Errorf("%d jobs wait after the forge came back", w.depth())
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		w := newWorld(t)
		thread := w.issue()
		w.srv.Fail(vcstest.Failure{Path: "/permission", Status: 403, Body: `{"message":"Resource not accessible by integration"}`, Times: -1})
		w.handle(w.says(w.writer, thread, "/agent fix"))
		w.told(thread, "Not done: the permission of writer could not be asked for.")
		if w.depth() != 0 || w.holder(thread).Job.ID != "" {
			t.Error("an error has granted something")
		}
	})
}

func TestStop(t *testing.T) {
	t.Run("while it waits", func(t *testing.T) {
		w := newWorld(t)
		thread := w.issue()
		w.handle(w.says(w.writer, thread, "/agent fix"))
		rec := w.holder(thread)
		w.handle(w.says(w.reader, thread, "/agent stop"))
		w.handle(w.says(w.stranger, thread, "/agent stop"))
		if by, err := w.store.StopRequested(ctx, rec.Job.ID); by != "" || err != nil || w.holder(thread).Job.ID != rec.Job.ID {
			t.Fatalf("somebody without rights has stopped it: %q, %v", by, err)
		}
		w.handle(w.says(w.writer, thread, "/agent stop"))
		got, err := w.store.Job(ctx, rec.Job.ID)
		check(t, err)
		if got.State != jobs.Canceled || got.Cause != "stopped by writer" || got.Untold != "" || w.holder(thread).Job.ID != "" {
			t.Errorf("record is %+v, the holder %q", got, w.holder(thread).Job.ID)
		}
		w.told(thread, "**Canceled**: stopped by writer")
	})
	t.Run("while a worker has it", func(t *testing.T) {
		w := newWorld(t)
		thread := w.issue()
		w.handle(w.says(w.writer, thread, "/agent fix"))
		rec := w.holder(thread)
		must(w.store.Acquire(ctx, rec.Job.ID, "worker", time.Minute))
		w.handle(w.says(w.writer, thread, "/agent stop"))
		if by, err := w.store.StopRequested(ctx, rec.Job.ID); by != "writer" || err != nil {
			t.Errorf("the worker is not asked to stop: %q, %v", by, err)
		}
		if w.holder(thread).Job.ID != rec.Job.ID || w.holder(thread).State != jobs.Queued {
			t.Error("the job was taken from its worker")
		}
	})
	t.Run("whose worker is dead", func(t *testing.T) {
		w := newWorld(t)
		thread := w.issue()
		w.handle(w.says(w.writer, thread, "/agent fix"))
		rec := w.holder(thread)
		must(w.store.MoveJob(ctx, rec.Job.ID, jobs.Preparing, "", nil))
		must(w.store.MoveJob(ctx, rec.Job.ID, jobs.Working, "", nil))
		w.handle(w.says(w.writer, thread, "/agent stop"))
		w.told(thread, "**Canceled**: stopped by writer")
		w.handle(w.says(w.writer, thread, "/agent fix again"))
		if w.holder(thread).Job.Command.Text != "again" {
			t.Error("the thread is not free")
		}
	})
	t.Run("that has ended and was not freed", func(t *testing.T) {
		w := newWorld(t)
		thread := w.issue()
		w.handle(w.says(w.writer, thread, "/agent fix"))
		must(w.store.MoveJob(ctx, w.holder(thread).Job.ID, jobs.Failed, "", nil))
		w.handle(w.says(w.writer, thread, "/agent stop"))
		if id := w.holder(thread).Job.ID; id != "" {
			t.Errorf("the thread is held by %s", id)
		}
	})
	t.Run("when it cannot be told", func(t *testing.T) {
		w := newWorld(t)
		thread := w.issue()
		w.handle(w.says(w.writer, thread, "/agent fix"))
		rec := w.holder(thread)
		w.srv.Fail(vcstest.Failure{Path: "/comments", Status: 502, Times: 5})
		before := time.Now()
		w.handle(w.says(w.writer, thread, "/agent stop"))
		if took := time.Since(before); took > 10*time.Second {
			t.Errorf("the stop took %s", took)
		}
		got := must(w.store.Job(ctx, rec.Job.ID))
		if got.State != jobs.Canceled || !strings.Contains(got.Untold, "stopped by writer") {
			t.Errorf("record is %+v, want an end that is still to be told", got)
		}
		if waits := must(w.queue.JobWaiting(ctx, rec.Job.ID)); !waits {
			t.Error("nobody will come back to tell it")
		}
	})
}

func TestStopStartsWhatWaits(t *testing.T) {
	w := newWorld(t)
	pr := w.pull("writer", "greenwright/1-x")
	w.policy.AutoRepair = "all"
	w.handle(w.says(w.writer, pr.Thread, "/agent fix"))
	first := w.holder(pr.Thread)
	w.now = w.now.Add(6 * time.Second) // not in the same moment
	w.handle(w.red(pr.Head.SHA, "test"))
	w.handle(w.says(w.writer, pr.Thread, "/agent stop"))
	if next := w.holder(pr.Thread); next.Job.Kind != jobs.KindCheckRepair || next.Job.ID == first.Job.ID {
		t.Errorf("after the stop the holder is %+v", next)
	}
	if marker := progress.Marker(first.Job.ID); !strings.Contains(strings.Join(w.ours(pr.Thread), ""), marker) {
		t.Errorf("the end is not in the job's own comment: %q", w.ours(pr.Thread))
	}
}

// An end that the forge refuses for good is not told again and again.
func TestAnEndThatCannotBeTold(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	w.handle(w.says(w.writer, thread, "/agent fix"))
	rec := w.holder(thread)
	w.srv.Fail(vcstest.Failure{Path: "/comments", Status: 403, Body: `{"message":"Resource not accessible by integration"}`, Times: -1})
	check(t, w.worker.End(ctx, rec.Job.ID, jobs.Failed, "x", "worker"))
	if got := must(w.store.Job(ctx, rec.Job.ID)); got.State != jobs.Failed || got.Untold != "" {
		t.Errorf("record is %+v, want an end that nobody waits to tell", got)
	}
	if live := must(w.store.Live(ctx)); len(live) != 0 {
		t.Errorf("live: %+v", live)
	}
}

// What went wrong inside is for the log.
func TestALostJobTellsNothingOfTheWorker(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	w.handle(w.says(w.writer, thread, "/agent fix"))
	w.worker.Lost(ctx, w.holder(thread).Job.ID, errors.New("open /var/lib/secret: dial tcp 10.1.2.3:6379"))
	w.told(thread, "given up: something went wrong on the worker")
	if text := strings.Join(w.ours(thread), ""); strings.Contains(text, "10.1.2.3") || strings.Contains(text, "/var/lib") {
		t.Errorf("the thread is told: %s", text)
	}
}
