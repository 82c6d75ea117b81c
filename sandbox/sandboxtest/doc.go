// Package sandboxtest is the conformance suite of sandbox drivers: what must
// work inside, what must be refused, and what every limit must end. A driver's
// test calls [Run]; a machine that lacks what the driver needs skips loudly.
//
// It sits beside the drivers and may import any of their siblings, since only
// tests use it. [Attempts] are data: each is a script that prints GOT when it
// gets what a sandbox must not give, and each is also run without a sandbox,
// where it must get it: what was never possible proves nothing when refused.
// What a machine cannot show is reported as not provable, never as blocked.
// The results of a recorded run (see [RecordVar]) become
// docs/sandbox-attempts.md.
//
// To add an attempt: a line in the file of its group, with system calls that a
// shell cannot make in the program attack; then record and write the table
// anew, as the package's test says. To add a driver: call Run in its test, and
// say in [Attempt].Open what it cannot block, and why.
package sandboxtest
