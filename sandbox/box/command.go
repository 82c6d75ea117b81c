package box

import (
	"context"
	"fmt"
	"io"
	"path"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/link"
)

// command is one that was started. It implements sandbox.Process.
type command struct {
	box    *Box
	on     *instance
	cmd    sandbox.Cmd
	stream *yamux.Stream
	input  *yamux.Stream // nil without standard input
	offNet func()        // nil without the network
	sink   *sink
	begun  time.Time

	stopping chan sandbox.Cause // the first cause counts
	once     sync.Once
	done     chan struct{}

	result sandbox.Result // valid when done is closed
	err    error
}

func newCommand(b *Box, i *instance, cmd sandbox.Cmd) (*command, error) {
	s, err := newSink(cmd, b.cfg.Spec)
	if err != nil {
		return nil, err
	}
	return &command{box: b, on: i, cmd: cmd, sink: s, begun: time.Now(), stopping: make(chan sandbox.Cause, 1), done: make(chan struct{})}, nil
}

// release gives back what newCommand took, for a process that never started.
func (p *command) release() {
	if p.offNet != nil {
		p.offNet()
	}
	for _, s := range []*yamux.Stream{p.stream, p.input} {
		if s != nil {
			_ = s.Close()
		}
	}
	p.sink.close()
}

// start sends the request and begins to listen.
func (p *command) start(ctx context.Context) error {
	if err := p.ask(); err != nil {
		p.release()
		return fmt.Errorf("starting a command in the sandbox: %w", err)
	}
	exit := make(chan link.Exit, 1)
	go func() {
		defer close(exit)
		p.listen(exit)
	}()
	go p.supervise(context.WithoutCancel(ctx), exit)
	return nil
}

func (p *command) ask() error {
	req := link.Request{Argv: sandbox.Argv(p.cmd), Env: p.environment(), Dir: insideDir(p.cmd.Dir), Split: p.cmd.OnStderr != nil}
	var err error
	if p.cmd.Stdin != nil {
		req.Input = p.box.inputs.Add(1)
		if p.input, err = p.on.session.OpenStream(); err != nil {
			return err
		}
		if err := link.WriteMessage(p.input, link.Open{Input: req.Input}); err != nil {
			return err
		}
	}
	if p.stream, err = p.on.session.OpenStream(); err != nil {
		return err
	}
	if err := link.WriteMessage(p.stream, link.Open{Command: &req}); err != nil {
		return err
	}
	if p.input != nil {
		go func() { // ends with the input, or when the command's stream is gone
			_, _ = io.Copy(p.input, p.cmd.Stdin)
			_ = p.input.Close()
		}()
	}
	return nil
}

// environment is the driver's, and the way to the gateway for a command that
// may use it.
func (p *command) environment() []string {
	env := p.box.cfg.Environment(p.cmd)
	if g := p.box.cfg.Spec.Gateway; p.cmd.Network && g != nil {
		more, done := g.Open(link.ProxyAddress)
		p.offNet = done
		env = append(env, more...)
	}
	return env
}

// insideDir places a directory under the workspace, whatever it says.
func insideDir(dir string) string {
	return path.Join(sandbox.WorkspaceDir, path.Join("/", dir))
}

// listen takes frames until the last one.
func (p *command) listen(exit chan<- link.Exit) {
	frames := link.NewReader(p.stream)
	for {
		kind, payload, err := frames.Next()
		if err != nil {
			return
		}
		switch kind {
		case link.Stdout, link.Stderr:
			p.sink.take(payload, kind == link.Stderr)
		case link.Exited:
			if e, err := link.ParseExit(payload); err == nil {
				exit <- e
			}
			return
		case link.Terminate, link.Kill:
			return // the host's own words: nothing that a guest says
		}
	}
}

// killGrace is how long the guest has to end a command it was told to end.
const killGrace = 4 * time.Second

// supervise waits for the end, and brings it about when a limit is reached.
func (p *command) supervise(ctx context.Context, exit <-chan link.Exit) {
	cause, e, said := p.await(exit)
	if !said && cause != "" {
		e, said = p.kill(ctx, exit)
	}
	p.conclude(ctx, cause, e, said)
}

