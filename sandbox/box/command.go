package box

import (
	"context"
	"errors"
	"io"
	"path"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/link"
)

// command is one that was started. It implements sandbox.Process.
type command struct {
	box   *Box
	on    *instance
	cmd   sandbox.Cmd
	sink  *sink
	begun time.Time

	asked  chan struct{} // closed when the guest was asked, or could not be
	stream *yamux.Stream // valid after asked; nil when there is none
	input  *yamux.Stream // valid after asked; nil without standard input
	fed    chan struct{} // valid after asked; closed when the input was read; nil without
	offNet func()        // valid after asked; nil without the network

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
	return &command{
		box: b, on: i, cmd: cmd, sink: s, begun: time.Now(),
		asked: make(chan struct{}), stopping: make(chan sandbox.Cause, 1), done: make(chan struct{}),
	}, nil
}

// start begins the talk with the guest. Even sending the request may hang: what
// ends a command ends that too.
func (p *command) start(ctx context.Context) {
	exit := make(chan link.Exit, 1)
	go func() { // ends with the session; supervise waits for it
		defer close(exit)
		p.converse(exit)
	}()
	go p.supervise(context.WithoutCancel(ctx), exit)
}

// tooLong is what is said of a command that does not fit into a message.
const tooLong = "the command and its environment are too long"

// cannotRun is what a shell gives for a command that it cannot run (POSIX).
const cannotRun = 126

func (p *command) converse(exit chan<- link.Exit) {
	err := p.ask()
	close(p.asked)
	switch {
	case errors.Is(err, link.ErrTooLong):
		exit <- link.Exit{StartError: tooLong, Code: cannotRun}
	case p.stream != nil: // even if asking failed: a guest that died has perhaps answered
		p.listen(exit)
	}
}

func (p *command) ask() error {
	req := link.Request{Argv: sandbox.Argv(p.cmd), Env: p.environment(), Dir: insideDir(p.cmd.Dir), Split: p.cmd.OnStderr != nil}
	var err error
	if p.cmd.Stdin != nil {
		req.Input = p.box.inputs.Add(1)
		if p.input, err = p.on.open(); err != nil {
			return err
		}
		if err := link.WriteMessage(p.input, link.Open{Input: req.Input}); err != nil {
			return err
		}
	}
	if p.stream, err = p.on.open(); err != nil {
		return err
	}
	if err := link.WriteMessage(p.stream, link.Open{Command: &req}); err != nil {
		return err
	}
	if p.input != nil {
		p.feed(p.input)
	}
	return nil
}

// feed copies the standard input until it ends, or the stream does.
func (p *command) feed(input *yamux.Stream) {
	fed := make(chan struct{})
	p.fed = fed
	go func() {
		defer close(fed)
		_, _ = io.Copy(input, p.cmd.Stdin)
		_ = input.Close()
	}()
}

// inputGrace is how long the end of a command waits for its input, so that
// nobody reads it any more when the caller goes on. One that blocks in Read is
// left to end by itself.
const inputGrace = 50 * time.Millisecond

// release gives back what ask took.
func (p *command) release() {
	if p.offNet != nil {
		p.offNet()
	}
	for _, s := range []*yamux.Stream{p.stream, p.input} {
		if s != nil {
			p.on.retire(s)
		}
	}
	if p.fed != nil {
		timer := time.NewTimer(inputGrace)
		defer timer.Stop()
		select {
		case <-p.fed:
		case <-timer.C:
		}
	}
	p.sink.close()
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
			if e, err := link.ParseExit(payload); err == nil && plausible(e) {
				exit <- e
			}
			return
		default: // nothing that a guest says
			return
		}
	}
}

// tell sends the guest a word. It does not wait: a guest that does not read
// would hold it up.
func (p *command) tell(word link.Kind) {
	p.on.begin(func() {
		<-p.asked
		if p.stream != nil {
			_ = link.NewWriter(p.stream).Write(word, nil) // ends with the session
		}
	})
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
	p.tell(link.Terminate)
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
