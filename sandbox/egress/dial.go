package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// maxDialled is how many of a name's addresses are tried.
const maxDialled = 6

// reach connects to a target that the policy allows, at an address that was
// checked. Its errors are refusals, or say that the exchange has ended.
func (x *exchange) reach(ctx context.Context, t target) (*metered, error) {
	g := x.gateway
	switch {
	case !g.allows(t):
		return nil, &refusal{status: http.StatusForbidden, reason: t.String() + " is not on the allow-list",
			remedy: "add it to sandbox.egress.allow"}
	case g.overBudget():
		return nil, &refusal{status: http.StatusForbidden,
			reason: fmt.Sprintf("the run has used its %d bytes of network", g.limits.Bytes)}
	}
	addrs, err := g.lookup(ctx, t)
	if err != nil {
		return nil, err
	}
	x.decision.Verdict = Allowed
	conn, err := x.dial(ctx, t, addrs)
	if err != nil {
		return nil, err
	}
	return x.attach(conn)
}

// lookup resolves a name, once, and refuses it if any answer is out of reach.
func (g *Gateway) lookup(ctx context.Context, t target) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, g.limits.LookupTime)
	defer cancel()
	name, private := t.host, g.mayBePrivate(t.host)
	if !private && strings.Contains(name, ".") {
		name += "." // no search list: example.org must not become example.org.corp.internal
	}
	addrs, err := g.resolver.LookupNetIP(ctx, "ip", name)
	if err != nil || len(addrs) == 0 {
		return nil, &refusal{status: http.StatusBadGateway, reason: t.host + " cannot be resolved", allowed: true}
	}
	for _, a := range addrs {
		if r := g.outOfReach(t, a, private); r != nil {
			r.addr = netip.AddrPortFrom(a.Unmap(), t.port)
			return nil, r
		}
	}
	return addrs, nil
}

// outOfReach is the refusal of an address, or nil. It does not show the
// address: names inside the worker's network are not the command's business.
func (g *Gateway) outOfReach(t target, a netip.Addr, private bool) *refusal {
	switch reach := g.book.reach(a); {
	case reach == never:
		return &refusal{status: http.StatusForbidden, reason: t.String() + " resolves to an address that is never let through"}
	case reach != public && !private:
		return &refusal{status: http.StatusForbidden, reason: t.String() + " resolves to an address that is not public",
			remedy: "if it is meant to, name the host in sandbox.egress.allow_private"}
	}
	return nil
}

// dial tries the addresses in order; each gets an even share of the time.
func (x *exchange) dial(ctx context.Context, t target, addrs []netip.Addr) (net.Conn, error) {
	addrs = addrs[:min(len(addrs), maxDialled)]
	share := x.gateway.limits.DialTime / time.Duration(len(addrs))
	for _, a := range addrs {
		at := netip.AddrPortFrom(a.Unmap(), t.port)
		if conn, err := dialOne(ctx, x.gateway.dialer, at, share); err == nil {
			x.decision.Addr = at
			return conn, nil
		}
	}
	return nil, &refusal{status: http.StatusBadGateway, reason: t.String() + " does not answer", allowed: true}
}

func dialOne(ctx context.Context, d Dialer, at netip.AddrPort, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return d.DialContext(ctx, "tcp", at.String())
}
