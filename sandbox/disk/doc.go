// Package disk tells how much a tree of files takes, and watches trees that a
// command writes to. It is the substitute for a quota, which few machines let
// a worker set.
//
// It is a child of sandbox and is used by box, outside the sandbox, on trees
// that a hostile command is changing at that moment.
//
// Invariants: no link is followed, no file system is left, nothing but
// directories is opened; a bounded number of descriptors and bounded memory,
// whatever the depth and the number of files; what the tree does meanwhile is
// never an error. Where something cannot be looked into, the Size says so and
// never silently counts less.
//
// To count something else: extend Size and walker.count.
package disk
