package sandboxtest

import (
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// Group is what an attempt is about.
type Group string

// The groups, in the table's order.
const (
	Secrets   Group = "secrets"
	Escapes   Group = "escapes"
	Kernel    Group = "kernel surface"
	Network   Group = "network"
	Resources Group = "resources"
	Processes Group = "processes"
	Traps     Group = "workspace traps"
)

// Control says who shows that an attempt succeeds without a sandbox.
type Control string

// The controls.
const (
	// Ordinary is the account of the run itself, without rights.
	Ordinary Control = "the run's account"
	// Root is root; a suite of another account leaves the control out.
	Root Control = "root"
	// Apart is another account without rights, which only root can take: the
	// attempt would hit the suite itself.
	Apart Control = "another account"
)

// Attempt is one thing that must not succeed inside.
type Attempt struct {
	Group Group
	Name  string
	Tries string // for people
	// Script prints a line that begins with GOT when it succeeds. The stage's
	// variables say where things are; INIT is pid 1 inside, and outside a
	// process that stands for the worker.
	Script  string
	Control Control
	// Prelude comes before the script in the control, where what it looks for
	// must be made first.
	Prelude string
	// Network runs it in a sandbox that has a gateway, with the way to it.
	Network bool
	// Gateway runs it in such a sandbox without the way to it.
	Gateway bool
	// Hits counts it as a success when the process VICTIM is gone afterwards,
	// and not otherwise.
	Hits bool
	// Daemon counts it as a success when the file "alive" goes on changing after
	// its end. Inside another command runs beside it.
	Daemon bool
	// Limits are those of its sandbox. With Want, it is blocked when it ends by
	// one of these causes within a few seconds; without, when it gets nothing.
	Limits  sandbox.Limits
	Want    []sandbox.Cause
	Timeout time.Duration
	// Needs names the limit (sandbox.Enforcement) without whose hard form the
	// drivers of NeededBy cannot block the attempt.
	Needs    string
	NeededBy []string
	// Open says for each driver that cannot block it, why.
	Open map[string]string
}

func shell(name, tries, script string) Attempt {
	return Attempt{Name: name, Tries: tries, Script: script, Control: Ordinary}
}

// program is an attempt of the program attack; the words are the shell's.
func program(name, tries, words string) Attempt {
	return shell(name, tries, `"$ATTACK" `+words)
}

func (a Attempt) asRoot() Attempt {
	a.Control = Root
	return a
}

func (a Attempt) apart() Attempt {
	a.Control = Apart
	return a
}

func (a Attempt) after(prelude string) Attempt {
	a.Prelude = prelude
	return a
}

func (a Attempt) open(driver, why string) Attempt {
	open := map[string]string{driver: why}
	for d, w := range a.Open {
		open[d] = w
	}
	a.Open = open
	return a
}

func (a Attempt) within(l sandbox.Limits, want ...sandbox.Cause) Attempt {
	a.Limits, a.Want = l, want
	return a
}

func (a Attempt) needs(limit string, drivers ...string) Attempt {
	a.Needs, a.NeededBy = limit, drivers
	return a
}

// Attempts are all of them, but for the workspace traps.
func Attempts() []Attempt {
	var out []Attempt
	for _, g := range []struct {
		group Group
		list  []Attempt
	}{
		{Secrets, secrets()}, {Secrets, machineSecrets()}, {Escapes, escapes()}, {Escapes, mountEscapes()}, {Escapes, rights()},
		{Kernel, kernel()}, {Network, network()}, {Network, gatewayAttempts()},
		{Resources, memory()}, {Resources, disks()}, {Resources, numbers()}, {Processes, processes()}, {Processes, daemons()},
	} {
		for _, a := range g.list {
			a.Group = g.group
			out = append(out, a)
		}
	}
	return out
}
