package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/process"
	"github.com/greenwright/greenwright/agent/tool/toolbox"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// world is what outlives a worker: the journal, the kept files, the inbox. Each
// worker gets a fresh directory.
type world struct {
	t        *testing.T
	base     map[string]string
	journal  []json.RawMessage
	decoded  []agent.Entry
	kept     map[string]map[string]string
	mail     map[int][]agent.Message // by how many replies must be recorded before it comes
	taken    map[string]bool
	task     agent.Task
	script   []step
	requests map[int]string // by step of the script: the messages that were sent
	steps    int            // of the script, that were answered
	summary  string         // the answer to a request for one
	retries  int            // commands run again because their end is not known
	deaf     bool           // every other time a worker is killed before the inbox knows what was taken
	told     int            // how often the inbox was told
	alter    func(*agent.Config)

	// Of the present worker.
	dir   string
	limit int // entries that the journal takes
	ran   []string
}

// step answers a request of the script.
type step struct {
	text  string
	calls []model.ToolCall
	stop  model.StopReason
	err   error // instead of a reply
}

var errKilled = errors.New("the worker was killed")

func newWorld(t *testing.T, base map[string]string, task agent.Task, script ...step) *world {
	t.Helper()
	return &world{
		t: t, base: base, task: task, script: script, kept: make(map[string]map[string]string),
		mail: make(map[int][]agent.Message), taken: make(map[string]bool), requests: make(map[int]string), limit: 1 << 30,
		summary: "Facts learned\nmain.go prints",
	}
}

// Record makes it the journal; it fails for good when its worker is killed.
func (w *world) Record(_ context.Context, e agent.Entry) error {
	if len(w.journal) >= w.limit {
		return errKilled
	}
	raw, err := json.Marshal(e)
	if err != nil {
		w.t.Errorf("entry %s: %v", e.Kind, err)
	}
	w.journal = append(w.journal, raw)
	return nil
}

// entries is the journal as it is read.
func (w *world) entries() []agent.Entry {
	w.t.Helper()
	for i := len(w.decoded); i < len(w.journal); i++ {
		var e agent.Entry
		if err := json.Unmarshal(w.journal[i], &e); err != nil {
			w.t.Fatal(err)
		}
		w.decoded = append(w.decoded, e)
	}
	return slices.Clone(w.decoded)
}

// replies is how many replies to steps are recorded.
func (w *world) replies() int {
	n, role := 0, agent.Role("")
	for _, e := range w.entries() {
		if e.Request != nil {
			role = e.Request.Role
		}
		if e.Kind == agent.EntryReply && (role == agent.RolePlan || role == agent.RoleEdit) {
			n++
		}
	}
	return n - w.recordedRetries()
}

