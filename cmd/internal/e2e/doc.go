// Package e2e holds the tests of whole flows: a simulated GitHub that sends
// signed webhooks, the program with a real redis-server and the real sandbox,
// and a scripted server in the place of a model's vendor. It has no other code.
package e2e
