package egress

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/greenwright/greenwright/sandbox"
)

// Resolver looks names up; *net.Resolver is one. Names of two parts and more
// end in a dot, so that no search list is applied to them, unless the policy
// lets them be private.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Option changes a Gateway while it is made.
type Option func(*Gateway)

// WithResolver replaces the machine's resolver.
func WithResolver(r Resolver) Option { return func(g *Gateway) { g.resolver = r } }

// Dialer connects to an address that was checked; *net.Dialer is one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// WithDialer replaces the plain one, as a test does that has no port 443.
func WithDialer(d Dialer) Option { return func(g *Gateway) { g.dialer = d } }

// WithLimits replaces the default limits.
func WithLimits(l Limits) Option { return func(g *Gateway) { g.limits = l.withDefaults() } }

// OnDecision has f called at the end of each connection, from its goroutine;
// refusals end at once. Of one kind (host, port, verdict, reason) the first
// ten are told, then those whose Count is a power of two; of new kinds a
// thousand, then they count as one. f must not call the done of an Open.
func OnDecision(f func(Decision)) Option { return func(g *Gateway) { g.ledger.tell = f } }

// Gateway lets the commands of one run out to what a Policy allows. It is
// safe for concurrent use.
type Gateway struct {
	rules    []Rule
	private  []Rule // hosts that may have private addresses; their port is not looked at
	book     addressBook
	resolver Resolver
	dialer   Dialer
	limits   Limits
	ledger   *ledger
	grants   grants
	carried  atomic.Int64 // bytes, of the whole run
	open     atomic.Int64 // connections
}

var _ sandbox.Gateway = (*Gateway)(nil)

// New makes a Gateway. What Policy.Validate would refuse allows nothing.
func New(p Policy, opts ...Option) *Gateway {
	g := &Gateway{
		book: newAddressBook(ownAddresses()), resolver: net.DefaultResolver, dialer: &net.Dialer{},
		limits: Limits{}.withDefaults(), ledger: newLedger(),
	}
	for _, r := range p.Rules() {
		if parsed, err := ParseRule(r.String()); err == nil && parsed == r {
			g.rules = append(g.rules, r)
		}
	}
	for _, host := range p.AllowPrivate {
		if r, err := parseHostPattern(host); err == nil {
			g.private = append(g.private, r)
		}
	}
	for _, opt := range opts {
		opt(g)
	}
	return g
}

// ownAddresses are those of this machine: what listens on a public one may
// still be meant for its neighbours only.
func ownAddresses() []netip.Addr {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil // they are no more than a second look
	}
	var own []netip.Addr
	for _, a := range interfaces {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap())
		}
	}
	return own
}

// Tallies sum up all connections that have ended so far, sorted by host.
func (g *Gateway) Tallies() []Tally { return g.ledger.tallies() }

func (g *Gateway) allows(t target) bool {
	return anyCovers(g.rules, Rule{Host: t.host, Port: t.port})
}

func (g *Gateway) mayBePrivate(host string) bool {
	return anyCovers(g.private, Rule{Host: host, Port: DefaultPort})
}

// overBudget reports that the run has used its bytes.
func (g *Gateway) overBudget() bool { return g.carried.Load() >= g.limits.Bytes }
