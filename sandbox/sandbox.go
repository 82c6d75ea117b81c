package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
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
	// refused; nil means that sandboxes hold here. Its error wraps
	// ErrUnavailable and names the remedy.
	Probe(ctx context.Context) error
	// Start makes a sandbox for one run. The workspace directory must exist;
	// files are put into it after Start, owned by Sandbox.Owner.
	Start(ctx context.Context, spec Spec) (Sandbox, error)
}

// Sandbox is the isolation boundary of one run. Exec calls may overlap.
type Sandbox interface {
	// Exec runs one command and returns when it and all that it started are
	// gone. A command that fails is a Result, not an error; an error means
	// that the sandbox itself failed, or ErrClosed. When ctx ends the command
	// is killed and the Result's cause is Canceled.
	Exec(ctx context.Context, cmd Cmd) (Result, error)
	// Owner is the host account that files in the workspace must belong to.
	Owner() (uid, gid int)
	// Close ends whatever still runs and removes everything the sandbox made
	// outside the workspace. It is idempotent.
	Close(ctx context.Context) error
}

// Mount makes a host path visible inside, read-only.
type Mount struct {
	Source string `yaml:"source"` // absolute path on the host
	Target string `yaml:"target"` // absolute path inside
}

// Spec describes a sandbox. The network is closed.
type Spec struct {
	RunID string
	// Workspace is the host directory bound writable at WorkspaceDir.
	Workspace string
	// Scratch is a host directory, private to the run and outside the
	// workspace, for the home and temporary directories; Close removes them.
	Scratch string
	// Env is added to the environment, which is otherwise made from nothing.
	Env []string
	// Path is put before the default PATH.
	Path   []string
	Mounts []Mount
	Limits Limits
}

// Validate refuses a Spec that no driver could hold.
func (s Spec) Validate() error {
	var errs []error
	for name, dir := range map[string]string{"workspace": s.Workspace, "scratch": s.Scratch} {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			errs = append(errs, fmt.Errorf("sandbox %s %q: want a clean absolute path", name, dir))
		}
	}
	for _, m := range s.Mounts {
		if !filepath.IsAbs(m.Source) || !filepath.IsAbs(m.Target) {
			errs = append(errs, fmt.Errorf("sandbox mount %q at %q: both must be absolute paths", m.Source, m.Target))
		}
	}
	return errors.Join(errs...)
}

// Limits bound one command. Zero fields take the default of WithDefaults.
type Limits struct {
	WallClock   time.Duration `yaml:"wall_clock"`   // whole command
	Idle        time.Duration `yaml:"idle"`         // without output
	OutputBytes int64         `yaml:"output_bytes"` // whole stream; beyond it the command is ended
	FileBytes   int64         `yaml:"file_bytes"`   // one file (RLIMIT_FSIZE)
	OpenFiles   int           `yaml:"open_files"`   // per process (RLIMIT_NOFILE)
	Processes   int           `yaml:"processes"`    // RLIMIT_NPROC; only held when the run has an account of its own
}

// The defaults: tests get 15 minutes in all and 5 without output; 64 MB of
// output is more than any log a person reads.
const (
	defaultWallClock   = 15 * time.Minute
	defaultIdle        = 5 * time.Minute
	defaultOutputBytes = 64 << 20
	defaultFileBytes   = 4 << 30
	defaultOpenFiles   = 16384
	defaultProcesses   = 4096
)

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	def := Limits{defaultWallClock, defaultIdle, defaultOutputBytes, defaultFileBytes, defaultOpenFiles, defaultProcesses}
	if l.WallClock <= 0 {
		l.WallClock = def.WallClock
	}
	if l.Idle <= 0 {
		l.Idle = def.Idle
	}
	if l.OutputBytes <= 0 {
		l.OutputBytes = def.OutputBytes
	}
	if l.FileBytes <= 0 {
		l.FileBytes = def.FileBytes
	}
	if l.OpenFiles <= 0 {
		l.OpenFiles = def.OpenFiles
	}
	if l.Processes <= 0 {
		l.Processes = def.Processes
	}
	return l
}

// Cmd is one command.
type Cmd struct {
	// Script is given to the shell inside: Shell if set, else /bin/sh.
	Script string
	// Shell is the argv that Script is appended to, e.g. {"bash", "-e", "-c"}.
	Shell []string
	// Dir is relative to the workspace; empty is its root.
	Dir string
	Env []string
	// Timeout and Idle lower or raise the Spec's limits for this command; 0 keeps them.
	Timeout time.Duration
	Idle    time.Duration
	// OnOutput, if set, sees the output as it comes, from one goroutine.
	OnOutput func([]byte)
	// Artifact, if set, is a host file that takes the whole stream up to the
	// output limit; it is created anew.
	Artifact string
}

// Cause is why a command ended.
type Cause string

// The causes. The zero value never occurs in a Result.
const (
	Exited      Cause = "exited"
	TimedOut    Cause = "timed_out"
	IdleTimeout Cause = "idle"
	OutOfMemory Cause = "oom"
	OutputLimit Cause = "output_limit"
	Canceled    Cause = "canceled"
)

// Result is how a command ended. Output before the end always survives.
type Result struct {
	Cause    Cause
	ExitCode int    // as the shell reports it: 128+n for signal n; -1 when it was ended from outside
	Signal   string // set when it was ended by one
	Duration time.Duration
	Output   Output
}

// OK reports an ordinary exit with code 0.
func (r Result) OK() bool { return r.Cause == Exited && r.ExitCode == 0 }

// Output is what remains of a command's output, standard output and standard
// error in order of arrival: the head, the tail, and how much there was.
type Output struct {
	Head       []byte
	Tail       []byte // follows Head directly unless Dropped > 0
	TotalBytes int64
	TotalLines int64
	Dropped    int64 // bytes between Head and Tail
	Artifact   string
}

// String joins head and tail, with a notice where bytes are missing.
func (o Output) String() string {
	if o.Dropped == 0 {
		return string(o.Head) + string(o.Tail)
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", o.Head, o.Dropped, o.Tail)
}
