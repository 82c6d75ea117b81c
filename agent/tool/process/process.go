// Package process has the tools for commands that live on while others run:
// start_process, read_process and stop_process.
//
// It sits under agent/tool and reaches the sandbox only through a
// [tool.Spawner]; how a process ended is told as agent/tool/shell tells it.
//
// Invariants: what is not shown is never taken as read, and what was lost is
// counted; a process that has ended is told so, with everything that is unread;
// at most [MaxAlive] live at a time; [Table.Close] leaves none.
package process

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/shell"
)

//go:embed start_process.md
var startText string

//go:embed read_process.md
var readText string

//go:embed stop_process.md
var stopText string

// The tools' names.
const (
	StartName = "start_process"
	ReadName  = "read_process"
	StopName  = "stop_process"
)

// Limits of processes.
const (
	// MaxAlive is how many live at a time.
	MaxAlive = 8
	// MaxWait is the longest wait of one call.
	MaxWait = 300 * time.Second
	// maxKept is how many that have ended are kept with their output, which
	// takes up to 256 KB of memory each.
	maxKept = 16
	// lifetime is longer than any run: a process ends with the run.
	lifetime = 24 * time.Hour
	// settle is how long a start waits for an early end.
	settle = time.Second
	// look is how often a wait looks for new output.
	look = 50 * time.Millisecond
)

// Table is the processes of a run. It is safe for concurrent use.
type Table struct {
	spawner tool.Spawner
	opener  shell.Opener // nil where no outputs are kept

	mu     sync.Mutex
	procs  []*proc // under mu
	lost   int     // under mu; how many an earlier worker had started: p1 is the first of them
	closed bool    // under mu
}

// proc is one that was started.
type proc struct {
	id     string
	script string
	begun  time.Time

	mu      sync.Mutex
	process tool.Process // under mu; nil when it is no longer kept
	read    int64        // under mu; bytes that were shown
}

// New makes an empty table. A spawner that is a [shell.Opener], too, lets
// read_process read the whole outputs of commands.
func New(spawner tool.Spawner) *Table {
	t := &Table{spawner: spawner}
	t.opener, _ = spawner.(shell.Opener)
	return t
}

type startArgs struct {
	Command string `json:"command"`
	Dir     string `json:"dir,omitempty"`
}

type readArgs struct {
	ID    string `json:"id"`
	Since *int64 `json:"since,omitempty"`
	Wait  int    `json:"wait_s,omitempty"`
}

type stopArgs struct {
	ID string `json:"id"`
}

// Tools are start_process, read_process and stop_process.
func (t *Table) Tools() []tool.Tool {
	return []tool.Tool{
		tool.Typed(tool.Spec{Name: StartName, Description: strings.TrimSpace(startText), Tier: tool.TierRun, Effect: tool.EffectExec}, t.start),
		tool.Typed(tool.Spec{
			Name: ReadName, Description: strings.TrimSpace(readText), Tier: tool.TierTest, Effect: tool.EffectState, Poll: true,
			Timeout: -1, // it waits as long as it is told
		}, t.readOne),
		tool.Typed(tool.Spec{Name: StopName, Description: strings.TrimSpace(stopText), Tier: tool.TierRun, Effect: tool.EffectExec}, t.stop),
	}
}

func (t *Table) start(ctx context.Context, a startArgs) tool.Result {
	if strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0) {
		return tool.Failf(tool.CodeInvalidArgs, "command is empty or holds a NUL")
	}
	dir, ok := shell.Dir(a.Dir)
	if !ok {
		return tool.Failf(tool.CodePathOutsideWorkspace, "dir %q is outside the workspace", a.Dir)
	}
	p, process, failed := t.spawn(ctx, tool.Command{Script: a.Command, Dir: dir, Timeout: lifetime})
	if failed != nil {
		return *failed
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-process.Done():
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.show(ctx, nil)
}

