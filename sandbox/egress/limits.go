package egress

import (
	"cmp"
	"time"
)

// Limits bound what one run can ask of its gateway. Zero fields take the
// defaults.
type Limits struct {
	Connections int           // open at once; more are answered 503. 256: npm opens 15, ten of it are fine
	HeaderBytes int           // of a request. 32 KiB: four times what public servers take
	HeaderTime  time.Duration // for a request's header. 10 s
	HelloTime   time.Duration // for the first message of TLS in a tunnel. 10 s
	LookupTime  time.Duration // for a name. 10 s: two tries of a resolver
	DialTime    time.Duration // for all addresses of a name together. 15 s
	Idle        time.Duration // without a byte in either direction. 5 min: servers that build what is asked for
	Bytes       int64         // of the whole run, both directions together. 16 GiB
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Connections: cmp.Or(max(l.Connections, 0), 256),
		HeaderBytes: cmp.Or(max(l.HeaderBytes, 0), 32<<10),
		HeaderTime:  cmp.Or(max(l.HeaderTime, 0), 10*time.Second),
		HelloTime:   cmp.Or(max(l.HelloTime, 0), 10*time.Second),
		LookupTime:  cmp.Or(max(l.LookupTime, 0), 10*time.Second),
		DialTime:    cmp.Or(max(l.DialTime, 0), 15*time.Second),
		Idle:        cmp.Or(max(l.Idle, 0), 5*time.Minute),
		Bytes:       cmp.Or(max(l.Bytes, 0), 16<<30),
	}
}
