package wire_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

// paper is a journal in memory.
type paper struct{ all [][]byte }

func (l *paper) Append(_ context.Context, _ uint64, line []byte) error {
	l.all = append(l.all, bytes.Clone(line))
	return nil
}

func opened(t *testing.T) *wire.Runs {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	r, err := wire.OpenRuns(t.Context(), cfg, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// asked and said are a request and its reply.
func asked(role agent.Role) agent.Entry {
	return agent.Entry{Kind: agent.EntryRequest, Request: &agent.RequestRecord{Model: "m", Role: role}}
}

func said() agent.Entry {
	return agent.Entry{Kind: agent.EntryReply, Reply: &model.Response{Message: model.Text(model.RoleAssistant, "x")}}
}

// TestStepsArePlayedInOrder: a step begins with its request; summaries and
// second looks are none, nor are requests without a reply; what was lost keeps
// its numbers.
func TestStepsArePlayedInOrder(t *testing.T) {
	type rec struct {
		kind journal.Type
		data any
		want int
	}
	note := agent.Entry{Kind: agent.EntryNotice, Notice: "n"}
	recs := []rec{
		{journal.TypeStarted, journal.Started{Job: jobs.Job{ID: "j"}}, 0},
		{journal.TypeAgent, asked(agent.RolePlan), 0}, // never answered
		{journal.TypeResumed, journal.Resumed{Worker: "w2"}, 0},
		{journal.TypeAgent, asked(agent.RolePlan), 1},
		{journal.TypeAgent, said(), 1},
		{journal.TypeAgent, note, 1},
		{journal.TypeAgent, asked(agent.RoleSummarise), 1},
		{journal.TypeAgent, said(), 1},
		{journal.TypeAgent, asked(agent.RoleEdit), 2},
		{journal.TypeAgent, said(), 2},
		{journal.TypeAgent, asked(agent.RoleReview), 2},
		{journal.TypeAgent, said(), 2},
		{journal.TypeResumed, journal.Resumed{Worker: "w3", Anew: "lost"}, 2},
		{journal.TypeAgent, asked(agent.RolePlan), 3},
		{journal.TypeAgent, said(), 3},
		{journal.TypeOutcome, journal.AgentEnded{State: "finished"}, 3},
		{journal.TypeAgent, asked(""), 4}, // of an older version
		{journal.TypeAgent, said(), 4},
		{journal.TypeEnded, journal.Ended{State: jobs.Failed}, 4},
	}
	var sink paper
	w := journal.NewWriter("run-1", &sink, time.Now, nil)
	var want []int
	for _, r := range recs {
		if err := w.Append(t.Context(), r.kind, r.data); err != nil {
			t.Fatal(err)
		}
		want = append(want, r.want)
	}
	file := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(file, append(bytes.Join(sink.all, []byte("\n")), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	r := opened(t)
	played, err := r.Played(t.Context(), file)
	if err != nil || played.Steps != 4 {
		t.Fatalf("%d steps, %v", played.Steps, err)
	}
	if diff := cmp.Diff(want, played.Step); diff != "" {
		t.Errorf("steps of records (-want +got):\n%s", diff)
	}
	_, err = r.Replay(t.Context(), played, wire.ReplayOptions{From: 1}, slog.New(slog.DiscardHandler))
	if !errors.Is(err, vcs.ErrInvalid) { // it ended before its commit was known
		t.Errorf("replay: %v, want ErrInvalid", err)
	}
}

func TestPlayedWhatIsNoJournal(t *testing.T) {
	r := opened(t)
	empty, junk := filepath.Join(t.TempDir(), "empty"), filepath.Join(t.TempDir(), "junk")
	for file, content := range map[string]string{empty: "", junk: "{}\n"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]error{empty: vcs.ErrNotFound, junk: journal.ErrBroken, "no-such-run": jobs.ErrUnavailable, "../../etc": nil} {
		if _, err := r.Played(t.Context(), name); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

func TestParseThread(t *testing.T) {
	for s, want := range map[string]string{
		"acme/widgets#7": "github:acme/widgets#7", "a-b/c.d_e#12": "github:a-b/c.d_e#12",
		"gitlab:acme/sub/widgets#7": "gitlab:acme/sub/widgets#7", "gitlab:acme/widgets!7": "gitlab:acme/widgets!7", "github:acme/widgets#7": "github:acme/widgets#7",
		"acme/widgets!7": "", "gitlab:acme/../widgets#7": "", "svn:acme/widgets#7": "",
		"acme/widgets": "", "acme/widgets#0": "", "acme#7": "", "a/b/c#1": "", "acme/widgets#7x": "", "": "", "acme/widgets#99999999999": "",
	} {
		got, err := wire.ParseThread(s)
		if err != nil && want == "" {
			continue
		}
		if err != nil || got.Key() != want {
			t.Errorf("%q is %q, %v, want %q", s, got.Key(), err, want)
		}
	}
}

func TestOperator(t *testing.T) {
	if a := wire.Operator("ada"); a.Login != "operator:ada" || a.ID != 0 {
		t.Errorf("%+v", a)
	}
	for _, name := range []string{"", "a b", "`@all`", "-x", "x\n/agent fix"} {
		a := wire.Operator(name)
		if len(a.Login) <= len("operator:") || bytes.ContainsAny([]byte(a.Login), "@` \n") {
			t.Errorf("%q is %q", name, a.Login)
		}
	}
}
