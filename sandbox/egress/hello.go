package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"
)

const (
	// maxHello bounds the first message of TLS; real ones have up to 2 KiB,
	// with post-quantum keys.
	maxHello = 32 << 10
	// encryptedHello is the extension that hides the real server name
	// (RFC 9849): with it the name cannot be checked.
	encryptedHello = 0xfe0d
)

var (
	errHello     = errors.New("the first message of TLS cannot be read")
	errNoName    = errors.New("TLS without a server name is refused")
	errEncrypted = errors.New("an encrypted hello of TLS is refused: its server name cannot be checked")
	errSeen      = errors.New("seen") // ends the handshake once the hello is known
)

// serverName reads a ClientHello with crypto/tls, without an answer, and
// returns the name it asks for and every byte that was read.
func serverName(r io.Reader) (name string, read []byte, err error) {
	var seen bytes.Buffer
	conn := readOnly{Reader: io.TeeReader(io.LimitReader(r, maxHello), &seen)}
	var hello *tls.ClientHelloInfo
	//nolint:gosec // an old version is the host's to refuse: nothing is negotiated here
	server := tls.Server(conn, &tls.Config{
		MinVersion: tls.VersionTLS10,
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			hello = h
			return nil, errSeen
		},
	})
	err = server.Handshake() //nolint:noctx // it ends with the bytes or with the connection's deadline
	switch {
	case hello == nil || !errors.Is(err, errSeen):
		return "", nil, errHello
	case slices.Contains(hello.Extensions, encryptedHello):
		return "", nil, errEncrypted
	case hello.ServerName == "":
		return "", nil, errNoName
	}
	return hello.ServerName, seen.Bytes(), nil
}

// readOnly is the connection that crypto/tls wants.
type readOnly struct{ io.Reader }

func (readOnly) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (readOnly) Close() error                     { return nil }
func (readOnly) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (readOnly) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (readOnly) SetDeadline(time.Time) error      { return nil }
func (readOnly) SetReadDeadline(time.Time) error  { return nil }
func (readOnly) SetWriteDeadline(time.Time) error { return nil }
