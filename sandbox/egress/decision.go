package egress

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Verdict is what became of a connection. The zero value is a refusal.
type Verdict bool

// The verdicts.
const (
	Refused Verdict = false
	Allowed Verdict = true
)

func (v Verdict) String() string {
	if v == Allowed {
		return "allowed"
	}
	return "refused"
}

// Decision is what was done with one connection, told at its end.
type Decision struct {
	Host    string // as it was asked for if refused for its form: quoted, and cut
	Port    uint16 // 0 if it could not be read
	Verdict Verdict
	// Reason says why it was refused, or why an allowed one ended early
	// ("idle", "closed"); empty otherwise.
	Reason string
	Method string         // CONNECT, GET …; empty if it could not be read
	Addr   netip.AddrPort // dialled, or why it was refused
	// BytesOut went to the host and BytesIn came from it, headers included.
	BytesOut, BytesIn int64
	Duration          time.Duration
	// Count is which one of its kind it is, see [OnDecision].
	Count int64
}

// Tally sums up the decisions of one kind.
type Tally struct {
	Host              string
	Port              uint16
	Verdict           Verdict
	Reason            string
	Connections       int64
	BytesOut, BytesIn int64
}

const (
	// toldInFull decisions of one kind are told one by one, later ones at
	// every power of two: a loop that is refused a million times makes 27.
	toldInFull = 10
	// maxKinds bounds the memory that a command can fill with new names; what
	// comes after is counted as one kind.
	maxKinds = 1000
)

// otherHosts stands for all hosts after maxKinds.
const otherHosts = "(other hosts)"

type kind struct {
	host    string
	port    uint16
	verdict Verdict
	reason  string
}

// ledger counts decisions and tells those that are new.
type ledger struct {
	tell func(Decision)

	mu    sync.Mutex
	kinds map[kind]*Tally // guarded by mu
}

func newLedger() *ledger {
	return &ledger{tell: func(Decision) {}, kinds: map[kind]*Tally{}}
}

func (l *ledger) record(d Decision) {
	d.Count = l.add(&d)
	if d.Count <= toldInFull || d.Count&(d.Count-1) == 0 {
		l.tell(d)
	}
}

func (l *ledger) add(d *Decision) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := kind{d.Host, d.Port, d.Verdict, d.Reason}
	if l.kinds[k] == nil && len(l.kinds) >= maxKinds {
		d.Host, d.Port, d.Reason, d.Addr = otherHosts, 0, "", netip.AddrPort{}
		k = kind{host: otherHosts, verdict: d.Verdict}
	}
	t := l.kinds[k]
	if t == nil {
		t = &Tally{Host: k.host, Port: k.port, Verdict: k.verdict, Reason: k.reason}
		l.kinds[k] = t
	}
	t.Connections++
	t.BytesOut += d.BytesOut
	t.BytesIn += d.BytesIn
	return t.Connections
}

func (l *ledger) tallies() []Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Tally, 0, len(l.kinds))
	for _, t := range l.kinds {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port),
			cmp.Compare(a.Verdict.String(), b.Verdict.String()), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}
