// Package gitlabhook verifies and parses GitLab's webhook payloads, of project
// hooks, group hooks and system hooks. It implements webhook.Parser.
//
// A hook of GitLab proves itself with a secret token in a header, or, newer,
// with a signature over the body (Standard Webhooks), or with both. Each of
// the operator's tokens and signing keys may be bound to projects. For a
// project that a signing key is bound to, the signature is required: a token,
// which whoever sees one request can repeat, is not enough there.
//
// GitLab turns a hook off after four answers in a row that are no success
// (docs.gitlab.com/user/project/integrations/webhooks/#auto-disabled-webhooks),
// so what was verified and cannot be used is webhook.ErrUnusable, which the
// handler answers with 200. What the queue could not take still gets 503:
// GitLab does not deliver again by itself, so the answer is what shows the
// loss, in the hook's list of deliveries, where it can be sent again; the hook
// rests for a minute after the fourth and the first success sets it back.
//
// Invariants: no name, number, object name or branch of a payload reaches a
// vcs.Event without passing its Validate; the same fact delivered by several
// hooks, or twice, gives the same vcs.Event.Key (rule L5); what is confidential
// by any sign is taken as such; nothing here does any I/O.
//
// It decodes by itself, with package scan, because the SDK's types fail on
// payloads of older and newer versions, which is where most of them differ.
//
// To add an event: give it a row in objectOf (kinds.go), a struct in wire.go,
// and a method of converter.
package gitlabhook
