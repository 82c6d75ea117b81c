// Package webhook turns one HTTP request of a forge into at most one
// [Delivery] handed to a [Sink].
//
// It sits at the HTTP edge: it imports package vcs and the standard library
// only. It knows no queue (the Sink does) and no wire format (a [Parser]
// does; webhook/githubhook and webhook/gitlabhook are two).
//
// Invariants: nothing of a body is read before the signature header has the
// right shape; nothing of a body is interpreted before the signature over its
// raw bytes, or the token beside it, was found good; nothing is stored of a
// repository that the [Grant] of that secret does not cover; every body has a
// size cap and a read deadline; the handler calls no forge; text from outside
// is never part of an answer.
//
// To add a forge: implement Parser in a child package and mount a second
// [Handler] with it.
package webhook
