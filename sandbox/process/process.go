package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// drainLimit is how long output is still read after the process has ended:
// something that escaped may hold the pipe open for ever.
const drainLimit = time.Second

// Spec is one host process. Its environment is empty unless Env is set.
type Spec struct {
	Argv  []string
	Env   []string
	Dir   string
	Stdin io.Reader // nil is no input
	Attr  *syscall.SysProcAttr
	// Limits must be filled in; FileBytes, OpenFiles and Processes are the driver's.
	Limits   sandbox.Limits
	OnOutput func([]byte)
	Artifact string
}

// Run starts the process and waits for its end. The error is set only when it
// could not be started or its artifact not be written; ExitCode is what the
// process itself gave, -1 when it was killed.
func Run(ctx context.Context, s Spec) (sandbox.Result, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return sandbox.Result{}, fmt.Errorf("making an output pipe: %w", err)
	}
	defer func() { _ = r.Close() }()
	cmd := s.command(w)
	start := time.Now()
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return sandbox.Result{}, fmt.Errorf("starting %s: %w", s.Argv[0], err)
	}
	reader := &reader{src: r, limit: s.Limits.OutputBytes, onOutput: s.OnOutput, active: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{})}
	if err := reader.open(s.Artifact); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return sandbox.Result{}, err
	}
	go reader.loop()
	res := supervise(ctx, cmd, reader, s.Limits)
	res.Duration = time.Since(start)
	drain(r, reader)
	res.Output = reader.ring.Output()
	res.Output.Artifact = s.Artifact
	return res, reader.err
}

func (s Spec) command(w *os.File) *exec.Cmd {
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...) //nolint:noctx // supervise ends it, as ctx or a limit asks, and tells which
	cmd.Env = s.Env
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.Stdout, cmd.Stderr = w, w
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = s.Dir, s.Stdin, drainLimit
	cmd.SysProcAttr = s.Attr
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	return cmd
}

// supervise waits for the process and ends it when a limit is reached.
func supervise(ctx context.Context, cmd *exec.Cmd, rd *reader, l sandbox.Limits) sandbox.Result {
	exited := make(chan sandbox.Result, 1)
	go func() { exited <- ended(cmd, cmd.Wait()) }()
	wall, idle := time.NewTimer(l.WallClock), time.NewTimer(l.Idle)
	defer wall.Stop()
	defer idle.Stop()
	for {
		var cause sandbox.Cause
		select {
		case res := <-exited:
			return res
		case <-rd.active:
			idle.Reset(l.Idle)
			continue
		case <-ctx.Done():
			cause = sandbox.Canceled
		case <-wall.C:
			cause = sandbox.TimedOut
		case <-idle.C:
			cause = sandbox.IdleTimeout
		case <-rd.over:
			cause = sandbox.OutputLimit
		}
		kill(cmd)
		<-exited
		return sandbox.Result{Cause: cause, ExitCode: -1, Signal: syscall.SIGKILL.String()}
	}
}

func kill(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
}

func ended(cmd *exec.Cmd, err error) sandbox.Result {
	res := sandbox.Result{Cause: sandbox.Exited, ExitCode: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			res.Signal = ws.Signal().String()
			res.ExitCode = 128 + int(ws.Signal())
		}
	}
	return res
}

func drain(r *os.File, rd *reader) {
	timer := time.NewTimer(drainLimit)
	defer timer.Stop()
	select {
	case <-rd.done:
	case <-timer.C:
		_ = r.SetReadDeadline(time.Now())
		<-rd.done
	}
}

// reader copies the pipe into the ring and the artifact.
type reader struct {
	src      *os.File
	limit    int64
	onOutput func([]byte)
	ring     Ring
	file     *os.File
	err      error
	active   chan struct{} // something came
	over     chan struct{} // closed at the output limit
	done     chan struct{} // closed at the end
}

func (r *reader) open(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("creating the output file: %w", err)
	}
	r.file = f
	return nil
}

func (r *reader) loop() {
	defer close(r.done)
	defer r.close()
	buf := make([]byte, 32<<10)
	reached := false
	for {
		n, err := r.src.Read(buf)
		if n > 0 && !reached {
			r.take(buf[:n])
			if r.ring.Total() >= r.limit {
				reached = true // go on reading, so that the process is not blocked before it is killed
				close(r.over)
			}
		}
		if err != nil {
			return
		}
	}
}

func (r *reader) take(p []byte) {
	_, _ = r.ring.Write(p)
	if r.file != nil && r.err == nil {
		if _, err := r.file.Write(p); err != nil {
			r.err = fmt.Errorf("writing the output file: %w", err)
		}
	}
	if r.onOutput != nil {
		r.onOutput(p)
	}
	select {
	case r.active <- struct{}{}:
	default:
	}
}

func (r *reader) close() {
	if r.file == nil {
		return
	}
	if err := r.file.Close(); err != nil && r.err == nil && !errors.Is(err, io.EOF) {
		r.err = fmt.Errorf("closing the output file: %w", err)
	}
}
