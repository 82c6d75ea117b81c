// Package webhooktest builds GitHub's JSON objects, webhook payloads and
// signed requests from package vcs's types, for tests, benchmarks and the
// simulated server of vcs/vcstest.
//
// It imports no testing package, because the demonstration links it.
//
// Invariants: objects carry the members of the public documentation
// (docs.github.com/rest, docs.github.com/webhooks) in realistic number, the
// many URLs included, so that measured sizes and times mean something.
//
// To add an event: add its object to objects.go and its payload to events.go.
package webhooktest
