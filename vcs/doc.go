// Package vcs is the forge-neutral vocabulary of Greenwright: repositories,
// threads, events, permissions, pull requests, reviews and checks, and the
// seam ([Forge]) that every code-hosting driver implements.
//
// It sits at the bottom of the import graph: it imports only the standard
// library, and its children (vcs/github, vcs/local, vcs/git …) import it.
//
// Invariants: no type of a forge's SDK appears here; every name that comes
// from outside is checked by a Validate method before it becomes part of a
// path, a ref or an URL; every credential is a [Secret].
//
// To add a forge: implement [Forge] and those of the optional roles that the
// forge offers ([PullRequestOpener], [Reviewer], [CheckReader]) in a package
// of its own, pass the conformance suite of vcs/vcstest, and name it in wire.
package vcs
