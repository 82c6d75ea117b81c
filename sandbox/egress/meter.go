package egress

import (
	"net"
	"sync/atomic"
)

// metered is a connection to a host whose bytes count for the run and keep the
// exchange from being idle.
type metered struct {
	net.Conn
	exchange *exchange
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.exchange.count(&m.exchange.in, n)
	return n, err
}

func (m *metered) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.exchange.count(&m.exchange.out, n)
	return n, err
}

func (m *metered) CloseWrite() error {
	if !closeWrite(m.Conn) {
		return net.ErrClosed
	}
	return nil
}

func (x *exchange) count(direction *atomic.Int64, n int) {
	direction.Add(int64(n))
	x.gateway.carried.Add(int64(n))
	if x.gateway.overBudget() {
		x.end("the run has used its bytes")
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		x.idle.Reset(x.gateway.limits.Idle)
	}
}
