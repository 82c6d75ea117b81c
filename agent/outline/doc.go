// Package outline finds what a source file declares, and which files of a
// repository matter for a task: symbols ([Of], [Enclosing]), an index of
// definitions and references ([Index]), the ranked map of a repository and the
// first candidates for a task.
//
// It sits under agent and is pure: bytes in, symbols out. Files come through
// an interface that it declares ([Files]), so it knows no workspace, and the
// tools that show its results live in agent/tool/symbols and agent/tool/files.
//
// Go is read by its own parser. The other languages are scanned: comments and
// strings are blanked out first, at unchanged offsets, then declarations are
// recognised by their words and blocks by braces or indentation. That finds
// the names a person would look for; it is no compiler and promises no more.
//
// Invariants: everything read is hostile. Work is linear in the size of a
// file, sizes are capped, no input panics, and equal input gives equal output.
//
// To add a language: a lexis (what its comments and strings look like), its
// declaring words, and a line in languages; a language with neither braces nor
// indentation brings a scan function of its own. Then add a case to the tests.
package outline