// await returns when the guest has spoken or the connection broke (said tells),
// or with the cause for which the command must end.
func (p *command) await(exit <-chan link.Exit) (cause sandbox.Cause, e link.Exit, said bool) {
	limits := p.box.cfg.Spec.Limits
	if p.cmd.Timeout > 0 {
		limits.WallClock = p.cmd.Timeout
	}
	wall := time.NewTimer(limits.WallClock)
	defer wall.Stop()
	var quiet <-chan time.Time
	idle := time.NewTimer(max(p.cmd.Idle, time.Hour))
	defer idle.Stop()
	if p.cmd.Idle > 0 {
		idle.Reset(p.cmd.Idle)
		quiet = idle.C
	}
	for {
		select {
		case e, said = <-exit:
			return "", e, said
		case <-p.sink.active:
			if p.cmd.Idle > 0 {
				idle.Reset(p.cmd.Idle)
			}
		case cause = <-p.stopping:
			return cause, e, false
		case <-wall.C:
			return sandbox.TimedOut, e, false
		case <-quiet:
			return sandbox.IdleTimeout, e, false
		case <-p.sink.over:
			return sandbox.OutputLimit, e, false
		}
	}
}

// kill tells the guest to end the command, and ends the whole sandbox if it
// does not in time.
func (p *command) kill(ctx context.Context, exit <-chan link.Exit) (link.Exit, bool) {
	_ = link.NewWriter(p.stream).Write(link.Kill, nil)
	timer := time.NewTimer(killGrace)
	defer timer.Stop()
	select {
	case e, said := <-exit:
		return e, said
	case <-timer.C:
	}
	_ = p.on.end(ctx)
	e, said := <-exit
	return e, said
}

// conclude settles the result.
func (p *command) conclude(ctx context.Context, cause sandbox.Cause, e link.Exit, said bool) {
	defer p.box.leave(p)
	defer close(p.done)
	if e.Stuck || !said { // what is left of it must not meet the next command
		_ = p.on.end(ctx)
	}
	if e.StartError != "" {
		p.sink.take([]byte(e.StartError+"\n"), true)
	}
	p.release()
	p.result = sandbox.Result{
		Cause: p.settle(cause, e, said), ExitCode: e.Code, Duration: time.Since(p.begun), Output: p.sink.output(),
		Usage: sandbox.Usage{CPU: e.CPU, PeakMemory: e.PeakMemory, BytesWritten: e.Written},
	}
	if e.Signal != 0 {
		p.result.Signal = syscall.Signal(e.Signal).String()
	}
	if p.result.Cause != sandbox.Exited {
		p.result.ExitCode, p.result.Signal = -1, syscall.SIGKILL.String()
	}
	p.err = p.sink.err
}

// settle says why it ended: what the host decided comes first.
func (p *command) settle(cause sandbox.Cause, e link.Exit, said bool) sandbox.Cause {
	ranOut := p.on.ranOut()
	switch {
	case cause != "":
		return cause
	case p.box.isClosed():
		return sandbox.Canceled
	case e.OOM, ranOut && (!said || e.Code != 0):
		return sandbox.OutOfMemory
	case !said:
		return sandbox.Lost
	}
	return sandbox.Exited
}

func (b *Box) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// stop ends the command for a cause; only the first one counts.
func (p *command) stop(cause sandbox.Cause) {
	p.once.Do(func() { p.stopping <- cause })
}

// Done is closed at the end.
func (p *command) Done() <-chan struct{} { return p.done }

// Result is how it ended, or its output so far.
func (p *command) Result() sandbox.Result {
	select {
	case <-p.done:
		return p.result
	default:
		return sandbox.Result{Duration: time.Since(p.begun), Output: p.sink.output()}
	}
}

// termGrace is how long a command has after SIGTERM.
const termGrace = 3 * time.Second

// Stop asks the command to end, and ends it after a grace.
func (p *command) Stop(ctx context.Context) (sandbox.Result, error) {
	_ = link.NewWriter(p.stream).Write(link.Terminate, nil)
	timer := time.NewTimer(termGrace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.stop(sandbox.Canceled)
	case <-ctx.Done():
		p.stop(sandbox.Canceled)
	}
	<-p.done
	return p.result, p.err
}
