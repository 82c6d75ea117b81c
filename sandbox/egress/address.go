package egress

import (
	"net/netip"
	"slices"
)

// reach says for whom an address may be dialled.
type reach int

const (
	never   reach = iota // for nobody
	private              // for hosts of Policy.AllowPrivate
	public               // for every allowed host
)

// neverRanges are refused to everyone: the machine's own link, where clouds
// keep the credentials of the worker, and what is no address of a server.
func neverRanges() []string {
	return []string{
		// IANA IPv4 Special-Purpose Address Registry, RFC 5771, RFC 919.
		"0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32",
		// IANA IPv6 Special-Purpose Address Registry, RFC 4291.
		"::/128", "fe80::/10", "ff00::/8",
		// Metadata services outside the link-local range: Alibaba, Azure's wire
		// server, Oracle's classic one; EC2's and GCE's over IPv6.
		"100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
		"fd00:ec2::/32", "fd20:ce::254/128",
	}
}

// privateRanges are the rest of both IANA special-purpose registries, global
// ones that translate or relay to other addresses (NAT64, 6to4, Teredo, the
// IPv4-compatible and -translated forms) among them.
func privateRanges() []string {
	return []string{
		"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
		"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16",
		"fc00::/7", "fec0::/10",
	}
}

// globalUnicast is where every public IPv6 address lies (RFC 4291, 2.4, as
// IANA has delegated it so far); the rest is reserved.
const globalUnicast = "2000::/3"

// addressBook classifies addresses.
type addressBook struct {
	never, private []netip.Prefix
	global         netip.Prefix
	own            []netip.Addr // the machine's, private wherever they lie
}

func newAddressBook(own []netip.Addr) addressBook {
	return addressBook{
		never: prefixes(neverRanges()), private: prefixes(privateRanges()), own: own,
		global: netip.MustParsePrefix(globalUnicast),
	}
}

func prefixes(texts []string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// reach classifies an address. One that carries an IPv4 address goes no
// further than that one would.
func (b addressBook) reach(a netip.Addr) reach {
	a = a.Unmap()
	switch {
	case !a.IsValid(), a.Zone() != "", contains(b.never, a):
		return never
	case contains(b.private, a):
		for _, inner := range embedded(a) {
			if contains(b.never, inner) {
				return never
			}
		}
		return private
	case slices.Contains(b.own, a):
		return private
	case a.Is6() && !b.global.Contains(a):
		return never
	}
	return public
}

func contains(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// embedded are the IPv4 addresses that a translating IPv6 address may lead
// to: the last four bytes (RFC 6052, 4291, 2765), those after 2002: (6to4,
// RFC 3056), and the last four inverted (Teredo, RFC 4380). All are tried,
// whatever the range: a wrong guess refuses an address nobody has.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() || a == netip.IPv6Loopback() || a.IsPrivate() {
		return nil
	}
	b := a.As16()
	last := [4]byte(b[12:])
	inverted := last
	for i := range inverted {
		inverted[i] ^= 0xff
	}
	return []netip.Addr{netip.AddrFrom4(last), netip.AddrFrom4([4]byte(b[2:6])), netip.AddrFrom4(inverted)}
}
