package guest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox/link"
)

// Asked reports whether a command line asks for the guest.
func Asked(args []string) bool { return len(args) == 2 && args[1] == link.GuestArgument }

// controlFD is where the host's connection is.
const controlFD = 0

// Main is the whole life of pid 1. It returns when the host has gone, and
// gives the exit code; the kernel then ends whatever still runs.
func Main() int {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox-init:", err)
		return 1
	}
	return 0
}

func run() error {
	if os.Getpid() != 1 {
		return errors.New("this is pid 1 of a sandbox and nothing else")
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing the process to others: %w", err)
	}
	conn, err := control()
	if err != nil {
		return err
	}
	session, err := link.Guest(conn)
	if err != nil {
		return fmt.Errorf("beginning the session: %w", err)
	}
	defer func() { _ = session.Close() }()
	g := &guest{session: session, live: map[int]*command{}, inputs: map[int64]io.ReadCloser{}, reaper: newReaper(), own: ownKernel()}
	spareThreads()
	go ignoreSignals()
	go g.reaper.loop()
	if err := g.prepare(); err != nil {
		return err
	}
	return g.serve()
}

// control takes over the connection, so that no command inherits it.
func control() (io.ReadWriteCloser, error) {
	fd, err := unix.FcntlInt(controlFD, unix.F_DUPFD_CLOEXEC, controlFD+3)
	if err != nil {
		return nil, fmt.Errorf("taking the connection: %w", err)
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR, 0)
	if err == nil {
		err = unix.Dup3(null, controlFD, 0)
		_ = unix.Close(null)
	}
	if err != nil {
		return nil, fmt.Errorf("closing the input: %w", err)
	}
	f := os.NewFile(uintptr(fd), "control")
	defer func() { _ = f.Close() }()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("taking the connection: %w", err)
	}
	return conn, nil
}

// ignoreSignals catches every signal and does nothing: what is caught is
// nevertheless at its default in the commands, which ignoring it would not be.
func ignoreSignals() {
	all := make(chan os.Signal, 1)
	signal.Notify(all)
	for range all {
	}
}

// spares are threads that this program has ready before a command can take all
// that the account may have: Go ends a program that cannot make one.
const spares = 12

func spareThreads() {
	var all sync.WaitGroup
	done := make(chan struct{})
	ready := make(chan struct{}, spares)
	for range spares {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready <- struct{}{}
			<-done
		})
	}
	for range spares {
		<-ready
	}
	close(done)
	all.Wait()
}

// guest is pid 1.
type guest struct {
	session *yamux.Session
	setup   link.Setup
	reaper  *reaper
	forker  *forker
	own     bool // the kernel is the sandbox's own

	// mu guards the beginning and the end of commands: nothing is started
	// while everything is being killed.
	mu     sync.Mutex
	live   map[int]*command // by the leader's pid
	number int64            // of the last command
	// inputs are standard inputs that wait for their command.
	inputs map[int64]io.ReadCloser
	// watching is whether memory is being looked at.
	watching bool
	looks    int  // so far
	held     held // at the last look at open files
}

// prepare does what the first stream asks for.
func (g *guest) prepare() error {
	stream, err := g.session.AcceptStream()
	if err != nil {
		return fmt.Errorf("waiting for the setup: %w", err)
	}
	defer func() { _ = stream.Close() }()
	if err := link.ReadMessage(stream, &g.setup); err != nil {
		return fmt.Errorf("reading the setup: %w", err)
	}
	ready, err := g.apply()
	if err != nil {
		ready.Error = err.Error()
	}
	return errors.Join(err, link.WriteMessage(stream, ready))
}

// serve takes up streams until the host is gone.
func (g *guest) serve() error {
	for {
		stream, err := g.session.AcceptStream()
		if errors.Is(err, io.EOF) || errors.Is(err, yamux.ErrSessionShutdown) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("waiting for commands: %w", err)
		}
		var open link.Open
		if err := link.ReadMessage(stream, &open); err != nil {
			_ = stream.Close()
			continue
		}
		switch {
		case open.Command != nil:
			input := g.inputs[open.Command.Input]
			delete(g.inputs, open.Command.Input)
			go g.run(stream, *open.Command, input)
		case open.Input != 0:
			g.inputs[open.Input] = stream
		default:
			_ = stream.Close()
		}
	}
}

// resources are what every process inside inherits.
func (g *guest) resources() error {
	set := func(name string, which int, n uint64) error {
		if err := syscall.Setrlimit(which, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("limiting %s: %w", name, err)
		}
		return nil
	}
	err := errors.Join(
		set("core files", unix.RLIMIT_CORE, 0),
		set("the size of files", unix.RLIMIT_FSIZE, uint64(g.setup.FileBytes)), //nolint:gosec // positive
		set("open files", unix.RLIMIT_NOFILE, uint64(g.setup.OpenFiles)),       //nolint:gosec // positive
	)
	if g.setup.Processes > 0 {
		err = errors.Join(err, set("processes", unix.RLIMIT_NPROC, uint64(g.setup.Processes)))
	}
	return err
}