// spawn starts one under the table's lock, so that no two take the last place.
func (t *Table) spawn(ctx context.Context, cmd tool.Command) (*proc, tool.Process, *tool.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		res := tool.Failf(tool.CodeSpawnFailed, "the run is being stopped")
		return nil, nil, &res
	}
	if alive := t.alive(); len(alive) >= MaxAlive {
		var ids []string
		for _, p := range alive {
			ids = append(ids, p.id)
		}
		res := tool.Failf(tool.CodeBudgetExceeded, "%d processes are alive (%s): stop one first", MaxAlive, strings.Join(ids, ", "))
		return nil, nil, &res
	}
	process, err := t.spawner.Spawn(ctx, cmd)
	if err != nil {
		res := tool.Failf(tool.CodeSpawnFailed, "the process could not be started: %v", err)
		return nil, nil, &res
	}
	p := &proc{id: "p" + strconv.Itoa(t.lost+len(t.procs)+1), script: cmd.Script, begun: time.Now(), process: process}
	t.procs = append(t.procs, p)
	t.forget()
	return p, process, nil
}

// alive are those that have not ended.
func (t *Table) alive() []*proc {
	return slices.DeleteFunc(slices.Clone(t.procs), (*proc).ended)
}

// forget lets go of the oldest that have ended.
func (t *Table) forget() {
	ended := slices.DeleteFunc(slices.Clone(t.procs), func(p *proc) bool { return !p.ended() })
	for _, p := range ended[:max(len(ended)-maxKept, 0)] {
		p.mu.Lock()
		p.process = nil
		p.mu.Unlock()
	}
}

// find is the process of an id.
func (t *Table) find(id string) (*proc, *tool.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for _, p := range t.procs {
		if p.id == id {
			return p, nil
		}
		ids = append(ids, p.id)
	}
	if t.isLost(id) {
		res := tool.Failf(tool.CodeInvalidArgs, "%s is gone: another worker has taken over the run since it was started, and no process lives on over that. "+
			"Start it again if you need it", id)
		return nil, &res
	}
	res := tool.Failf(tool.CodeInvalidArgs, "there is no process %q; there are: %s", id, strings.Join(ids, ", "))
	if len(ids) == 0 {
		res = tool.Failf(tool.CodeInvalidArgs, "there is no process %q: none was started", id)
	}
	return nil, &res
}

func (t *Table) stop(ctx context.Context, a stopArgs) tool.Result {
	p, failed := t.find(a.ID)
	if failed != nil {
		return *failed
	}
	if process := p.handle(); process != nil {
		if _, err := process.Stop(ctx); err != nil {
			return tool.Failf(tool.CodeInternal, "%s could not be stopped: %v", p.id, err)
		}
	}
	return p.show(ctx, nil)
}

// Close ends everything that is alive, starts nothing any more, and names what
// it ended. It is idempotent.
func (t *Table) Close(ctx context.Context) []string {
	t.mu.Lock()
	t.closed = true
	alive := t.alive()
	t.mu.Unlock()
	left := make([]string, len(alive))
	var group errgroup.Group
	for i, p := range alive {
		group.Go(func() error {
			left[i] = p.id + ": " + oneLine(p.script)
			if process := p.handle(); process != nil {
				if _, err := process.Stop(ctx); err != nil {
					left[i] += fmt.Sprintf(" (%v)", err)
				}
			}
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	return left
}

// maxNamed is how much of a script names it.
const maxNamed = 120

func oneLine(script string) string {
	s := tool.Clean(strings.Join(strings.Fields(script), " "))
	if len(s) > maxNamed {
		s = strings.ToValidUTF8(s[:maxNamed], "") + "…"
	}
	return s
}

func (p *proc) handle() tool.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

func (p *proc) ended() bool {
	process := p.handle()
	if process == nil {
		return true
	}
	select {
	case <-process.Done():
		return true
	default:
		return false
	}
}
