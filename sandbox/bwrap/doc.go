// Package bwrap is the sandbox driver over bubblewrap: one bubblewrap process
// per command, over directories that live as long as the run.
//
// It implements sandbox.Driver. Arguments are built by a pure function
// (argv.go); the rest is a thin exec over sandbox/process.
//
// Invariants: bubblewrap is started with an empty environment, since pid 1
// inside is bubblewrap itself and its environment can be read there; a worker
// that is root gives up root before bubblewrap starts (each run gets an
// account of its own), since bubblewrap started by root can write
// /proc/sys/kernel/core_pattern; paths and flags travel by descriptor, not by
// argv; the exit code comes from bubblewrap's status descriptor, so that a
// bubblewrap that could not start is never taken for a command that failed.
package bwrap
