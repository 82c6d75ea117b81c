package egress

import "net/netip"

// What fuzz targets reach past the proxy.
var (
	ServerName = serverName
	NormalHost = normalHost
	ParseHead  = parseHead
)

// Public reports that every allowed host may lead to an address, for a machine
// with addresses of its own.
func Public(a netip.Addr, own ...netip.Addr) bool { return newAddressBook(own).reach(a) == public }
