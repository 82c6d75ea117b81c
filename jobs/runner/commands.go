package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/shell"
	"github.com/greenwright/greenwright/sandbox"
)

// maxOutputs is how many whole outputs are kept: each may have the sandbox's
// output limit, 64 MB by default.
const maxOutputs = 8

// Commands runs the commands of tools in a sandbox: it is a tool.Executor, a
// tool.Spawner and a shell.Opener. It is safe for concurrent use.
type Commands struct {
	dir func() string
	box func(context.Context) (sandbox.Sandbox, error)

	mu   sync.Mutex
	last int      // under mu; number of the last command
	gone int      // under mu; the last number that another worker gave
	kept []string // under mu; ids of outputs, oldest first
}

// Keep says how far the numbers are given, for whoever goes on with the run
// (tool.Keeper).
func (c *Commands) Keep() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return map[string]string{"last": strconv.Itoa(c.last)}
}

// Restore goes on with the numbers of another worker, whose outputs are gone.
func (c *Commands) Restore(kept map[string]string) {
	last, err := strconv.Atoi(kept["last"])
	if err != nil || last < 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.gone, c.kept = last, last, nil
}

// NewCommands asks box for the sandbox at each command, and then dir for the
// directory that whole outputs are kept in. It is made when it is needed, and
// must be out of the sandbox's reach.
func NewCommands(dir func() string, box func(context.Context) (sandbox.Sandbox, error)) *Commands {
	return &Commands{dir: dir, box: box}
}

// Execute runs one command to its end.
func (c *Commands) Execute(ctx context.Context, cmd tool.Command) (tool.Execution, error) {
	box, err := c.box(ctx)
	if err != nil {
		return tool.Execution{}, err
	}
	id, err := c.newOutput()
	if err != nil {
		return tool.Execution{}, err
	}
	request := commandOf(cmd)
	request.Artifact = c.file(id)
	res, err := box.Exec(ctx, request)
	if err != nil {
		return tool.Execution{}, errors.Join(err, c.drop(id))
	}
	e := executionOf(res)
	if e.TotalBytes <= shell.ShownBytes {
		_ = c.drop(id) // the command ran: a file too many is no reason to hide what it said
		return e, nil
	}
	if c.keep(id) == nil {
		e.Artifact = id
	}
	return e, nil
}

// Spawn starts a command that lives on.
func (c *Commands) Spawn(ctx context.Context, cmd tool.Command) (tool.Process, error) {
	box, err := c.box(ctx)
	if err != nil {
		return nil, err
	}
	p, err := box.Spawn(ctx, commandOf(cmd))
	if err != nil {
		return nil, err
	}
	return spawned{p}, nil
}

// Open opens a kept output.
func (c *Commands) Open(id string) (io.ReadSeekCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "o")); err == nil && n > 0 && n <= c.gone {
		return nil, fmt.Errorf("output %q is gone: another worker has taken over the run; run the command again if you need it", id)
	}
	if !slices.Contains(c.kept, id) {
		return nil, fmt.Errorf("there is no output %q; the last %d long ones are kept: %q", id, maxOutputs, c.kept)
	}
	f, err := os.Open(c.file(id))
	if err != nil {
		return nil, fmt.Errorf("opening output %s: %w", id, err)
	}
	return f, nil
}

func (c *Commands) file(id string) string { return filepath.Join(c.dir(), id+".log") }

func (c *Commands) newOutput() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == c.gone { // the first of this worker
		if err := os.MkdirAll(c.dir(), 0o700); err != nil {
			return "", fmt.Errorf("making a directory for outputs: %w", err)
		}
	}
	c.last++
	return "o" + strconv.Itoa(c.last), nil
}

// keep makes room by letting go of the oldest.
func (c *Commands) keep(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, id)
	if len(c.kept) <= maxOutputs {
		return nil
	}
	oldest := c.kept[0]
	c.kept = slices.Clone(c.kept[1:])
	return c.drop(oldest)
}

// drop removes an output. What is not there is not missed: the sandbox may
// have failed before it began one.
func (c *Commands) drop(id string) error {
	if err := os.Remove(c.file(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing output %s: %w", id, err)
	}
	return nil
}

func commandOf(c tool.Command) sandbox.Cmd {
	return sandbox.Cmd{Script: c.Script, Dir: c.Dir, Env: c.Env, Timeout: c.Timeout, Idle: c.Idle}
}

func executionOf(res sandbox.Result) tool.Execution {
	return tool.Execution{
		ExitCode: res.ExitCode, Signal: res.Signal, Cause: tool.Cause(res.Cause), Duration: res.Duration,
		Head: res.Output.Head, Tail: res.Output.Tail, TotalBytes: res.Output.TotalBytes, TotalLines: res.Output.TotalLines,
	}
}

// spawned is a sandbox's process as tools see it.
type spawned struct{ p sandbox.Process }

func (s spawned) Done() <-chan struct{} { return s.p.Done() }

func (s spawned) Execution() tool.Execution { return executionOf(s.p.Result()) }

func (s spawned) Stop(ctx context.Context) (tool.Execution, error) {
	res, err := s.p.Stop(ctx)
	return executionOf(res), err
}
