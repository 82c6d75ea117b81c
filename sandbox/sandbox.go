package sandbox

import (
	"context"
	"errors"
	"net"
)

// Where things stand inside every sandbox.
const (
	WorkspaceDir = "/workspace"
	HomeDir      = "/home/agent"
	TempDir      = "/tmp"
)

// Sentinels that drivers wrap.
var (
	// ErrUnavailable: this machine cannot start such a sandbox; the text says
	// why and what would help.
	ErrUnavailable = errors.New("sandbox unavailable")
	// ErrClosed: the sandbox has been closed.
	ErrClosed = errors.New("sandbox closed")
)

// Driver starts sandboxes of one kind. It is safe for concurrent use.
type Driver interface {
	// Name is the driver's name in configuration and reports.
	Name() string
	// Probe starts a real sandbox and tries what must work and what must be
	// refused; a nil error means that sandboxes hold here. The error wraps
	// ErrUnavailable and names the remedy. The Report says what was found,
	// also with an error.
	Probe(ctx context.Context) (Report, error)
	// Start makes a sandbox for one run. The workspace directory must exist;
	// files are put into it after Start, owned by Sandbox.Owner.
	Start(ctx context.Context, spec Spec) (Sandbox, error)
	// Sweep ends and removes what the sandboxes of processes that have died
	// left behind. Those of living processes are not touched.
	Sweep(ctx context.Context) error
}

// Report is what a probe found, for people.
type Report struct {
	Findings []Finding
	Limits   []Enforcement
}

// Finding is one thing that a probe tried.
type Finding struct {
	Name   string // what should hold
	Detail string // what was seen
	Held   bool
}

// Enforcement says how a limit is held on this machine.
type Enforcement struct {
	Limit string // the field of Limits as configured, e.g. "memory_bytes"
	How   string
	Hard  bool // by the kernel at once; otherwise by looking again and again
}

// Sandbox is the isolation boundary of one run. All methods are safe for
// concurrent use.
type Sandbox interface {
	// Exec runs one command and returns when it and all that it started are
	// gone. A command that fails is a Result, not an error; an error means
	// that the sandbox itself failed, or ErrClosed. When ctx ends the command
	// is killed and the Result's cause is Canceled.
	Exec(ctx context.Context, cmd Cmd) (Result, error)
	// Spawn starts a command that may go on while others run, which can reach
	// it over the loopback interface inside; ctx bounds the start alone. The
	// limits of Exec hold, but for Idle, which is none unless Cmd sets it.
	Spawn(ctx context.Context, cmd Cmd) (Process, error)
	// Owner is the host account that files in the workspace must belong to.
	Owner() (uid, gid int)
	// Close ends whatever still runs and removes everything the sandbox made
	// outside the workspace. It is idempotent.
	Close(ctx context.Context) error
}

// Process is a command that was started by Spawn.
type Process interface {
	// Done is closed when the command and all that it started are gone.
	Done() <-chan struct{}
	// Result is how it ended once Done is closed; before, its Output is what
	// came so far and its Cause is empty.
	Result() Result
	// Stop asks it to end (SIGTERM), ends it after a grace, and returns when
	// it is gone. It is idempotent.
	Stop(ctx context.Context) (Result, error)
}

// Gateway is the only way out of a sandbox: what commands send to the proxy's
// address inside comes out of the listener outside.
type Gateway interface {
	// Serve answers connections until the listener is closed. It is called
	// once for each sandbox that is started for the run.
	Serve(l net.Listener) error
	// Open lets out whoever uses the environment it returns, for a proxy at
	// the address inside (host:port), until done is called.
	Open(address string) (env []string, done func())
}
