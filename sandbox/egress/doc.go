// Package egress is the only way out of a sandbox: an HTTP proxy in the
// worker that lets connections through to the hosts of an allow-list.
//
// It implements sandbox.Gateway; the runner makes one [Gateway] per run and
// the driver hands it the connections that commands open to the proxy's
// address inside. What is allowed is a [Policy]: the operator's, narrowed by
// the repository's with [Policy.Narrow].
//
// Invariants. An empty policy lets nothing out. A name is resolved once, every
// answer is checked, and only a checked address is dialled. Addresses written
// as numbers are refused in every spelling. A tunnel to port 443 carries TLS
// whose server name is the host that was asked for; on other ports the name is
// checked when TLS is spoken, anything else passes unseen. One connection
// carries one request and makes one [Decision]. Without the token of an Open
// that is not yet done there is no answer but 407.
//
// What it cannot do: an allowed host that stores what it is sent (a registry,
// a forge, an object store) is a way for data to leave, and a server behind an
// allowed name may forward by what is inside TLS. Allow few hosts.
//
// To add a preset: add it to presetHosts with the source of its hosts. To add
// a refused range: add it to the table in address.go with its registry.
package egress
