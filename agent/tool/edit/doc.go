// Package edit holds the tools that change files: edit_file and write_file.
//
// It sits under agent/tool. [Apply] is the pure core: a body, a request, a new
// body or a [RefusalError]. The tools around it check that the model has read what
// it wants to change and write through a [workspace.Workspace].
//
// Invariants: an edit is applied at exactly one place, or at all when asked,
// or not at all; bytes outside the matched lines never change; a matched line
// that the new text repeats keeps its bytes and its line end; nothing is
// guessed: no anchors, no edit distance, no second model. A near miss is
// described, not applied.
//
// To add a way of matching: a function in match.go that returns places, added
// to the chain, with a name that the model is told.
package edit
