// Package account gives each run of a worker that is root a host account of
// its own, so that nothing of a sandbox is ever started as root and runs cannot
// reach each other's files. A worker that is not root has only its own account.
//
// Invariant: an account is held by a lock on a file for as long as it is in
// use; the kernel gives it back when the worker dies.
package account
