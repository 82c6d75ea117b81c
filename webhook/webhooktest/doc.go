// Package webhooktest builds GitHub's JSON objects and GitHub's and GitLab's
// webhook payloads and signed requests from package vcs's types, for tests,
// benchmarks and the simulated servers of vcs/vcstest.
//
// It imports no testing package, because the demonstration links it.
//
// Invariants: objects carry the members of the public documentation
// (docs.github.com/rest, docs.github.com/webhooks,
// docs.gitlab.com/user/project/integrations/webhook_events) in realistic
// number, the many URLs included, so that measured sizes and times mean
// something.
//
// To add an event: add its object to objects.go or gitlab.go and its payload to
// events.go, gitlabevents.go or gitlabci.go.
package webhooktest