// Messages and Taken make it the inbox.
func (w *world) Messages(context.Context) ([]agent.Message, error) {
	var out []agent.Message
	n := w.replies()
	for from := range n + 1 {
		for _, m := range w.mail[from] {
			if !w.taken[m.ID] {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

func (w *world) Taken(_ context.Context, ids ...string) error {
	if w.told++; w.deaf && w.told%2 == 1 {
		return errKilled
	}
	for _, id := range ids {
		w.taken[id] = true
	}
	return nil
}

// Take makes it the keeper of snapshots.
func (w *world) Take(context.Context, string) (string, error) {
	id := fmt.Sprintf("s%d", len(w.kept)+1)
	w.kept[id] = w.files()
	return id, nil
}

func (w *world) files() map[string]string {
	w.t.Helper()
	out := make(map[string]string)
	list, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range list {
		data, err := os.ReadFile(filepath.Join(w.dir, f.Name()))
		if err != nil {
			w.t.Fatal(err)
		}
		out[f.Name()] = string(data)
	}
	return out
}

// Diff makes it the differ.
func (w *world) Diff(context.Context, []string) (string, error) {
	var b strings.Builder
	for _, name := range []string{"gen.txt", "main.go", "notes.txt"} {
		if now := w.files()[name]; now != w.base[name] {
			fmt.Fprintf(&b, "diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n@@ -1 +1 @@\n-%s\n+%s\n", name, name, name, name, w.base[name], now)
		}
	}
	return b.String(), nil
}

// Execute knows check, red until main.go is fixed; gen, which adds a line to a
// file each time; and anything else, which prints what it is.
func (w *world) Execute(_ context.Context, cmd tool.Command) (tool.Execution, error) {
	w.ran = append(w.ran, cmd.Script)
	out, code := "ran "+cmd.Script+"\n", 0
	switch files := w.files(); {
	case cmd.Script == "check" && !strings.Contains(files["main.go"], "fixed"):
		out, code = "FAIL: "+files["main.go"], 1
	case strings.HasPrefix(cmd.Script, "gen"):
		w.put("gen.txt", files["gen.txt"]+"generated\n")
	}
	return tool.Execution{Cause: tool.CauseExited, ExitCode: code, Head: []byte(out), TotalBytes: int64(len(out)), TotalLines: 1}, nil
}

func (w *world) put(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// Name and Complete make it the model.
func (w *world) Name() string { return "test/script" }

func (w *world) Complete(_ context.Context, req model.Request) (model.Response, error) {
	say := func(m model.Message, stop model.StopReason) (model.Response, error) {
		m.Role = model.RoleAssistant
		return model.Response{Message: m, StopReason: stop, Usage: model.Usage{Input: 1000, Output: 10}, Model: w.Name()}, nil
	}
	if len(req.Tools) == 0 {
		return say(model.Text(model.RoleAssistant, w.summary), model.StopEnd)
	}
	if again, lost := lostCall(req.Messages); lost {
		w.retries++
		again.ID = fmt.Sprintf("again%d", w.retries)
		return say(model.Message{Parts: []model.Part{{Kind: model.PartToolCall, Call: &again}}}, model.StopToolUse)
	}
	if w.steps >= len(w.script) {
		return model.Response{}, &model.Error{Class: model.ClassFatal, Message: "the script is at its end"}
	}
	w.requests[w.steps] = undisturbed(w.t, req.Messages)
	s := w.script[w.steps]
	w.steps++
	if s.err != nil {
		return model.Response{}, s.err
	}
	var m model.Message
	if s.text != "" {
		m = model.Text(model.RoleAssistant, s.text)
	}
	stop := model.StopEnd
	for _, c := range s.calls {
		m.Parts = append(m.Parts, model.Part{Kind: model.PartToolCall, Call: &c})
		stop = model.StopToolUse
	}
	if s.stop != "" {
		stop = s.stop
	}
	return say(m, stop)
}

// worker makes an agent in a fresh directory with the files as they were kept.
func (w *world) worker() *agent.Agent {
	w.t.Helper()
	w.dir = w.t.TempDir()
	files := maps.Clone(w.base)
	if last, ok := agent.LastSnapshot(w.entries()); ok {
		files = w.kept[last.ID]
	}
	for name, text := range files {
		w.put(name, text)
	}
	ws, err := workspace.Open(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { ws.Close() })
	table := process.New(nil)
	cfg := agent.Config{
		Model: w, Recorder: w, Inbox: w, Tree: ws, Differ: w, Snapshots: w,
		Memory: map[string]tool.Keeper{"files": ws, "processes": table},
		Tools:  toolbox.New(toolbox.Parts{Workspace: ws, Executor: w, Differ: w, Checks: w.task.Checks}),
	}
	if w.alter != nil {
		w.alter(&cfg)
	}
	a, err := agent.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// work lets a worker work until the journal has so many entries; the first one
// runs, others go on.
func (w *world) work(limit int) (agent.Outcome, error) {
	w.t.Helper()
	w.limit, w.steps, w.ran = limit, 0, nil
	a := w.worker()
	if len(w.journal) == 0 {
		return a.Run(w.t.Context(), w.task)
	}
	w.steps = w.replies()
	for i := 0; i <= w.steps && i < len(w.script); i++ {
		if w.script[i].err != nil && w.passed(i) { // it was refused, and is recorded in no other way
			w.steps++
		}
	}
	return a.Resume(w.t.Context(), w.task, w.entries())
}

// passed says that the request of a step that fails was dealt with: the
// transcript is shorter.
func (w *world) passed(i int) bool {
	replies := 0
	for _, e := range w.entries() {
		if e.Kind == agent.EntryReply {
			replies++
		}
		if replies >= i && e.Checkpoint != nil && len(e.Checkpoint.Messages) > 0 {
			return true
		}
	}
	return false
}

// recordedRetries is how many recorded replies run a lost command again.
func (w *world) recordedRetries() int {
	n := 0
	for _, e := range w.entries() {
		if e.Reply != nil && len(e.Reply.Message.Calls()) > 0 && strings.HasPrefix(e.Reply.Message.Calls()[0].ID, "again") {
			n++
		}
	}
	return n
}

// do is a step of calls.
func do(calls ...model.ToolCall) step { return step{calls: calls} }

func toolCall(id, name, args string) model.ToolCall {
	return model.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
}
