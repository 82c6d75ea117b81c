package sandboxtest

// network are attempts of a sandbox whose network is closed.
func network() []Attempt {
	return []Attempt{
		program("loopback of the host", "connects to a server on 127.0.0.1", `tcp "$A_TCP"`),
		program("loopback of the host by IPv6", "connects to a server on ::1", `tcp "$A_TCP6"`),
		program("loopback of the host by UDP", "asks a server on 127.0.0.1", `udp "$A_UDP"`),
		program("abstract socket of the host", "connects to an abstract unix socket", `unix "$A_ABSTRACT"`),
		program("socket in a mount", "connects to a unix socket of the host in a directory that is shown", `unix "$A_MOUNT"/socket`).
			open("bwrap", "a read-only mount lets connect(2) through: whoever shows a directory (sandbox.mounts) shows the sockets in it"),
		program("way to the outside", "asks the kernel for a route to a public address", `route 192.88.99.1:53`),
		program("way to the metadata service", "asks for a route to 169.254.169.254", `route 169.254.169.254:80`),
		program("way to the host's resolver", "asks for a route to the name server of the host", `route "$A_RESOLVER"`),
		program("interfaces", "looks for one besides loopback", `interfaces`),
		program("changing interfaces", "sets the flags of the loopback interface", `linkflags`).asRoot(),
		program("raw sockets", "socket(2) for ICMP", `raw`).asRoot(),
		program("vsock", "socket(2) of AF_VSOCK, which no network namespace confines", `vsock`),
		program("vsock in other words", "the same with a bit in the upper half of the argument, which the kernel cuts off", `uppervsock`),
		program("proxy where there is none", "asks the proxy's address in a sandbox without a gateway", `proxy "$A_PROXY" "$A_URL"`),
	}
}

// gatewayAttempts are attempts of a sandbox that has a gateway for one host.
func gatewayAttempts() []Attempt {
	out := []Attempt{
		program("proxy without a token", "asks it for the allowed host", `proxy "$A_PROXY" "$A_URL"`),
		program("proxy with a dead token", "asks with the token of a command that has ended", `proxy "$A_PROXY" "$A_URL" "$A_DEAD"`),
	}
	for i := range out {
		out[i].Gateway = true
	}
	live := []Attempt{
		program("another host by the proxy", "asks with its token for a host that is not listed", `proxy "$A_PROXY" http://other.test/ live`),
		program("another port by the proxy", "asks for the allowed host's port 1", `proxy "$A_PROXY" http://files.test:1/ live`),
		program("address by the proxy", "asks for 127.0.0.1 and the server's port", `proxy "$A_PROXY" "http://$A_TCP/" live`),
		program("metadata service by the proxy", "asks for 169.254.169.254", `proxy "$A_PROXY" http://169.254.169.254/ live`),
		program("name that leads inside", "asks for an allowed name that resolves to 127.0.0.1", `proxy "$A_PROXY" http://inner.test/ live`),
	}
	for i := range live {
		live[i].Gateway, live[i].Network = true, true
	}
	return append(out, live...)
}
