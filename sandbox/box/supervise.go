package box

import (
	"context"
	"syscall"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/link"
)

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
	p.tell(link.Kill)
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
	p.result = ended(p.settle(cause, e, said))
	if p.result.Cause == sandbox.Exited {
		p.result.ExitCode, p.result.Signal = e.Code, ""
		if e.Signal != 0 {
			p.result.Signal = syscall.Signal(e.Signal).String()
		}
	}
	p.result.Duration, p.result.Output = time.Since(p.begun), p.sink.output()
	p.result.Usage = sandbox.Usage{CPU: e.CPU, PeakMemory: e.PeakMemory, BytesWritten: e.Written}
	p.err = p.sink.fault()
}

// settle says why it ended: what the host decided comes first.
func (p *command) settle(cause sandbox.Cause, e link.Exit, said bool) sandbox.Cause {
	ranOut := p.on.ranOut()
	switch {
	case cause != "":
		return cause
	case p.sink.full(): // it ended before that was seen
		return sandbox.OutputLimit
	case !said && p.box.isClosed():
		return sandbox.Canceled
	case e.Full:
		return sandbox.DiskLimit
	case e.OOM, ranOut && (!said || e.Code != 0):
		return sandbox.OutOfMemory
	case !said:
		return sandbox.Lost
	}
	return sandbox.Exited
}

// Beyond these a report is no report: what no machine has.
const (
	mostCode   = 255
	mostSignal = 64      // SIGRTMAX of Linux
	mostBytes  = 1 << 60 // of memory, and written
	mostCPU    = 100 * 365 * 24 * time.Hour
	signaled   = 128 // what a shell adds to a signal (POSIX)
)

// plausible refuses an exit that contradicts itself or cannot be.
func plausible(e link.Exit) bool {
	within := func(n, most int64) bool { return n >= 0 && n <= most }
	return within(int64(e.Code), mostCode) && within(int64(e.Signal), mostSignal) &&
		within(int64(e.CPU), int64(mostCPU)) && within(e.PeakMemory, mostBytes) && within(e.Written, mostBytes) &&
		(e.Signal == 0 || e.Code == signaled+e.Signal) && (e.StartError == "" || e.Code != 0)
}
