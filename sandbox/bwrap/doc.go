// Package bwrap is the sandbox driver over bubblewrap: one bubblewrap process
// for a run, with the guest as pid 1 in it, over directories that live as long
// as the run.
//
// It implements sandbox.Driver. Arguments are built by a pure function
// (argv.go); the rest is a thin start. Commands, limits and the end are
// sandbox/box's and sandbox/guest's.
//
// Invariants: bubblewrap is started with an empty environment and never as
// root (each run of a root worker gets an account of its own), since
// bubblewrap started by root can write /proc/sys/kernel/core_pattern; paths
// and flags travel by descriptor, not by argv; no descriptor but those named
// reaches it.
package bwrap
