package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// tlsPort is where a tunnel must speak TLS.
	tlsPort = 443
	// handshakeRecord is the first byte of TLS (RFC 8446, 5.1).
	handshakeRecord = 0x16
)

// unrecognisedName is the alert for a wrong server name, fatal (RFC 6066, 3).
const unrecognisedName = "\x15\x03\x01\x00\x02\x02\x70"

// connect opens a tunnel and carries it to its end.
func (x *exchange) connect(ctx context.Context, t target) error {
	up, err := x.reach(ctx, t)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(x.conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return nil //nolint:nilerr // the client has gone: there is nobody to tell
	}
	var opening []byte
	if t.port == tlsPort {
		if opening, err = x.hello(t); err != nil {
			x.refuseTunnel(err)
			return nil
		}
	}
	x.tunnel(up, t, opening)
	return nil
}

// hello reads the first message of TLS and returns its bytes if it asks for
// the target's name.
func (x *exchange) hello(t target) ([]byte, error) {
	_ = x.conn.SetReadDeadline(time.Now().Add(x.gateway.limits.HelloTime))
	first, err := x.reader.Peek(1)
	if err == nil && first[0] != handshakeRecord {
		return nil, errors.New("what was sent to port 443 is not TLS")
	}
	if err != nil {
		if isTimeout(err) {
			return nil, errors.New("TLS took too long to begin")
		}
		return nil, io.EOF
	}
	name, read, err := serverName(x.reader)
	if err != nil {
		return nil, err
	}
	if got, err := normalHost(name); err != nil || got != t.host {
		return nil, errors.New("the server name of TLS is " + printable(name, maxHost) + ", not " + t.host)
	}
	_ = x.conn.SetReadDeadline(time.Time{})
	return read, nil
}

// refuseTunnel ends a tunnel that was promised but is not given. A client
// that left without a word is no refusal.
func (x *exchange) refuseTunnel(err error) {
	if !errors.Is(err, io.EOF) {
		x.decision.Verdict, x.decision.Reason = Refused, err.Error()
		x.tell()
		if _, err := io.WriteString(x.conn, unrecognisedName); err == nil {
			x.linger()
		}
	}
	x.end("")
}

// tunnel copies both ways until both have ended or one has failed.
func (x *exchange) tunnel(up *metered, t target, opening []byte) {
	var refused error
	var wg sync.WaitGroup
	wg.Go(func() {
		refused = x.copyOut(up, t, opening)
	})
	x.pass(x.conn, up)
	wg.Wait()
	if refused != nil {
		x.decision.Verdict, x.decision.Reason = Refused, refused.Error()
	}
}

// copyOut carries what the client sends. On other ports than TLS's own its
// name is checked if TLS is what is spoken; the host may speak first there.
func (x *exchange) copyOut(up *metered, t target, opening []byte) error {
	if opening == nil {
		if first, err := x.reader.Peek(1); err == nil && first[0] == handshakeRecord {
			if opening, err = x.hello(t); err != nil {
				x.end("")
				return err
			}
		}
	}
	if _, err := up.Write(opening); err != nil {
		x.end("")
		return nil //nolint:nilerr // the host has gone, which is no refusal
	}
	x.pass(up, x.reader)
	return nil
}

// pass copies one direction and ends it at the other side as well; all, where
// that cannot be said.
func (x *exchange) pass(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	if err != nil || !closeWrite(to) {
		x.end("")
	}
}
