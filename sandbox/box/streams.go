package box

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"
)

// maxRetired bounds the streams that the host has done with and the guest has
// not closed. A guest that works has one or two for a moment; each may hold a
// window of 256 KiB.
const maxRetired = 128

// open opens a stream to the guest.
func (i *instance) open() (*yamux.Stream, error) {
	s, err := i.session.OpenStream()
	if err != nil {
		return nil, err
	}
	i.know(s)
	return s, nil
}

// know remembers a stream for wake.
func (i *instance) know(s *yamux.Stream) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.streams[s] = false
	if i.woken {
		expire(s)
	}
}

func (i *instance) forget(s *yamux.Stream) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.streams[s] {
		i.retired--
	}
	delete(i.streams, s)
}

// wake makes whoever waits for the guest stop waiting; what has come already
// can still be read. It comes before the end of the session: between the end
// and the moment when yamux has closed every stream, those who wait turn in
// circles, and many of them keep it from getting there.
func (i *instance) wake() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.woken = true
	for s := range i.streams {
		expire(s)
	}
}

func expire(s *yamux.Stream) { _ = s.SetDeadline(time.Unix(1, 0)) }

// hangUp ends the session.
func (i *instance) hangUp() {
	i.wake()
	if i.session != nil {
		_ = i.session.Close()
	}
}

// retire closes a stream on which the guest has nothing more to say, and
// forgets it when the guest has closed its half. It does not wait for either:
// a guest that does not read would hold it up.
func (i *instance) retire(s *yamux.Stream) {
	i.mu.Lock()
	i.streams[s] = true
	i.retired++
	i.mu.Unlock()
	if !i.begin(func() {
		defer i.forget(s)
		_ = s.Close()
		if n, _ := s.Read(make([]byte, 1)); n > 0 { // ends with the guest's half, or with the session
			i.hangUp()
		}
	}) {
		i.forget(s)
	}
}

// maxConnections bounds what the guest may have open to the gateway at once:
// twice what one that works opens. Others wait.
const maxConnections = 128

// outbound yields what the guest opens: connections to the gateway.
type outbound struct {
	on     *instance
	once   sync.Once
	closed chan struct{}
}

func newOutbound(i *instance) *outbound { return &outbound{on: i, closed: make(chan struct{})} }

// Accept waits for the next one.
func (o *outbound) Accept() (net.Conn, error) {
	for {
		select {
		case o.on.slots <- struct{}{}:
		case <-o.closed:
			return nil, net.ErrClosed
		case <-o.on.session.CloseChan():
			return nil, net.ErrClosed
		}
		s, err := o.on.session.AcceptStream()
		if err == nil {
			o.on.know(s)
			return &connection{Stream: s, on: o.on}, nil
		}
		<-o.on.slots
		if o.on.session.IsClosed() {
			return nil, net.ErrClosed
		}
	}
}

// Close lets no more in.
func (o *outbound) Close() error {
	o.once.Do(func() { close(o.closed) })
	return nil
}

// Addr is the session's.
func (o *outbound) Addr() net.Addr { return o.on.session.Addr() }

// connection is a stream with the ways of a connection: closing a yamux stream
// ends the sending half alone.
type connection struct {
	*yamux.Stream
	on      *instance
	once    sync.Once
	reading sync.Mutex
	closed  bool // under reading
}

// CloseWrite ends what is sent.
func (c *connection) CloseWrite() error { return c.Stream.Close() }

// Read reads until Close.
func (c *connection) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	return c.Stream.Read(p)
}

// Close ends both halves. Its place is taken until the guest has closed its own.
func (c *connection) Close() error {
	c.once.Do(func() {
		if !c.on.begin(c.finish) {
			c.leave()
		}
	})
	return nil
}

// finish throws away what still comes.
func (c *connection) finish() {
	defer c.leave()
	_ = c.SetReadDeadline(time.Unix(1, 0)) // ends a Read that waits
	c.reading.Lock()
	c.closed = true
	c.reading.Unlock()
	_ = c.SetReadDeadline(time.Time{})
	c.on.know(c.Stream) // the deadline may have been wake's
	_ = c.Stream.Close()
	_, _ = io.Copy(io.Discard, c.Stream)
}

func (c *connection) leave() {
	c.on.forget(c.Stream)
	<-c.on.slots
}

// Parts of yamux's frame header (its spec.md).
const (
	muxHeader  = 12
	muxData    = 0
	muxUpdate  = 1
	muxPing    = 2
	muxOpens   = 1 // the SYN flag
	muxVersion = 0
)

// errProtocol: the guest said what no guest says.
var errProtocol = errors.New("the guest broke the protocol")

// checked is the connection to the guest. It refuses what yamux would take from
// a guest and what could fill or stop the host: questions (each costs a
// goroutine until the guest reads its answer), and streams with the host's
// numbers (one that is replaced is read for ever). It is read by one goroutine.
type checked struct {
	net.Conn
	wake  func() // called before yamux hears of an end
	head  [muxHeader]byte
	have  int
	body  uint32 // of the frame, still to come
	fault error  // nothing is read any more
}

// Read checks what it reads. What came before a fault is still given.
func (c *checked) Read(p []byte) (int, error) {
	if c.fault != nil {
		c.wake()
		return 0, c.fault
	}
	n, err := c.Conn.Read(p)
	good := c.check(p[:n])
	if c.fault != nil && good > 0 {
		return good, nil
	}
	if c.fault != nil {
		n, err = 0, c.fault
	}
	if err != nil {
		c.wake()
	}
	return n, err
}

// Write tells of an end as well. That the guest is gone is not an end yet: its
// last words may still wait to be read, and yamux throws them away when a write
// fails. Reading tells of it when they are through.
func (c *checked) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return len(p), nil
	}
	if err != nil {
		c.wake()
	}
	return n, err
}

// check gives how many bytes belong to frames before the first fault.
func (c *checked) check(p []byte) int {
	for at := 0; at < len(p); {
		if c.body > 0 {
			k := min(len(p)-at, int(c.body))
			c.body -= uint32(k) //nolint:gosec // at most body
			at += k
			continue
		}
		k := copy(c.head[c.have:], p[at:])
		c.have, at = c.have+k, at+k
		if c.have < muxHeader {
			break
		}
		c.have = 0
		if c.fault = c.judge(); c.fault != nil {
			return max(at-muxHeader, 0)
		}
	}
	return len(p)
}

// judge looks at a whole header.
func (c *checked) judge() error {
	kind, flags := c.head[1], binary.BigEndian.Uint16(c.head[2:])
	id, length := binary.BigEndian.Uint32(c.head[4:]), binary.BigEndian.Uint32(c.head[8:])
	opens := flags&muxOpens != 0
	switch {
	case c.head[0] != muxVersion:
		return fmt.Errorf("%w: version %d", errProtocol, c.head[0])
	case kind == muxPing && opens:
		return fmt.Errorf("%w: a ping", errProtocol)
	case (kind == muxData || kind == muxUpdate) && opens && (id == 0 || id%2 != 0):
		return fmt.Errorf("%w: a stream numbered %d", errProtocol, id)
	}
	if kind == muxData {
		c.body = length
	}
	return nil
}
