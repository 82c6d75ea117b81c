// Package transport decorates an http.RoundTripper with what every forge
// client needs: rate limits obeyed, retries, one write at a time, conditional
// requests, time and size limits.
//
// It sits below the drivers (vcs/github, vcs/gitlab) and knows no API of
// theirs, only the headers that they share. Each decorator is a type in a file
// of its own; [New] stacks them.
//
// Invariants: a request that may have had an effect is never repeated; every
// wait watches the request's context and has a bound, after which the error is
// a *vcs.RateLimitError; a response is never larger than the cap; no header
// that carries a credential is logged or kept (cache keys are hashes).
//
// To add a decorator: a type with RoundTrip, a line in New, its tests under
// testing/synctest.
package transport
