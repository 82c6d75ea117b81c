// Package edit holds the tools that change files: edit_file, apply_patch,
// write_file, move_file and delete_file.
//
// It sits under agent/tool. The core is pure: [Apply] makes one edit of a body,
// [ParsePatch] reads a patch in either grammar, [ApplyHunks] makes its changes
// of a body, and each gives a new body or a [RefusalError]. The tools around it
// check that the model has read what it wants to change and write through a
// [workspace.Workspace]. [ParseTextEdits] reads edits that a model without tool
// calls writes into its reply, as calls of the same tools.
//
// Invariants: an edit is applied at exactly one place, or at all when asked,
// or not at all; bytes outside the matched lines never change; a matched line
// that the new text repeats keeps its bytes and its line end; nothing is
// guessed: no anchors, no edit distance, no second model. A near miss is
// described, not applied. A patch is resolved in memory as a whole and then
// written as a whole. Searching takes time in proportion to the file, and no
// more than two seconds.
//
// What a patch cannot say is kept: a V4A patch has no sign for a file without
// a newline at its end, so such a file stays without one. A new file has LF
// line ends; .gitattributes is not asked, because the workspace is hostile.
//
// To add a way of matching: a function in match.go that returns places, added
// to the chain, with a name that the model is told.
package edit
