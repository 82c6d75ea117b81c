// Package command reads the instructions that people write in comments.
//
// It is pure: text in, commands and problems out. A comment is parsed as
// CommonMark (goldmark), so that nothing inside code, block quotes, HTML
// comments or link text is a command (rule T2).
//
// Invariants: a command begins at the beginning of a line; its text is what
// follows up to the next command, byte for byte but for outer white space;
// parsing takes any bytes and never fails, what is wrong becomes a [Problem].
// To add a verb: its entry in verbs.go, which is also the help text.
package command
