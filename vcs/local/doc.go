// Package local is the vcs.Forge of a checkout on this machine, for
// `greenwright run --repo DIR`: no service, no webhooks, no pull requests.
// The one thread is the task the operator typed, and comments are kept in
// memory for the terminal to show.
//
// It is a driver beside vcs/github and vcs/gitlab and imports nothing but
// [vcs] and the standard library. Whoever sits at the terminal owns the
// checkout, so everybody has every right; Permission exists to be asked.
//
// Invariants: the checkout is only read, as text, and nothing in it is
// executed. A job works on the commit at HEAD; uncommitted changes are not
// part of it, and vcs/git can tell whether there are any.
//
// To add an ability: implement the optional role of package vcs in a file of
// its own.
package local
