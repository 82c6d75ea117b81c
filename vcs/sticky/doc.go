// Package sticky is what forge drivers share of the one comment per thread and
// marker that is edited in place (vcs.StickyComment): the marker's line, one
// writer at a time, and the ids of comments that were found before.
//
// It sits below the drivers (vcs/github, vcs/gitlab) and asks no forge for
// anything.
//
// Invariants: the marker is a body's first line, where no fence and no open
// HTML comment can swallow it; two writers of one key never run at once in a
// process; what is remembered is a hint, which a driver checks by its edit.
//
// To let another driver use it: a [Comments] per Forge, [Put] with its own
// [Ways], [Line] in front of what it writes and [Begins] for what it reads.
package sticky
