// Package link is what the two ends of a sandbox say to each other: sandbox/box
// on the host, and sandbox/guest, which is pid 1 inside.
//
// One connection carries everything, as yamux streams: the host opens one for
// the setup and one for each command; the guest opens one for each connection
// that a command makes to the proxy's address inside. A stream begins with a
// JSON message; what follows are frames.
//
// Invariants: neither end trusts the other: every length is bounded before it
// is read, and a fault ends the stream. The guest's end can be taken over by
// what runs inside only if the kernel fails; then it can lie about what ran
// inside, and reaches nothing else.
package link
