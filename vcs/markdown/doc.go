// Package markdown shortens Markdown for forges that limit what may be posted
// (rule O7), and knows which of its lines stand in fenced code.
//
// It sits below the drivers (vcs/github, vcs/gitlab), which give their limits
// and words; it is pure and imports only the standard library.
//
// Invariants: what [Cut] and [CutTitle] return is valid UTF-8 and within the
// limit; a cut text has every fence and details element closed, so that the
// notice at its end is read as text.
//
// To add a construct that a cut must not leave open: a case in scanOpen and a
// row in the tests of every driver that cuts.
package markdown
