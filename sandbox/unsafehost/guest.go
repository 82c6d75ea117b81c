package unsafehost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/link"
)

// launcher starts the guest, which is a goroutine.
type launcher struct {
	workspace string
	account   *account.Account
}

// Launch starts it.
func (l *launcher) Launch(_ context.Context, control *os.File) (box.Running, error) {
	conn, err := net.FileConn(control)
	if err != nil {
		return nil, fmt.Errorf("taking the connection: %w", err)
	}
	session, err := link.Guest(conn)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("beginning the session: %w", err)
	}
	g := &guest{launcher: l, session: session, inputs: map[int64]*yamux.Stream{}, done: make(chan struct{})}
	go g.serve()
	return g, nil
}

// guest runs commands on the host until the box ends the session. It
// implements box.Running.
type guest struct {
	*launcher
	session *yamux.Session
	inputs  map[int64]*yamux.Stream // standard inputs that wait for their command
	running sync.WaitGroup
	done    chan struct{}
}

// Done is closed when the session and every command are over.
func (g *guest) Done() <-chan struct{} { return g.done }

// Kill ends the session, and with it the commands.
func (g *guest) Kill(ctx context.Context) error {
	_ = g.session.Close()
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Diagnose has nothing to say.
func (g *guest) Diagnose() string { return "" }

// OOMKills is not known.
func (g *guest) OOMKills() int64 { return 0 }

func (g *guest) serve() {
	defer close(g.done)
	defer g.running.Wait()
	defer func() { _ = g.session.Close() }()
	if g.greet() != nil {
		return
	}
	for {
		stream, err := g.session.AcceptStream()
		if err != nil {
			return
		}
		var open link.Open
		if err := link.ReadMessage(stream, &open); err != nil {
			_ = stream.Close()
			continue
		}
		if open.Command == nil {
			g.inputs[open.Input] = stream
			continue
		}
		input := g.inputs[open.Command.Input]
		delete(g.inputs, open.Command.Input)
		g.running.Go(func() { g.run(stream, *open.Command, input) })
	}
}

// greet answers the setup, none of which is held here.
func (g *guest) greet() error {
	stream, err := g.session.AcceptStream()
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	var setup link.Setup
	return errors.Join(link.ReadMessage(stream, &setup), link.WriteMessage(stream, link.Ready{}))
}

// drainLimit is how long output is still read after the end: what left the
// group may hold the pipe open for ever.
const drainLimit = time.Second

// run is the whole life of a command.
func (g *guest) run(stream *yamux.Stream, req link.Request, input *yamux.Stream) {
	defer func() { _ = stream.Close() }()
	if input != nil {
		defer func() { _ = input.Close() }()
	}
	out := link.NewWriter(stream)
	cmd := g.command(req, out)
	if input != nil {
		r, w, err := os.Pipe()
		if err != nil {
			_ = out.WriteExit(link.Exit{StartError: err.Error(), Code: cannotRun})
			return
		}
		defer func() { _ = w.Close() }() // ends what feed still writes
		defer func() { _ = r.Close() }()
		cmd.Stdin = r // not the stream: waiting for the command must not wait for its input
		g.running.Go(func() { feed(w, input) })
	}
	if err := cmd.Start(); err != nil {
		_ = out.WriteExit(link.Exit{StartError: err.Error(), Code: codeOf(err)})
		return
	}
	if r, ok := cmd.Stdin.(*os.File); ok {
		_ = r.Close()
	}
	group := &group{pid: cmd.Process.Pid}
	g.running.Go(func() { group.obey(stream) })
	awaitEnd(group.pid)
	group.end()
	_ = cmd.Wait()
	_ = out.WriteExit(report(cmd.ProcessState))
}

// feed copies the input until it ends, or the command does.
func feed(w *os.File, input *yamux.Stream) {
	defer func() { _ = w.Close() }()
	_, _ = io.Copy(w, input)
}

// command is a request as the host runs it.
func (g *guest) command(req link.Request, out *link.Writer) *exec.Cmd {
	if len(req.Argv) == 0 {
		req.Argv = []string{""}
	}
	cmd := exec.Command(req.Argv[0], req.Argv[1:]...) //nolint:noctx // obey ends it
	cmd.Env = append([]string{}, req.Env...)
	cmd.Dir = filepath.Join(g.workspace, strings.TrimPrefix(req.Dir, sandbox.WorkspaceDir))
	cmd.WaitDelay = drainLimit
	both := frames{out, link.Stdout}
	cmd.Stdout, cmd.Stderr = both, both
	if req.Split {
		cmd.Stderr = frames{out, link.Stderr}
	}
	cmd.SysProcAttr = g.account.Attr()
	cmd.SysProcAttr.Setpgid = true
	return cmd
}

// frames writes output as frames of one kind.
type frames struct {
	to   *link.Writer
	kind link.Kind
}

func (f frames) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		k := min(len(rest), link.MaxFrame)
		if err := f.to.Write(f.kind, rest[:k]); err != nil {
			return len(p) - len(rest), err
		}
		rest = rest[k:]
	}
	return len(p), nil
}

// group is the process group of a running command.
type group struct {
	pid int

	mu    sync.Mutex
	ended bool // under mu; the pid may be another's
}

// obey does what the box asks of it. When the box closes the stream, the
// command ends.
func (g *group) obey(stream *yamux.Stream) {
	words := link.NewReader(stream)
	for {
		kind, _, err := words.Next()
		if err != nil || kind == link.Kill {
			g.signal(syscall.SIGKILL)
			return
		}
		g.signal(syscall.SIGTERM)
	}
}

func (g *group) signal(sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		_ = syscall.Kill(-g.pid, sig)
	}
}

// end kills the rest of it. The leader has ended and was not waited for, so the
// pid is still its own.
func (g *group) end() {
	g.signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}

// awaitEnd returns when a child has ended and was not waited for yet.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// What a shell gives for a command that it cannot run (POSIX).
const (
	cannotRun = 126
	notFound  = 127
	signaled  = 128
)

func codeOf(err error) int {
	if errors.Is(err, exec.ErrNotFound) {
		return notFound
	}
	return cannotRun
}

func report(state *os.ProcessState) link.Exit {
	x := link.Exit{Code: state.ExitCode(), CPU: state.UserTime() + state.SystemTime()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		x.Signal = int(ws.Signal())
		x.Code = signaled + x.Signal
	}
	var own syscall.Rusage
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		x.Written = usage.Oublock * 512 // getrusage(2): blocks of 512
		// The kernel counts what the process had before it became the command,
		// which is this program's.
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err == nil && usage.Maxrss > own.Maxrss {
			x.PeakMemory = usage.Maxrss << 10 // kilobytes
		}
	}
	return x
}
