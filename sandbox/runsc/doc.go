// Package runsc is the sandbox driver over gVisor: one long-lived sandbox per
// run whose pid 1 is the guest.
//
// It implements sandbox.Driver. What gVisor is told (spec.go: the OCI
// configuration; argv.go: the flags) is made by pure functions; the rest writes
// a bundle (bundle.go), starts one process (launch.go), and finds what dead
// workers left (leftovers.go). Everything else is sandbox/box's.
//
// Identity: gVisor is started by the run's unprivileged account and without
// --rootless, with a user namespace of one entry that shows the account as
// uid 1000 inside. (With --rootless only uid 0 exists inside.) A worker that is
// root gives each run an account of its own before gVisor starts.
//
// Ending: "runsc run" stays in the foreground, so that one signal to it ends
// the sandbox and its file server by their parent-death signals, also when the
// worker is killed. Neither "runsc kill" nor "runsc delete" is used: both ask
// the sandbox, and one without free descriptors does not answer.
//
// Invariants: an empty environment; no network but loopback; no socket and no
// FIFO of the host can be opened; nothing is written into an image, which
// boxes share; each box has a state directory of its own under a lock that
// lives as long as the worker.
//
// To show another part of the host: add a mount in spec.go, and the place for
// it in bundle.go, since gVisor would otherwise make it itself.
package runsc
