package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/toolbox"
	"github.com/greenwright/greenwright/agent/tool/workspace"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// The run of [BenchmarkSteps]: a repository of ordinary size, and steps that
// read, edit and run in turn.
const (
	stepFiles = 300
	stepCount = 300
	stepAhead = 10 // steps compared: around the tenth and the last ones
	stepWidth = 20
)

// stepTarget is what one step may take besides model and command.
const stepTarget = 5 * time.Millisecond

// BenchmarkSteps is what one step takes besides the model and the command:
// tools, tree hashes, snapshots and their packs in the bucket, checkpoints,
// window, journal. It is measured from a reply to the next
// request, early and late in a run of 300 steps.
func BenchmarkSteps(b *testing.B) {
	for range b.N {
		w := newWorkshop(b)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		w.run(b)
		runtime.GC()
		runtime.ReadMemStats(&after)
		early := spread(w.took[stepAhead : stepAhead+stepWidth])
		late := spread(w.took[len(w.took)-stepWidth-2 : len(w.took)-2])
		b.ReportMetric(early.median, "ms/early-step")
		b.ReportMetric(late.median, "ms/late-step")
		b.ReportMetric(spread(w.took).p95, "ms/p95-step")
		b.ReportMetric(spread(w.changing()).median, "ms/changing-step")
		b.ReportMetric(late.median/early.median, "late-to-early")
		b.ReportMetric(spread(w.took).median/(float64(stepTarget)/1e6), "to-target")
		b.ReportMetric(float64(after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))/(1<<20), "MB/run")
		runtime.KeepAlive(w)
	}
}

type timesOf struct{ median, p95 float64 }

// spread are figures in milliseconds.
func spread(took []time.Duration) timesOf {
	s := slices.Clone(took)
	slices.Sort(s)
	return timesOf{float64(quantile(s, 0.5)) / 1e6, float64(quantile(s, 0.95)) / 1e6}
}

// workshop is an agent over a real repository, with a journal on disk.
type workshop struct {
	ws    *git.Workspace
	files *workspace.Workspace
	snaps *git.Snapshots
	kept  *journal.Archive
	log   *journal.Writer
	took  []time.Duration
	left  time.Time // when the last reply was given
	steps int
}

