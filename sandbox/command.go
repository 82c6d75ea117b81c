package sandbox

import (
	"fmt"
	"io"
	"time"
)

// Cmd is one command.
type Cmd struct {
	// Script is given to the shell inside: Shell if set, else /bin/sh.
	Script string
	// Shell is the argv that Script is appended to, e.g. {"bash", "-e", "-c"}.
	Shell []string
	// Argv is run instead of a script, if set.
	Argv []string
	// Dir is relative to the workspace; empty is its root.
	Dir string
	Env []string
	// Timeout and Idle lower or raise the Spec's limits for this command; 0 keeps them.
	Timeout time.Duration
	Idle    time.Duration
	// Network lets the command use the Spec's Gateway.
	Network bool
	// Stdin is read to its end and given to the command; nil gives nothing.
	Stdin io.Reader
	// OnOutput, if set, sees the output as it comes, from one goroutine.
	OnOutput func([]byte)
	// OnStderr, if set, sees standard error apart; OnOutput then sees standard
	// output alone. Both are called from one goroutine.
	OnStderr func([]byte)
	// Artifact, if set, is a host file that takes the whole stream up to the
	// output limit; it is created anew.
	Artifact string
}

// Argv is a command as it is run.
func Argv(cmd Cmd) []string {
	if len(cmd.Argv) > 0 {
		return cmd.Argv
	}
	shell := cmd.Shell
	if len(shell) == 0 {
		shell = []string{"/bin/sh", "-c"}
	}
	return append(shell[:len(shell):len(shell)], cmd.Script)
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
	DiskLimit   Cause = "disk_limit"
	// Lost: the command brought the whole sandbox to its end. The next command
	// gets another, with the same workspace and home.
	Lost     Cause = "lost"
	Canceled Cause = "canceled"
)

// Result is how a command ended. Output before the end always survives.
type Result struct {
	Cause    Cause
	ExitCode int    // as the shell reports it: 128+n for signal n; -1 when it was ended from outside
	Signal   string // set when it was ended by one
	Duration time.Duration
	Usage    Usage
	Output   Output
}

// Usage is what a command used, as far as the driver can tell; zero is not
// known. Processes that others did not wait for are counted once they end.
type Usage struct {
	CPU          time.Duration // user and system
	PeakMemory   int64         // bytes, all processes together
	BytesWritten int64         // to disk
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
