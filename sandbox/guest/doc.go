// Package guest is the program that is pid 1 inside a sandbox: it starts
// commands for the host, passes their output on, ends all that a command
// started when the command ends, watches memory, reaps, and carries
// connections to the proxy's address to the host. sandbox/box is the other end.
//
// Invariants: commands run under the same account as this process, so it is
// made undumpable before the first one starts (nobody inside can read or write
// its memory, or see its descriptors), and no signal from inside ends it. It
// holds no secret but the connection. It refuses to run as anything but pid 1:
// it ends commands by killing every other process.
package guest