func newWorkshop(b *testing.B) *workshop {
	b.Helper()
	repo := toyRepo(b)
	for i := range stepFiles {
		text := fmt.Sprintf("package p%d\n\n", i)
		for n := range 60 {
			text += fmt.Sprintf("// Line %d of file %d.\nfunc f%d() int { return %d }\n", n, i, n, n*i)
		}
		name := filepath.Join(repo, fmt.Sprintf("d%d", i%20), fmt.Sprintf("f%d.go", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	commitAll(b, repo)
	store, err := git.New(git.Config{Dir: b.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	info, err := git.OpenLocal(repo)
	if err != nil {
		b.Fatal(err)
	}
	mirror, err := store.Mirror(vcs.RepoRef{Forge: vcs.Local, Owner: "local", Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := mirror.Fetch(b.Context(), vcs.Remote{URL: repo}, info.Head); err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(b.TempDir(), "work")
	w := &workshop{}
	if w.ws, err = mirror.Checkout(b.Context(), info.Head, dir, git.CheckoutOptions{}); err != nil {
		b.Fatal(err)
	}
	if w.files, err = workspace.Open(dir); err != nil {
		b.Fatal(err)
	}
	if w.snaps, err = w.ws.Snapshots(b.Context(), git.SnapshotOptions{Dir: filepath.Join(b.TempDir(), "snapshots")}); err != nil {
		b.Fatal(err)
	}
	if w.kept, err = journal.OpenArchive(b.Context(), b.TempDir()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _, _, _ = w.snaps.Close(), w.files.Close(), w.ws.Close(), w.kept.Close() })
	sink, err := journal.Folder{Dir: b.TempDir()}.NewFileSink("bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sink.Close() })
	w.log = journal.NewWriter(jobs.RunID("bench"), sink, time.Now, nil)
	return w
}

func (w *workshop) run(b *testing.B) {
	b.Helper()
	a, err := agent.New(agent.Config{
		Model: w, Recorder: w, Tree: w.ws, Differ: w, Snapshots: w, Memory: map[string]tool.Keeper{"files": w.files},
		Tools: toolbox.New(toolbox.Parts{Workspace: w.files, Executor: w, Differ: w}),
	})
	if err != nil {
		b.Fatal(err)
	}
	out, err := a.Run(b.Context(), agent.Task{ID: "bench", Instruction: "work", Kind: agent.KindChange,
		Limits: agent.Limits{Steps: stepCount + 10, ToolCalls: stepCount * 2, ContextTokens: 1_000_000}})
	if err != nil || out.State != agent.StateFinished {
		b.Fatalf("%s: %s, %v", out.State, out.Reason, err)
	}
	if len(w.took) != stepCount+1 {
		b.Fatalf("%d steps were timed", len(w.took))
	}
}

// Take makes it the snapshotter, as a run has it: what is kept is in the bucket
// before it is named.
func (w *workshop) Take(ctx context.Context, label string) (string, error) {
	id, err := w.snaps.Take(ctx, label)
	if err != nil {
		return "", err
	}
	kept, err := w.snaps.Export(ctx, id)
	if err != nil {
		return "", err
	}
	if err := w.kept.Save(ctx, "bench", journal.SnapPack(id), kept.Pack); err != nil {
		return "", err
	}
	return id, w.kept.Save(ctx, "bench", journal.SnapManifest(id), kept.Manifest)
}

// changing are the steps that changed a file.
func (w *workshop) changing() []time.Duration {
	var out []time.Duration
	for i, d := range w.took {
		if i%3 == 1 {
			out = append(out, d)
		}
	}
	return out
}

// Name and Complete make it the model.
func (w *workshop) Name() string { return "bench/scripted" }

func (w *workshop) Complete(_ context.Context, _ model.Request) (model.Response, error) {
	if !w.left.IsZero() {
		w.took = append(w.took, time.Since(w.left))
	}
	i := w.steps
	w.steps++
	path := fmt.Sprintf("d%d/f%d.go", i/3%20, i/3)
	var name string
	var args any
	switch {
	case i >= stepCount:
		name, args = "finish", map[string]any{"summary": "worked"}
	case i%3 == 0:
		name, args = "read_file", map[string]any{"path": path}
	case i%3 == 1:
		name, args = "edit_file", map[string]any{"path": path, "old_string": fmt.Sprintf("// Line 7 of file %d.", i/3), "new_string": "// Line seven."}
	default:
		name, args = "run_command", map[string]any{"command": fmt.Sprintf("go vet ./d%d", i)}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return model.Response{}, err
	}
	call := model.ToolCall{ID: fmt.Sprintf("c%d", i), Name: name, Arguments: raw}
	w.left = time.Now()
	return model.Response{Message: model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Kind: model.PartToolCall, Call: &call}}},
		StopReason: model.StopToolUse, Usage: model.Usage{Input: 1000, Output: 50}}, nil
}

// Execute makes it the executor: the command takes no time.
func (w *workshop) Execute(context.Context, tool.Command) (tool.Execution, error) {
	out := []byte("ok\n")
	return tool.Execution{Cause: tool.CauseExited, Head: out, TotalBytes: int64(len(out)), TotalLines: 1}, nil
}

// Record makes it the recorder.
func (w *workshop) Record(ctx context.Context, e agent.Entry) error {
	return w.log.Append(ctx, journal.TypeAgent, e)
}

// Diff makes it the differ.
func (w *workshop) Diff(ctx context.Context, paths []string) (string, error) {
	set, err := w.ws.Changes(ctx)
	if err != nil {
		return "", err
	}
	return w.ws.Diff(ctx, set, paths...)
}
